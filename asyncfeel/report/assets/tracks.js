"use strict";
/* Who does what when: a row for each server and client, and the models on their way. */
const WORK = { compute: 0, upload: 1, exchange: 2, download: 5, idle: 6 };
const WAY = { broadcast: 5, upload: 1, exchange: 3 };

function drawTracks(box, chart, state) {
  const kinds = Object.keys(WORK).filter((kind) => chart.slices.some((one) => one.what === kind));
  const ways = Object.keys(WAY).filter((kind) => chart.arrows.some((one) => one.what === kind));
  const names = [...kinds.map((kind) => "slice " + kind), ...ways.map((kind) => "arrow " + kind)];
  if (!state.hidden) state.hidden = new Set(names.map((_, n) => n).filter((n) => n >= kinds.length && names[n] !== "arrow exchange"));
  const on = (name) => !state.hidden.has(names.indexOf(name));
  const redraw = (focus) => { drawTracks(box, chart, state); if (focus) box.querySelector("svg").focus(); };
  const f = frame(box, chart.tracks.length * 16 + 52, 68, "timeline of servers and clients");
  const { svg, area } = f;
  const full = extent([0, ...chart.slices.map((one) => one.end_s)]), range = state.range || full;
  const x = scale(range, [area.left, area.right]), y = scale([0, chart.tracks.length], [area.top, area.bottom]);
  axisX(f, x, range, chart.x_label);
  chart.tracks.forEach((name, n) => {
    const server = name.startsWith("server");
    if (server) el(svg, "rect", { class: "stripe", x: area.left, y: y(n), width: area.right - area.left, height: y(1) - y(0) });
    el(svg, "text", { x: area.left - 5, y: y(n + 0.5) + 4, "text-anchor": "end", class: server ? "strong" : "" }, name);
  });
  const inner = el(svg, "g", { "clip-path": f.clip });
  const slices = chart.slices.filter((one) => on("slice " + one.what));
  for (const one of slices) {
    const idle = one.what === "idle";
    el(inner, "rect", {
      x: x(one.start_s).toFixed(2), width: Math.max(0.4, x(one.end_s) - x(one.start_s)).toFixed(2), fill: colour(WORK[one.what]),
      y: y(one.track) + (idle ? 6 : 2), height: idle ? 4 : 12, opacity: idle ? 0.35 : 1,
    });
  }
  for (const one of chart.arrows) if (on("arrow " + one.what)) arrow(inner, x, y, one);
  const pick = (px, py, cx, cy) => {
    const track = Math.floor(y.back(py)), at = x.back(px);
    const found = slices.find((one) => one.track === track && one.start_s <= at && at <= one.end_s);
    if (!found) return hush();
    say([chart.tracks[track], { text: found.what, colour: colour(WORK[found.what]) },
      `${show(found.start_s)} s to ${show(found.end_s)} s (${show(found.end_s - found.start_s)} s)`], cx, cy);
  };
  const zoom = zoomable(f, state, x, redraw, pick);
  svg.addEventListener("pointerleave", hush);
  svg.addEventListener("blur", hush);
  svg.addEventListener("keydown", (event) => {
    if (zoom.key(event, null) || !slices.length || !/^Arrow/.test(event.key)) return;
    event.preventDefault();
    state.slice = Math.max(0, Math.min(slices.length - 1, (state.slice === undefined ? -1 : state.slice) + (/Right|Down/.test(event.key) ? 1 : -1)));
    const one = slices[state.slice], middle = x((one.start_s + one.end_s) / 2), line = y(one.track + 0.5);
    pick(middle, line, ...screen(svg, middle, line));
  });
  resetButton(box, state, redraw);
  const shown = names.map((name) => {
    const [what, kind] = name.split(" ");
    return what === "slice" ? { text: kind, colour: colour(WORK[kind]) } : { text: `models: ${kind}`, colour: colour(WAY[kind]) };
  });
  legend(box, shown, state.hidden, () => redraw());
}

function arrow(parent, x, y, one) {
  const x1 = x(one.sent_s), y1 = y(one.source + 0.5), x2 = x(one.arrived_s), y2 = y(one.target + 0.5);
  const long = Math.hypot(x2 - x1, y2 - y1) || 1, ux = (x2 - x1) / long, uy = (y2 - y1) / long;
  const stroke = colour(WAY[one.what]);
  const bx = x2 - 6 * ux, by = y2 - 6 * uy;
  el(parent, "line", { x1, y1, x2: bx, y2: by, stroke, "stroke-width": 1.3, opacity: 0.85 });
  el(parent, "path", { d: `M${x2} ${y2}L${bx - 3 * uy} ${by + 3 * ux}L${bx + 3 * uy} ${by - 3 * ux}Z`, fill: stroke });
}
