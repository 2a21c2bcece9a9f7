"use strict";
// The map of the heads: it zooms by the wheel or the buttons, is moved by dragging with Shift held,
// and marks the heads in a rectangle that is dragged, here and in the grid below.
(() => {
  const SPACE = "http://www.w3.org/2000/svg";

  const start = () => {
    const svg = document.querySelector("svg.map[data-zooms]");
    if (!svg) return;
    const [, , wide, high] = svg.getAttribute("viewBox").split(" ").map(Number);
    let view = [0, 0, wide, high];
    const apply = () => {
      svg.setAttribute("viewBox", view.map((number) => number.toFixed(1)).join(" "));
      svg.classList.toggle("zoomed", view[2] < wide * 0.6);
    };
    const at = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [point.x, point.y];
    };
    const zoom = (factor, [x, y]) => {
      const size = Math.min(Math.max(view[2] * factor, wide / 12), wide) / view[2];
      view = [x - (x - view[0]) * size, y - (y - view[1]) * size, view[2] * size, view[3] * size];
      view[0] = Math.min(Math.max(view[0], 0), wide - view[2]);
      view[1] = Math.min(Math.max(view[1], 0), high - view[3]);
      apply();
    };
    const middle = () => [view[0] + view[2] / 2, view[1] + view[3] / 2];
    for (const button of document.querySelectorAll("[data-zoom]")) {
      button.hidden = false;
      button.onclick = () => (button.dataset.zoom === "all"
        ? (view = [0, 0, wide, high], apply()) : zoom(Number(button.dataset.zoom), middle()));
    }
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(event.deltaY < 0 ? 0.8 : 1.25, at(event));
    }, { passive: false });

    const heads = [...document.querySelectorAll("[data-head]")];
    const mark = (names) => {
      for (const element of heads) element.classList.toggle("brushed", names.has(element.dataset.head));
      document.body.classList.toggle("brushing", names.size > 0);
    };
    for (const element of heads) {
      element.addEventListener("pointerenter", () => { if (!box) element.classList.add("same"), twins(element, true); });
      element.addEventListener("pointerleave", () => twins(element, false));
      element.addEventListener("focus", () => twins(element, true));
      element.addEventListener("blur", () => twins(element, false));
    }
    const twins = (head, on) => {
      for (const element of heads) {
        if (element.dataset.head === head.dataset.head) element.classList.toggle("same", on);
      }
    };

    let box = null;
    let from = null;
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.target.closest("a")) return;
      from = at(event);
      if (!event.shiftKey) {
        box = document.createElementNS(SPACE, "rect");
        box.setAttribute("class", "brush");
        svg.append(box);
      }
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!from) return;
      const here = at(event);
      if (!box) {
        view[0] = Math.min(Math.max(view[0] + from[0] - here[0], 0), wide - view[2]);
        view[1] = Math.min(Math.max(view[1] + from[1] - here[1], 0), high - view[3]);
        apply();
        return;
      }
      const [x, y] = [Math.min(from[0], here[0]), Math.min(from[1], here[1])];
      const size = [Math.abs(from[0] - here[0]), Math.abs(from[1] - here[1])];
      Object.entries({ x, y, width: size[0], height: size[1] }).forEach(([name, value]) => box.setAttribute(name, value));
      const inside = heads.filter((element) => element.dataset.x && Number(element.dataset.x) >= x
        && Number(element.dataset.x) <= x + size[0] && Number(element.dataset.y) >= y && Number(element.dataset.y) <= y + size[1]);
      mark(new Set(inside.map((element) => element.dataset.head)));
    });
    const stop = () => {
      if (box) box.remove();
      box = from = null;
    };
    svg.addEventListener("pointerup", stop);
    svg.addEventListener("pointercancel", stop);
    svg.addEventListener("dblclick", () => mark(new Set()));
  };

  start();
  document.addEventListener("attnbank:filled", start);
})();
