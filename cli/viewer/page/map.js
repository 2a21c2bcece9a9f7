// The heads in a plane: near each other where they attend alike.
import { pictureOf, rowsCommand } from "./commands.js";
import { fixed } from "./cells.js";
import { html, render, svg } from "./dom.js";
import { attempt } from "./fault.js";
import { faultBox, hint, runBox, runLine, wide } from "./forms.js";
import { layerTable } from "./grids.js";
import { behavioursOf, drawMeans } from "./profile.js";
import { table } from "./tables.js";

const [WIDE, HIGH, MARK] = [960, 600, 6.5];

export async function mapView(context) {
  const { bank, connector } = context;
  const form = html`<form>${runBox(context, context.run)}<button>Show</button></form>`;
  const [frame, fault] = await attempt(() => context.query("figure_6", { run: context.run }));
  if (fault) {
    // What has not been computed is no error; the explorer does not write to the bank.
    const said = fault.remedy.startsWith("Type: ") ? html`<p>${fault.text}</p>
      ${hint("It takes seconds to a minute, and is stored in the bank, which the explorer only reads: stop it"
        + " first.")}` : faultBox(fault);
    return { content: html`${form}${said}
      ${context.run ? html`<p><a href=${context.link("/map")}>The map of the default run</a></p>` : null}` };
  }
  const run = context.runOf(frame.run);
  const map = await connector.get(`/maps/${run.id}.json`);
  const given = { run: run.name };
  const shapes = new Map(map.layers.flatMap(([, heads]) => heads.map(([name, ...look]) => [name, look])));
  const mark = (shape, colour, size) => svg`<svg viewBox="-1.3 -1.3 2.6 2.6" width=${size} height=${size}
    aria-hidden="true"><path d=${shape} class=${colour}></path></svg>`;
  const to = (name) => context.link(`/head/${name}`, { run: context.run });
  const point = ([name, kind, left, top, colour, shape]) => {
    const [x, y] = [fixed(left, 1), fixed(top, 1)];
    const title = `Head ${name}: ${kind}`;
    return svg`<a href=${to(name)} aria-label=${title} data-head=${name} data-x=${x} data-y=${y}>
      <title>${title}</title>
      <path d=${shape} transform=${`translate(${x} ${y}) scale(${MARK})`} class=${colour}></path>
      <text x=${fixed(left + 8, 1)} y=${fixed(top + 4, 1)}>${name}</text></a>`;
  };
  const cell = (name) => {
    const [kind, colour, shape] = shapes.get(name);
    const title = `Head ${name}: ${kind}`;
    return html`<td><a href=${to(name)} aria-label=${title} title=${title} data-head=${name}>
      ${mark(shape, colour, 16)}<span>${kind}</span></a></td>`;
  };
  return {
    frame, answered: run.name, isDrawn: true, command: rowsCommand(context, "figure_6", given),
    ...pictureOf(context, "figure_6", given, frame),
    after: (main) => zoomable(main, (heads) => showMeans(bank, run, heads, main.querySelector(".means"))),
    content: html`${form}${runLine(run.name)}
      <p>Heads with similar attention are near each other, as in figure 6 of Clark et al. (2019). Each head
        links to its page. Drag a rectangle to mark heads here and in the grid below, and to see their mean;
        scroll to zoom, Shift-drag to pan.</p>
      <ul class="kinds">${map.kinds.map(([colour, shape, kind]) => (
        html`<li>${mark(shape, colour, 14)} ${kind}</li>`))}</ul>
      <p class="zoom"><button type="button" data-zoom="0.6">Zoom in</button>
        <button type="button" data-zoom="1.7">Zoom out</button>
        <button type="button" data-zoom="all">All heads</button>
        <label class="tick"><input type="checkbox" class="labels" ?checked=${map.points.length <= 90}>
          labels</label></p>
      ${wide("Map of the heads", svg`<svg class="map" data-zooms viewBox=${`0 0 ${WIDE} ${HIGH}`} role="group"
        aria-label="Heads in a plane">${map.points.map(point)}</svg>`)}
      <section class="means" aria-live="polite"></section>
      ${wide("The same heads by layer", html`<table class="grid kindgrid">
        <caption>The same heads: rows are layers, columns heads</caption>${layerTable(run, cell)}</table>`)}
      <details><summary>As a table</summary>${table(context, frame, "The heads in a plane")}</details>`,
  };
}

