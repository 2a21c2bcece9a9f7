// The heads in a plane: near each other where they attend alike.
import { pictureOf, rowsCommand } from "./commands.js";
import { fixed } from "./cells.js";
import { html, render, svg } from "./dom.js";
import { Fault } from "./fault.js";
import { faultBox, runBox, runLine } from "./forms.js";
import { drawMeans, profileData } from "./profile.js";
import { table } from "./tables.js";

const [WIDE, HIGH, MARK] = [960, 600, 6.5];

export async function mapView(context) {
  const form = html`<form>${runBox(context, context.run)}<button>Show</button></form>`;
  let map;
  let frame;
  try {
    frame = await context.query("figure_6", { run: context.run });
    map = await context.connector.map(context.run);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // What has not been computed is no error; the explorer does not write to the bank.
    const said = error.remedy.startsWith("Type: ") ? html`<p>${error.fact} ${error.remedy}</p>
      <p class="hint">It takes seconds to a minute, and is stored in the bank, which the explorer only reads: stop it first.</p>` : faultBox(error);
    return { content: html`${form}${said}${context.run ? html`<p><a href=${context.link("/map")}>The map of the default run</a></p>` : null}` };
  }
  const given = { run: frame.run };
  const to = (name) => context.link(`/head/${name}`, { run: context.run });
  const mark = (shape, colour, size) => svg`<svg viewBox="-1.3 -1.3 2.6 2.6" width=${size} height=${size} aria-hidden="true"><path d=${shape} class=${colour}></path></svg>`;
  return {
    frame, answered: frame.run, command: rowsCommand(context, "figure_6", given), ...pictureOf(context, "figure_6", given, frame),
    after: (main) => zoomable(main, (heads) => showMeans(context, frame.run, heads, main.querySelector(".means"))), isDrawn: true,
    content: html`${form}${runLine(frame.run)}
      <p>Heads with similar attention are near each other, as in figure 6 of Clark et al. (2019). Each head links to its page. Drag a rectangle to mark heads here and in the grid below, and to see their mean; scroll to zoom, Shift-drag to pan.</p>
      <ul class="kinds">${map.kinds.map(([colour, shape, kind]) => html`<li>${mark(shape, colour, 14)} ${kind}</li>`)}</ul>
      <p class="zoom"><button type="button" data-zoom="0.6">Zoom in</button> <button type="button" data-zoom="1.7">Zoom out</button> <button type="button" data-zoom="all">All heads</button>
        <label class="tick"><input type="checkbox" class="labels" ?checked=${map.points.length <= 90}> labels</label></p>
      <div class="wide" tabindex="0" role="region" aria-label="Map of the heads">${svg`<svg class="map" data-zooms viewBox=${`0 0 ${WIDE} ${HIGH}`} role="group" aria-label="Heads in a plane">
        ${map.points.map(([name, kind, x, y, colour, shape]) => svg`<a href=${to(name)} aria-label=${`Head ${name}: ${kind}`} data-head=${name} data-x=${fixed(x, 1)} data-y=${fixed(y, 1)}><title>${`Head ${name}: ${kind}`}</title>
          <path d=${shape} transform=${`translate(${fixed(x, 1)} ${fixed(y, 1)}) scale(${MARK})`} class=${colour}></path><text x=${fixed(x + 8, 1)} y=${fixed(y + 4, 1)}>${name}</text></a>`)}</svg>`}</div>
      <section class="means" aria-live="polite"></section>
      <div class="wide" tabindex="0" role="region" aria-label="The same heads by layer"><table class="grid kindgrid"><caption>The same heads: rows are layers, columns heads</caption>
        <thead><tr><th></th>${map.layers[0][1].map((_, at) => html`<th scope="col">${at + 1}</th>`)}</tr></thead>
        <tbody>${map.layers.map(([layer, heads]) => html`<tr><th scope="row">${layer}</th>${heads.map(([name, kind, colour, shape]) => html`<td><a href=${to(name)} aria-label=${`Head ${name}: ${kind}`} title=${`Head ${name}: ${kind}`} data-head=${name}>${mark(shape, colour, 16)}<span>${kind}</span></a></td>`)}</tr>`)}</tbody></table></div>
      <details><summary>As a table</summary>${table(context, frame, "The heads in a plane")}</details>`,
  };
}

