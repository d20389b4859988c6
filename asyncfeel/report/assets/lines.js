"use strict";
/* Series over x, with bands; hovering shows the values of all of them at that place. */
function drawLines(box, chart, state) {
  state.hidden = state.hidden || new Set();
  const redraw = (focus) => { drawLines(box, chart, state); if (focus) box.querySelector("svg").focus(); };
  const f = frame(box, 300, 62, `${chart.title}: ${chart.y_label} over ${chart.x_label}`);
  const { svg, area } = f;
  const look = (line, n) => (Number.isInteger(line.look) ? line.look : n);
  const seen = chart.lines.map((line, n) => ({ line, n: look(line, n), at: n })).filter(({ at }) => !state.hidden.has(at));
  const full = extent(chart.lines.flatMap((line) => [line.x[0], line.x[line.x.length - 1]]));
  const range = state.range || full;
  const x = scale(range, [area.left, area.right]);
  const heights = seen.flatMap(({ line }) => within(line, range));
  const limits = padded(extent(heights.length ? heights : [0, 1]), chart.percent);
  const y = scale(limits, [area.bottom, area.top]);
  axisY(f, y, limits, chart.y_label, chart.percent);
  axisX(f, x, range, chart.x_label);
  const inner = el(svg, "g", { "clip-path": f.clip });
  for (const { line, n } of seen) {
    if (line.low) el(inner, "path", { d: bandPath(line, x, y), fill: colour(n), opacity: 0.18 });
    el(inner, "path", { d: linePath(line, x, y, chart.step), class: "line", stroke: colour(n), "stroke-dasharray": dash(n) });
    if (line.x.length === 1) el(inner, "circle", { cx: x(line.x[0]), cy: y(line.y[0]), r: 3, fill: colour(n) });
  }
  const cross = el(svg, "line", { class: "cross", y1: area.top, y2: area.bottom, visibility: "hidden" });
  const dots = el(svg, "g", {});
  const hover = (px, py, cx, cy) => {
    if (!seen.length) return;
    state.at = nearest(seen, x.back(px), range);
    mark(state.at, cx, cy);
  };
  function mark(at, cx, cy) {
    cross.setAttribute("x1", x(at));
    cross.setAttribute("x2", x(at));
    cross.setAttribute("visibility", "visible");
    dots.textContent = "";
    const rows = [`${chart.x_label}: ${show(at)}`];
    for (const { line, n } of seen) {
      const k = index(line, at, chart.step);
      if (k < 0 || line.y[k] === null) continue;
      const spread = line.low ? ` (${show(line.low[k], chart.percent)} to ${show(line.high[k], chart.percent)})` : "";
      rows.push({ text: `${line.name}: ${show(line.y[k], chart.percent)}${spread}`, colour: colour(n) });
      el(dots, "circle", { cx: x(chart.step ? at : line.x[k]), cy: y(line.y[k]), r: 3.5, fill: colour(n), class: "dot" });
    }
    say(rows, cx, cy);
  }
  const zoom = zoomable(f, state, x, redraw, hover);
  svg.addEventListener("pointerleave", () => { hush(); cross.setAttribute("visibility", "hidden"); dots.textContent = ""; });
  svg.addEventListener("blur", hush);
  svg.addEventListener("keydown", (event) => {
    const at = state.at === undefined ? null : state.at;
    if (zoom.key(event, at) || !seen.length || !/^Arrow(Left|Right)$/.test(event.key)) return;
    event.preventDefault();
    const all = [...new Set(seen.flatMap(({ line }) => line.x))].filter((v) => v >= range[0] && v <= range[1]).sort((a, b) => a - b);
    if (!all.length) return;
    const here = at === null ? -1 : all.indexOf(nearest(seen, at, range));
    state.at = all[Math.max(0, Math.min(all.length - 1, here + (event.key === "ArrowRight" ? 1 : -1)))];
    mark(state.at, ...screen(svg, x(state.at), area.top + 20));
  });
  resetButton(box, state, redraw);
  legend(box, chart.lines.map((line, n) => ({ text: line.name, colour: colour(look(line, n)), dashed: look(line, n) >= 8 })), state.hidden, () => redraw());
}

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) if (value !== null && value !== undefined) { low = Math.min(low, value); high = Math.max(high, value); }
  return low > high ? [0, 1] : low === high ? [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2] : [low, high];
}
function padded([low, high], percent) {
  const room = (high - low) * 0.05;
  const bottom = low >= 0 && low - room < 0 ? 0 : low - room;
  return [bottom, percent && high <= 1 ? Math.min(1.02, high + room) : high + room];
}
function within(line, range) {
  const found = [];
  line.x.forEach((at, k) => {
    if (at < range[0] || at > range[1]) return;
    found.push(line.y[k]);
    if (line.low) found.push(line.low[k], line.high[k]);
  });
  return found;
}
function linePath(line, x, y, step) {
  let d = "", before = null;
  line.x.forEach((at, k) => {
    if (line.y[k] === null) { before = null; return; }
    const px = x(at).toFixed(1), py = y(line.y[k]).toFixed(1);
    d += before === null ? `M${px} ${py}` : step ? `H${px}V${py}` : `L${px} ${py}`;
    before = at;
  });
  return d;
}
function bandPath(line, x, y) {
  const known = line.x.map((_, k) => k).filter((k) => line.low[k] !== null && line.high[k] !== null);
  const up = known.map((k) => `${x(line.x[k]).toFixed(1)} ${y(line.high[k]).toFixed(1)}`);
  const down = known.map((k) => `${x(line.x[k]).toFixed(1)} ${y(line.low[k]).toFixed(1)}`).reverse();
  return known.length ? `M${up.concat(down).join("L")}Z` : "";
}
function nearest(seen, at, range) {
  let best = null;
  for (const { line } of seen) for (const value of line.x) {
    if (value < range[0] || value > range[1]) continue;
    if (best === null || Math.abs(value - at) < Math.abs(best - at)) best = value;
  }
  return best === null ? at : best;
}
function index(line, at, step) {
  if (at < line.x[0] || at > line.x[line.x.length - 1]) return -1;
  let k = 0;
  while (k + 1 < line.x.length && line.x[k + 1] <= at) k++;
  return !step && k + 1 < line.x.length && line.x[k + 1] - at < at - line.x[k] ? k + 1 : k;
}
