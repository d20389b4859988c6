"use strict";
/* Zoom along x: drag to choose, double click or Escape to go back; + and - for the keyboard. */
function zoomable(f, state, x, redraw, hover) {
  const { svg, area } = f;
  const band = el(svg, "rect", { class: "band", y: area.top, height: area.bottom - area.top, width: 0 });
  let from = null;
  const inside = (pixel) => Math.max(area.left, Math.min(area.right, pixel));
  const reset = () => { if (state.range) { state.range = null; redraw(true); } };
  svg.addEventListener("pointerdown", (event) => {
    const [px, py] = place(svg, event);
    if (event.button || px < area.left || px > area.right || py > area.bottom) return;
    from = px;
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    const [px, py] = place(svg, event);
    if (from !== null && Math.abs(px - from) > 3) {
      const a = Math.min(inside(px), from), b = Math.max(inside(px), from);
      band.setAttribute("x", a);
      band.setAttribute("width", b - a);
    }
    hover(inside(px), py, event.clientX, event.clientY);
  });
  svg.addEventListener("pointerup", (event) => {
    const to = inside(place(svg, event)[0]), start = from;
    from = null;
    if (start !== null && Math.abs(to - start) > 8) {
      state.range = [x.back(Math.min(start, to)), x.back(Math.max(start, to))];
      redraw();
    } else band.setAttribute("width", 0);
  });
  svg.addEventListener("pointercancel", () => { from = null; band.setAttribute("width", 0); });
  svg.addEventListener("dblclick", reset);
  return {
    key(event, at) {
      if (event.key === "Escape" || event.key === "-") { event.preventDefault(); hush(); reset(); return true; }
      if (event.key !== "+" && event.key !== "=") return false;
      const low = x.back(area.left), high = x.back(area.right), middle = at === null ? (low + high) / 2 : at;
      state.range = [Math.max(low, middle - (high - low) / 4), Math.min(high, middle + (high - low) / 4)];
      event.preventDefault();
      redraw(true);
      return true;
    },
  };
}

function resetButton(box, state, redraw) {
  if (!state.range) return;
  const button = html(box, "button", "reset", "show all");
  button.type = "button";
  button.addEventListener("click", () => { state.range = null; redraw(true); });
}