// Where the attention of some heads goes, in the mean.
async function showMeans(context, run, heads, section) {
  const data = heads.size > 1 ? await profileData(context.bank, context.runOf(run)) : null;
  if (section.isConnected) render(data && drawMeans(heads, data.behaviours), section);
}

// The map zooms by the wheel or the buttons, is moved by dragging with Shift held, and marks the
// heads in a rectangle that is dragged, here and in the grid below; `marked` is called with them.
function zoomable(main, marked) {
  const map = main.querySelector("svg.map");
  let view = [0, 0, WIDE, HIGH];
  const apply = () => {
    map.setAttribute("viewBox", view.map((number) => number.toFixed(1)).join(" "));
    map.classList.toggle("zoomed", view[2] < WIDE * 0.6);
  };
  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    return [point.x, point.y];
  };
  const clamp = () => {
    view[0] = Math.min(Math.max(view[0], 0), WIDE - view[2]);
    view[1] = Math.min(Math.max(view[1], 0), HIGH - view[3]);
    apply();
  };
  const zoom = (factor, [x, y]) => {
    const size = Math.min(Math.max(view[2] * factor, WIDE / 12), WIDE) / view[2];
    view = [x - (x - view[0]) * size, y - (y - view[1]) * size, view[2] * size, view[3] * size];
    clamp();
  };
  for (const button of main.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      if (button.dataset.zoom === "all") view = [0, 0, WIDE, HIGH];
      zoom(button.dataset.zoom === "all" ? 1 : Number(button.dataset.zoom), [view[0] + view[2] / 2, view[1] + view[3] / 2]);
    });
  }
  map.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY < 0 ? 0.8 : 1.25, at(event));
  }, { passive: false });

  const heads = [...main.querySelectorAll("[data-head]")];
  const mark = (names) => {
    for (const head of heads) head.classList.toggle("brushed", names.has(head.dataset.head));
    main.classList.toggle("brushing", names.size > 0);
  };
  let box = null;
  let from = null;
  const point = (head, on) => {
    for (const other of heads) if (other.dataset.head === head.dataset.head) other.classList.toggle("same", on);
  };
  for (const head of heads) {
    head.addEventListener("pointerenter", () => { if (!box) point(head, true); });
    head.addEventListener("pointerleave", () => point(head, false));
    head.addEventListener("focus", () => point(head, true));
    head.addEventListener("blur", () => point(head, false));
  }
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
      view = [view[0] + from[0] - to[0], view[1] + from[1] - to[1], view[2], view[3]];
      clamp();
      return;
    }
    const [x, y] = [Math.min(from[0], to[0]), Math.min(from[1], to[1])];
    const [width, height] = [Math.abs(from[0] - to[0]), Math.abs(from[1] - to[1])];
    for (const [name, value] of Object.entries({ x, y, width, height })) box.setAttribute(name, value);
    const isInside = ({ dataset }) => dataset.x && Number(dataset.x) >= x && Number(dataset.x) <= x + width
      && Number(dataset.y) >= y && Number(dataset.y) <= y + height;
    mark(new Set(heads.filter(isInside).map((head) => head.dataset.head)));
  });
  const stop = () => {
    if (box) marked(new Set(map.querySelectorAll(".brushed").values().map((head) => head.dataset.head)));
    box?.remove();
    box = from = null;
  };
  map.addEventListener("pointerup", stop);
  map.addEventListener("pointercancel", stop);
  map.addEventListener("dblclick", () => {
    mark(new Set());
    marked(new Set());
  });
}
