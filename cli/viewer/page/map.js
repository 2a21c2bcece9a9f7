// The heads in a plane: near each other where they attend alike.
import { pictureOf, rowsCommand } from "./commands.js";
import { fixed } from "./cells.js";
import { html, render, svg } from "./dom.js";
import { attempt } from "./fault.js";
import { faultBox, hint, measureBoxes, runBox, runLine, wide } from "./forms.js";
import { layerTable, scale } from "./grids.js";
import { step, valuesOf, written } from "./measures.js";
import { behavioursOf, drawMeans } from "./profile.js";
import { table } from "./tables.js";

const [WIDE, HIGH, MARK, MOST_ZOOM] = [960, 600, 6.5, 12];

export async function mapView(context) {
  const { bank, connector } = context;
  const state = {
    by: context.choice("by", ["", ...bank.measures.keys()]), relation: context.text("relation", "all"),
    direction: context.choice("direction", bank.directions),
  };
  const form = html`<form>${runBox(context, context.run)}${measureBoxes(context, state, "what they do")}</form>`;
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
  const [map, [grid, error]] = await Promise.all([
    connector.get(`/maps/${run.id}.json`),
    state.by ? attempt(() => valuesOf(bank, run, state, { mayLoad: true })) : [],
  ]);
  const given = { run: run.name };
  const mark = (shape, colour, size) => svg`<svg viewBox="-1.3 -1.3 2.6 2.6" width=${size} height=${size}
    aria-hidden="true"><path d=${shape} class=${colour}></path></svg>`;
  const to = (name) => context.link(`/head/${name}`, { run: context.run });
  // Each head with its kind, or where a measure is chosen its value, in colour.
  const heads = new Map(map.points.map(([name, kind, left, top, colour, shape]) => {
    const value = grid?.values.get(name) ?? null;
    const said = [kind, grid && written(value, grid.isShare)].filter(Boolean).join(", ");
    return [name, {
      name, kind, shape, x: fixed(left, 1), y: fixed(top, 1), title: said ? `Head ${name}: ${said}` : `Head ${name}`,
      colour: grid ? step(value, grid.ends) : colour, label: colour === "k0" ? `${name} ${kind}` : name,
    }];
  }));
  const point = ({ name, x, y, shape, title, colour, label }) => svg`<a href=${to(name)} aria-label=${title}
      data-head=${name} data-x=${x} data-y=${y}><title>${title}</title>
    <path d=${shape} transform=${`translate(${x} ${y}) scale(${MARK})`} class=${colour}></path>
    <text x=${Number(x) + 8} y=${Number(y) + 4}>${label}</text></a>`;
  const cell = (name) => {
    const { kind, shape, title, colour } = heads.get(name);
    return html`<td><a href=${to(name)} aria-label=${title} title=${title} data-head=${name}>
      ${mark(shape, colour, 16)}<span>${kind}</span></a></td>`;
  };
  return {
    frame, answered: run.name, isDrawn: true, command: rowsCommand(context, "figure_6", given),
    plotCommand: pictureOf(context, "figure_6", given, frame).plotCommand,
    after: (main) => zoomable(main, (heads) => showMeans(bank, run, heads, main.querySelector(".means"))),
    content: html`${form}${faultBox(error)}
      ${grid ? html`<p>${grid.title}. ${grid.remark}</p>${scale(grid.ends, grid.isShare)}` : null}
      <ul class="kinds">${map.kinds.map(([colour, shape, kind]) => (
        html`<li>${mark(shape, grid ? "rest" : colour, 14)} ${kind}</li>`))}</ul>
      <p class="zoom"><button type="button" data-zoom="1.7">Zoom in</button>
        <button type="button" data-zoom="0.6">Zoom out</button>
        <button type="button" data-zoom="0">All heads</button>
        <label class="tick"><input type="checkbox" class="labels" ?checked=${map.points.length <= 90}>
          labels</label></p>
      <div class="map-beside">${wide("Map of the heads", svg`<svg class="map" data-zooms viewBox=${`0 0 ${WIDE} ${HIGH}`} role="group"
        aria-label="Heads in a plane">${[...heads.values()].map(point)}</svg>`)}
      ${wide("The same heads by layer", html`<table class="grid kindgrid">
        <caption>The same heads: rows are layers, columns heads</caption>${layerTable(run, cell)}</table>`)}</div>
      <section class="means" aria-live="polite"></section>
      ${hint("Heads with similar attention are near each other, as in figure 6 of Clark et al. (2019). Drag a"
        + " rectangle to mark heads here and in the grid, and to see their mean.")}
      ${runLine(run.name)}
      <details><summary>As a table</summary>${table(context, frame, "The heads in a plane")}</details>`,
  };
}

// Where the attention of some heads goes, in the mean.
async function showMeans(bank, run, heads, section) {
  const { behaviours } = heads.size > 1 ? await behavioursOf(bank, run) : {};
  if (section.isConnected) render(behaviours && drawMeans(heads, behaviours), section);
}

// The map zooms by the buttons and is scrolled then; it marks the heads in a rectangle that is dragged, here
// and in the grid below: `marked` is called with them.
function zoomable(main, marked) {
  const map = main.querySelector("svg.map");
  const heads = [...main.querySelectorAll("[data-head]")];
  let size = 1;
  for (const button of main.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      size = Math.min(Math.max(size * Number(button.dataset.zoom), 1), MOST_ZOOM);
      map.style.minWidth = size > 1 ? `${100 * size}%` : "";
      map.classList.toggle("zoomed", size > 1);
    });
  }
  const at = ({ clientX, clientY }) => new DOMPoint(clientX, clientY).matrixTransform(map.getScreenCTM().inverse());
  let from = null; // where a drag began
  let box = null; // the rectangle that is dragged
  let names = new Set(); // the heads in it

  // A head that is pointed at stands out in the map and in the grid.
  for (const [type, isOn] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
    for (const head of heads) {
      const same = heads.filter(({ dataset }) => dataset.head === head.dataset.head);
      head.addEventListener(type, () => same.forEach(({ classList }) => classList.toggle("same", isOn && !box)));
    }
  }
  const mark = (chosen) => {
    names = chosen;
    for (const head of heads) head.classList.toggle("brushed", names.has(head.dataset.head));
    main.classList.toggle("brushing", names.size > 0);
  };
  map.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("a")) return;
    from = at(event);
    box = map.appendChild(document.createElementNS(map.namespaceURI, "rect"));
    box.setAttribute("class", "brush");
    map.setPointerCapture(event.pointerId);
  });
  map.addEventListener("pointermove", (event) => {
    if (!box) return;
    const to = at(event);
    const [x, y] = [Math.min(from.x, to.x), Math.min(from.y, to.y)];
    const [width, height] = [Math.abs(from.x - to.x), Math.abs(from.y - to.y)];
    for (const [name, value] of Object.entries({ x, y, width, height })) box.setAttribute(name, value);
    const isInside = ({ dataset }) => dataset.x >= x && dataset.x <= x + width
      && dataset.y >= y && dataset.y <= y + height;
    mark(new Set(heads.filter(isInside).map((head) => head.dataset.head)));
  });
  for (const type of ["pointerup", "pointercancel"]) {
    map.addEventListener(type, () => {
      if (box) marked(names);
      box?.remove();
      box = null;
    });
  }
  map.addEventListener("dblclick", () => {
    mark(new Set());
    marked(names);
  });
}
