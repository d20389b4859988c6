"use strict";
/* Bars side by side over categories. */
function drawBars(box, chart, state) {
  state.hidden = state.hidden || new Set();
  const redraw = (focus) => { drawBars(box, chart, state); if (focus) box.querySelector("svg").focus(); };
  const f = frame(box, 280, 62, `${chart.title || chart.y_label}: ${chart.y_label} over ${chart.x_label}`);
  const { svg, area } = f;
  const seen = chart.series.map((bar, n) => ({ bar, n })).filter(({ n }) => !state.hidden.has(n));
  const count = chart.categories.length;
  const range = state.range || [0, count];
  const x = scale(range, [area.left, area.right]);
  const top = Math.max(0, ...seen.flatMap(({ bar }) => bar.values.filter((v) => v !== null)));
  const y = scale([0, top * 1.05 || 1], [area.bottom, area.top]);
  axisY(f, y, [0, top * 1.05 || 1], chart.y_label, chart.percent);
  const inner = el(svg, "g", { "clip-path": f.clip });
  const slot = x(1) - x(0), gap = slot > 6 ? slot * 0.15 : 0, wide = (slot - gap) / Math.max(1, seen.length);
  const glow = el(inner, "rect", { class: "glow", y: area.top, height: area.bottom - area.top, width: slot, visibility: "hidden" });
  seen.forEach(({ bar, n }, place) => bar.values.forEach((value, k) => {
    if (value === null) return;
    el(inner, "rect", {
      x: (x(k) + gap / 2 + place * wide).toFixed(2), y: y(value).toFixed(2), fill: colour(hueOf(bar, n)),
      width: Math.max(0.5, wide - (wide > 4 ? 1 : 0)).toFixed(2), height: Math.max(0, area.bottom - y(value)).toFixed(2),
    });
  }));
  el(svg, "line", { class: "axis", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom });
  const every = roundUp(Math.max(...chart.categories.map((c) => c.length * 7 + 8)) / slot);
  chart.categories.forEach((name, k) => {
    const px = x(k + 0.5);
    if (k % every === 0 && px >= area.left && px <= area.right)
      el(svg, "text", { x: px, y: area.bottom + 16, "text-anchor": "middle" }, name);
  });
  el(svg, "text", { class: "label", x: (area.left + area.right) / 2, y: f.height - 6, "text-anchor": "middle" }, chart.x_label);
  function mark(k, cx, cy) {
    state.at = k;
    glow.setAttribute("x", x(k));
    glow.setAttribute("visibility", "visible");
    const rows = [`${chart.x_label} ${chart.categories[k]}`];
    for (const { bar, n } of seen) rows.push({ text: `${bar.name}: ${show(bar.values[k], chart.percent)}`, colour: colour(hueOf(bar, n)) });
    say(rows, cx, cy);
  }
  const valid = (k) => Math.max(0, Math.min(count - 1, k));
  const zoom = zoomable(f, state, x, redraw, (px, py, cx, cy) => mark(valid(Math.floor(x.back(px))), cx, cy));
  svg.addEventListener("pointerleave", () => { hush(); glow.setAttribute("visibility", "hidden"); });
  svg.addEventListener("blur", hush);
  svg.addEventListener("keydown", (event) => {
    const at = state.at === undefined ? -1 : state.at;
    if (zoom.key(event, at < 0 ? null : at + 0.5) || !/^Arrow(Left|Right)$/.test(event.key)) return;
    event.preventDefault();
    const k = valid(at + (event.key === "ArrowRight" ? 1 : -1));
    mark(k, ...screen(svg, x(k + 0.5), area.top + 20));
  });
  resetButton(box, state, redraw);
  legend(box, chart.series.map(keyOf), state.hidden, () => redraw());
}
