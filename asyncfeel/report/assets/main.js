"use strict";
/* Puts the figures' charts into the page, and draws them again when the page changes its width. */
const DRAW = { lines: drawLines, bars: drawBars, heat: drawHeat, matrices: drawMatrices, tracks: drawTracks, network: drawNetwork };
const drawn = [];

function put(section, figure, chosen) {
  for (const [field, text] of [[".sentence", chosen.sentence], [".notes", chosen.notes.join(" ")]])
    section.querySelector(field).textContent = text;
  const home = section.querySelector(".charts");
  home.textContent = "";
  for (let n = drawn.length - 1; n >= 0; n--) if (drawn[n].figure === figure) drawn.splice(n, 1);
  for (const chart of chosen.charts) {
    if (chart.title) html(home, "h3", "", chart.title);
    const item = { figure, chart, box: html(home, "div", "chart"), state: {} };
    drawn.push(item);
    draw(item);
  }
}

function draw(item) { DRAW[item.chart.kind](item.box, item.chart, item.state); }

for (const figure of JSON.parse(document.getElementById("data").textContent)) {
  const section = document.getElementById(figure.slug);
  const select = section.querySelector("select");
  if (select) select.addEventListener("change", () => put(section, figure, figure.views[Number(select.value)]));
  put(section, figure, figure.views[0]);
}

let width = innerWidth, waiting = 0;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(() => { hush(); drawn.forEach(draw); }, 100);
});
addEventListener("scroll", hush, { passive: true });
