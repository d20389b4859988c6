"use strict";
/* The servers and their links: discs by data, lines by traffic. */
function drawNetwork(box, chart, state) {
  const wide = Math.min(560, box.clientWidth || 560), f = frame(box, Math.max(260, Math.min(420, wide * 0.8)), 40, "topology of the servers");
  const { svg } = f, side = f.height - 90, left = (f.width - Math.min(f.width - 90, side * 1.3)) / 2;
  const x = scale([0, 1], [left, f.width - left]), y = scale([0, 1], [45, f.height - 45]);
  const top = Math.max(1, ...chart.links.map((link) => link.times)), most = Math.max(...chart.nodes.map((node) => node.share));
  const things = [];
  for (const link of chart.links) {
    const a = chart.nodes[link.source], b = chart.nodes[link.target];
    const ends = { x1: x(a.x), y1: y(a.y), x2: x(b.x), y2: y(b.y) };
    el(svg, "line", { ...ends, class: "link", "stroke-width": (1 + (7 * link.times) / top).toFixed(2) });
    const hit = el(svg, "line", { ...ends, class: "hit" });
    things.push([hit, [`link ${a.name} to ${b.name}`, `carried models ${show(link.times)} times`], (ends.x1 + ends.x2) / 2, (ends.y1 + ends.y2) / 2]);
  }
  const room = chart.nodes.length > 40 ? 9 : 22;
  chart.nodes.forEach((node, n) => {
    const r = 4 + (room - 4) * Math.sqrt(node.share / (most || 1));
    const disc = el(svg, "circle", { cx: x(node.x), cy: y(node.y), r: r.toFixed(2), class: "node" });
    if (chart.nodes.length <= 40) {
      el(svg, "text", { x: x(node.x), y: y(node.y) + 4, "text-anchor": "middle", class: "inside" }, String(n));
      el(svg, "text", { x: x(node.x), y: y(node.y) + r + 13, "text-anchor": "middle", class: "below" },
        (node.name === String(n) ? "" : node.name + " ") + (100 * node.share).toFixed(1) + "%");
    }
    things.push([disc, [`server ${node.name}`, `${show(node.share, true)} of the data`], x(node.x), y(node.y)]);
  });
  for (const [thing, words] of things) thing.addEventListener("pointermove", (event) => say(words, event.clientX, event.clientY));
  svg.addEventListener("pointerleave", hush);
  svg.addEventListener("blur", hush);
  svg.addEventListener("keydown", (event) => {
    if (!/^Arrow/.test(event.key)) return;
    event.preventDefault();
    const count = things.length, by = /Right|Down/.test(event.key) ? 1 : count - 1;
    state.thing = state.thing === undefined ? chart.links.length % count : (state.thing + by) % count;
    const [, words, px, py] = things[state.thing];
    say(words, ...screen(svg, px, py));
  });
}
