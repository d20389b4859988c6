"use strict";
/* Maps of values, and matrices with a slider. Shades run from the page's own ground to one blue. */
function shade(share) { return `color-mix(in oklab, var(--heat) ${Math.round(100 * Math.max(0, Math.min(1, share)))}%, var(--ground))`; }

function drawHeat(box, chart, state) {
  const rows = chart.rows.length, tall = Math.max(6, Math.min(28, 360 / rows));
  const f = frame(box, rows * tall + 52, 48, `${chart.title}: ${chart.y_label} by ${chart.x_label}`);
  const { area } = f, top = Math.max(1, ...chart.values.map((row) => Math.max(...row)));
  const cells = grid(f, chart.values, top, chart.columns, chart.rows, chart);
  explore(f, cells, chart.columns.length, rows, state, (row, column) => [
    `${chart.y_label} ${chart.rows[row]}, ${chart.x_label} ${chart.columns[column]}`,
    `${chart.what} ${show(chart.values[row][column])} ${chart.unit}`,
  ]);
  key(box, top, chart.unit);
  return area;
}

function drawMatrices(box, chart, state) {
  if (state.frame === undefined) state.frame = chart.frames.length - 1;
  box.textContent = "";
  const control = html(box, "label", "slider", "");
  const caption = html(control, "span", "", "");
  const slider = html(control, "input", "");
  Object.assign(slider, { type: "range", min: 0, max: chart.frames.length - 1, step: 1, value: state.frame });
  const body = html(box, "div", "matrix");
  const draw = () => {
    const name = chart.frames[state.frame];
    caption.textContent = `iteration ${name}`;
    slider.setAttribute("aria-valuetext", `iteration ${name}`);
    const values = [];
    for (let row = 0; row < chart.size; row++) values.push(Array.from({ length: chart.size }, (_, column) => (row === column ? 1 : 0)));
    for (const [row, column, value] of chart.entries[state.frame]) values[row][column] = value;
    const names = values.map((_, n) => String(n));
    const tall = Math.min(34, (Math.min(480, body.clientWidth || 480) - 60) / chart.size);
    const f = frame(body, chart.size * tall + 52, 48, `${chart.title} of iteration ${name}`);
    const top = Math.max(1e-9, ...values.map((row) => Math.max(...row.map(Math.abs))));
    const cells = grid(f, values, top, names, names, chart, chart.size <= 10);
    explore(f, cells, chart.size, chart.size, state, (row, column) => [
      `${chart.y_label} ${row}, ${chart.x_label} ${column}`, `weight ${show(values[row][column])}`,
    ]);
    key(body, top, "weight");
  };
  slider.addEventListener("input", () => { state.frame = Number(slider.value); draw(); });
  draw();
}

function grid(f, values, top, columns, rows, chart, numbers) {
  const { svg, area } = f;
  const x = scale([0, columns.length], [area.left, area.right]), y = scale([0, rows.length], [area.top, area.bottom]);
  const wide = x(1) - x(0), tall = y(1) - y(0), inner = el(svg, "g", { "shape-rendering": "crispEdges" });
  values.forEach((row, r) => row.forEach((value, c) => {
    const cell = el(inner, "rect", { x: x(c).toFixed(2), y: y(r).toFixed(2), width: (wide + 0.05).toFixed(2), height: (tall + 0.05).toFixed(2) });
    cell.style.fill = value < 0 ? "var(--c1)" : shade(Math.abs(value) / top);
    if (value < 0) cell.style.opacity = Math.min(1, -value / top);
    if (numbers && value && wide > 30) {
      const text = el(svg, "text", { x: x(c + 0.5), y: y(r + 0.5) + 4, "text-anchor": "middle", class: "cell" }, value.toFixed(2));
      if (value / top > 0.55) text.classList.add("on");
    }
  }));
  const everyX = roundUp((7 * Math.max(...columns.map((c) => c.length)) + 14) / wide), everyY = roundUp(13 / tall);
  columns.forEach((text, c) => { if (c % everyX === 0) el(svg, "text", { x: x(c + 0.5), y: area.bottom + 15, "text-anchor": "middle" }, text); });
  rows.forEach((text, r) => { if (r % everyY === 0) el(svg, "text", { x: area.left - 5, y: y(r + 0.5) + 4, "text-anchor": "end" }, text); });
  el(svg, "text", { class: "label", x: (area.left + area.right) / 2, y: f.height - 6, "text-anchor": "middle" }, chart.x_label);
  axisLabel(f, chart.y_label);
  return { x, y, wide, tall };
}

function explore(f, cells, columns, rows, state, words) {
  const { svg, area } = f;
  const mark = el(svg, "rect", { class: "chosen", width: cells.wide, height: cells.tall, visibility: "hidden" });
  const choose = (row, column, cx, cy) => {
    state.cell = [Math.max(0, Math.min(rows - 1, row)), Math.max(0, Math.min(columns - 1, column))];
    mark.setAttribute("x", cells.x(state.cell[1]));
    mark.setAttribute("y", cells.y(state.cell[0]));
    mark.setAttribute("visibility", "visible");
    if (cx === undefined) [cx, cy] = screen(svg, cells.x(state.cell[1] + 1), cells.y(state.cell[0]));
    say(words(...state.cell), cx, cy);
  };
  svg.addEventListener("pointermove", (event) => {
    const [px, py] = place(svg, event);
    if (px < area.left || px > area.right || py < area.top || py > area.bottom) return;
    choose(Math.floor(cells.y.back(py)), Math.floor(cells.x.back(px)), event.clientX, event.clientY);
  });
  svg.addEventListener("pointerleave", () => { hush(); mark.setAttribute("visibility", "hidden"); });
  svg.addEventListener("blur", hush);
  svg.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const [row, column] = state.cell || [0, -1];
    choose(row + move[0], column + move[1]);
  });
}

function key(box, top, unit) {
  const line = html(box, "div", "scale");
  html(line, "span", "", "0");
  html(line, "span", "ramp");
  html(line, "span", "", `${show(top)} ${unit}`);
}
