"use strict";
/* Helpers that all charts share: SVG elements, scales, ticks, numbers, the tip and the legend. */
const SVG = "http" + "://www.w3.org/2000/svg"; // a name, not an address: nothing is fetched

function el(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}

function html(parent, name, className, text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}

function show(value, percent) {
  if (value === null || value === undefined) return "not a number";
  if (percent) return (100 * value).toFixed(2) + " %";
  if (Number.isInteger(value)) return value.toLocaleString("en-GB");
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(3) : String(Number(value.toPrecision(5)));
}

function tick(value) { return Math.abs(value) >= 1e6 ? value.toExponential().replace("e+", "e") : show(value); }

function ticks(low, high, wanted) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / Math.max(1, wanted), power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) || rough;
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) found.push(Number((n * step).toPrecision(12)));
  return found;
}

function hueOf(series, place) { return series.hue === null || series.hue === undefined ? place : series.hue; }
function keyOf(series, place) { const hue = hueOf(series, place); return { text: series.name, colour: colour(hue), dashed: hue >= 8 }; }
/* The first of 1, 2, 5, 10, 20, ... that is not smaller. */
function roundUp(least) { for (let power = 1; ; power *= 10) for (const some of [1, 2, 5]) if (some * power >= least) return some * power; }
function colour(index) { return "var(--c" + (index % 8) + ")"; }
function dash(index) { return ["", "6 3", "2 3", "8 3 2 3"][Math.floor(index / 8) % 4]; }

/* An empty chart of the width at hand: its frame, its sizes, and what to draw into. */
function frame(box, height, left, description) {
  box.textContent = "";
  const width = Math.max(260, Math.round(box.clientWidth || 680));
  const svg = el(box, "svg", {
    viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", tabindex: 0, "aria-label": description,
  });
  const area = { left, top: 8, right: width - 12, bottom: height - 40 };
  return { svg, width, height, area, clip: clipped(svg, area) };
}

let clips = 0;
function clipped(svg, area) {
  const id = "clip" + ++clips, defs = el(svg, "defs", {}), path = el(defs, "clipPath", { id });
  el(path, "rect", { x: area.left, y: area.top - 4, width: Math.max(1, area.right - area.left), height: area.bottom - area.top + 8 });
  return `url(#${id})`;
}

function scale(from, to) {
  const span = from[1] - from[0] || 1;
  const f = (value) => to[0] + ((value - from[0]) / span) * (to[1] - to[0]);
  f.back = (pixel) => from[0] + ((pixel - to[0]) / (to[1] - to[0])) * span;
  return f;
}

function axisX(f, x, range, label) {
  const { svg, area } = f;
  el(svg, "line", { class: "axis", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom });
  for (const value of ticks(range[0], range[1], Math.max(2, (area.right - area.left) / 70))) {
    el(svg, "line", { class: "axis", x1: x(value), x2: x(value), y1: area.bottom, y2: area.bottom + 4 });
    el(svg, "text", { x: x(value), y: area.bottom + 16, "text-anchor": "middle" }, tick(value));
  }
  el(svg, "text", { class: "label", x: (area.left + area.right) / 2, y: f.height - 6, "text-anchor": "middle" }, label);
}

function axisY(f, y, range, label, percent) {
  const { svg, area } = f;
  for (const value of ticks(range[0], range[1], 5)) {
    el(svg, "line", { class: "grid", x1: area.left, x2: area.right, y1: y(value), y2: y(value) });
    const text = percent ? Number((100 * value).toPrecision(4)) + "%" : tick(value);
    el(svg, "text", { x: area.left - 5, y: y(value) + 4, "text-anchor": "end" }, text);
  }
  axisLabel(f, label);
}

function axisLabel({ svg, area }, label) {
  const middle = (area.top + area.bottom) / 2;
  el(svg, "text", { class: "label", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, label);
}

/* The tip beside the pointer; it is also read out. */
const tip = html(document.body, "div", "tip");
tip.setAttribute("role", "status");
tip.hidden = true;
function say(lines, x, y) {
  tip.textContent = "";
  lines.forEach((line, n) => {
    const row = html(tip, "div", n ? "" : "head");
    if (line.colour) html(row, "span", "key").style.background = line.colour;
    row.appendChild(document.createTextNode(line.text || line));
  });
  tip.hidden = false;
  const room = document.documentElement.clientWidth, wide = tip.offsetWidth, tall = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(x + 14, room - wide - 4)) + "px";
  tip.style.top = Math.max(4, y + 16 + tall > innerHeight ? y - tall - 10 : y + 16) + "px";
}
function hush() { tip.hidden = true; }

function place(svg, event) {
  const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
  return [((event.clientX - box.left) / box.width) * view.width, ((event.clientY - box.top) / box.height) * view.height];
}
function screen(svg, x, y) {
  const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
  return [box.left + (x / view.width) * box.width, box.top + (y / view.height) * box.height];
}

function legend(box, names, hidden, redraw) {
  if (names.length < 2) return;
  const list = html(box, "div", "legend");
  names.forEach((name, n) => {
    const button = html(list, "button", "", "");
    button.type = "button";
    const key = html(button, "span", "key");
    key.style.background = name.colour || colour(n);
    if (name.dashed) key.className = "key dashed";
    button.appendChild(document.createTextNode(name.text || name));
    button.setAttribute("aria-pressed", String(!hidden.has(n)));
    button.addEventListener("click", () => {
      hidden.has(n) ? hidden.delete(n) : hidden.add(n);
      redraw();
      const again = list.parentNode && box.querySelectorAll(".legend button")[n];
      if (again) again.focus();
    });
  });
}
