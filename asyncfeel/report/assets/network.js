"use strict";
/* The servers and their links: discs by data, lines by traffic. */
function drawNetwork(box, chart, state) {
  const span = (axis) => Math.max(...chart.nodes.map((node) => node[axis])) - Math.min(...chart.nodes.map((node) => node[axis]));
  const edge = 60, named = chart.nodes.some((node, n) => node.name !== String(n));
  const side = Math.min(named ? 460 : 340, (box.clientWidth || 560) - 2 * edge);
  const f = frame(box, Math.round(side * Math.max(0.1, span("y")) + 2 * edge), 40, "topology of the servers"), { svg } = f;
  const x = scale([0, 1], [(f.width - side) / 2, (f.width + side) / 2]), y = scale([0, 1], [(f.height - side) / 2, (f.height + side) / 2]);
  const top = Math.max(1, ...chart.links.map((link) => link.times)), most = Math.max(...chart.nodes.map((node) => node.share));
  const things = [], many = chart.nodes.length > 40, widest = many ? 3 : 7;
  for (const link of chart.links) {
    const a = chart.nodes[link.source], b = chart.nodes[link.target];
    const ends = { x1: x(a.x), y1: y(a.y), x2: x(b.x), y2: y(b.y) }, px = (ends.x1 + ends.x2) / 2, py = (ends.y1 + ends.y2) / 2;
    el(svg, "line", { ...ends, class: "link", "stroke-width": (1 + (widest * link.times) / top).toFixed(2) });
    if (link.times && chart.links.length <= 32)
      el(svg, "text", { x: px, y: py + 4, "text-anchor": "middle", class: "below" }, show(link.times));
    const hit = el(svg, "line", { ...ends, class: "hit" });
    things.push([hit, [`link ${a.name} to ${b.name}`, `carried models ${show(link.times)} ${link.times === 1 ? "time" : "times"}`], px, py]);
  }
  const room = many ? 5 : 18;
  chart.nodes.forEach((node, n) => {
    const r = 4 + (room - 4) * Math.sqrt(node.share / (most || 1));
    const disc = el(svg, "circle", { cx: x(node.x), cy: y(node.y), r: Math.max(many ? 2 : 9, many ? r - 2 : r).toFixed(2), class: "node" });
    if (!many) {
      el(svg, "text", { x: x(node.x), y: y(node.y) + 4, "text-anchor": "middle", class: "inside" }, String(n));
      const [right, down] = node.away, aside = Math.abs(right) > 0.4;
      const label = el(svg, "text", {
        x: x(node.x) + right * (r + 7), y: y(node.y) + down * (r + (aside ? 8 : 13)) + 4, class: "below",
        "text-anchor": aside ? (right > 0 ? "start" : "end") : "middle",
      }, (node.name === String(n) || side < 300 ? "" : node.name + " ") + (100 * node.share).toFixed(1) + "%");
      const { x: from, width } = label.getBBox(), out = Math.max(0, 2 - from) - Math.max(0, from + width + 2 - f.width);
      if (out) label.setAttribute("x", Number(label.getAttribute("x")) + out);
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