// Where the attention of some heads goes, in the mean.
async function showMeans(bank, run, heads, section) {
  const behaviours = heads.size > 1 ? await behavioursOf(bank, run) : null;
  if (section.isConnected) render(behaviours && drawMeans(heads, behaviours), section);
}

// The map zooms by the wheel or the buttons, is moved by dragging with Shift held, and marks the
// heads in a rectangle that is dragged, here and in the grid below; `marked` is called with them.
function zoomable(main, marked) {
  const map = main.querySelector("svg.map");
  const heads = [...main.querySelectorAll("[data-head]")];
  let view = { x: 0, y: 0, wide: WIDE, high: HIGH };
  const look = ({ x, y, wide, high }) => {
    view = { wide, high, x: Math.min(Math.max(x, 0), WIDE - wide), y: Math.min(Math.max(y, 0), HIGH - high) };
    map.setAttribute("viewBox", [view.x, view.y, wide, high].map((number) => number.toFixed(1)).join(" "));
    map.classList.toggle("zoomed", wide < WIDE * 0.6);
  };
  const zoom = (factor, { x, y }) => {
    const size = Math.min(Math.max(view.wide * factor, WIDE / 12), WIDE) / view.wide;
    look({
      x: x - (x - view.x) * size, y: y - (y - view.y) * size, wide: view.wide * size, high: view.high * size,
    });
  };
  for (const button of main.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      const middle = { x: view.x + view.wide / 2, y: view.y + view.high / 2 };
      if (button.dataset.zoom === "all") look({ x: 0, y: 0, wide: WIDE, high: HIGH });
      else zoom(Number(button.dataset.zoom), middle);
    });
  }
  const at = ({ clientX, clientY }) => (
    new DOMPoint(clientX, clientY).matrixTransform(map.getScreenCTM().inverse()));
  map.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY < 0 ? 0.8 : 1.25, at(event));
  }, { passive: false });

  // A head that is pointed at stands out in the map and in the grid.
  const point = ({ currentTarget, type }) => {
    const isOn = type === "focus" || (type === "pointerenter" && !box);
    for (const head of heads) {
      if (head.dataset.head === currentTarget.dataset.head) head.classList.toggle("same", isOn);
    }
  };
  for (const head of heads) {
    for (const type of ["pointerenter", "pointerleave", "focus", "blur"]) head.addEventListener(type, point);
  }

  const mark = (names) => {
    for (const head of heads) head.classList.toggle("brushed", names.has(head.dataset.head));
    main.classList.toggle("brushing", names.size > 0);
    return names;
  };
  let from = null; // where a drag began
  let box = null; // the rectangle that is dragged
  let names = new Set(); // the heads in it
  map.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("a")) return;
    from = at(event);
    if (!event.shiftKey) {
      box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      box.setAttribute("class", "brush");
      map.append(box);
    }
    map.setPointerCapture(event.pointerId);
  });
  map.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = at(event);
    if (!box) {
      look({ ...view, x: view.x + from.x - to.x, y: view.y + from.y - to.y });
      return;
    }
    const [x, y] = [Math.min(from.x, to.x), Math.min(from.y, to.y)];
    const [width, height] = [Math.abs(from.x - to.x), Math.abs(from.y - to.y)];
    for (const [name, value] of Object.entries({ x, y, width, height })) box.setAttribute(name, value);
    const isInside = ({ dataset }) => dataset.x >= x && dataset.x <= x + width
      && dataset.y >= y && dataset.y <= y + height;
    names = mark(new Set(heads.filter(isInside).map((head) => head.dataset.head)));
  });
  for (const type of ["pointerup", "pointercancel"]) {
    map.addEventListener(type, () => {
      if (box) marked(names);
      box?.remove();
      box = from = null;
    });
  }
  map.addEventListener("dblclick", () => {
    names = mark(new Set());
    marked(names);
  });
}
