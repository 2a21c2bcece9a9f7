// The heads in a plane: near each other where they attend alike.
import { brush } from "./brush.js";
import { commandsOf } from "./commands.js";
import { html, render, svg } from "./dom.js";
import { attempt } from "./fault.js";
import { button, faultBox, hint, measureBoxes, runBox, runLine, wide } from "./forms.js";
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
  const kindMark = (shape, colour, size) => svg`<svg viewBox="-1.3 -1.3 2.6 2.6" width=${size} height=${size}
    aria-hidden="true"><path d=${shape} class=${colour}></path></svg>`;
  const to = (name) => context.link(`/head/${name}`, { run: context.run });
  // Each head with its kind, or where a measure is chosen its value, in colour.
  const heads = new Map(map.points.map(([name, kind, x, y, colour, shape]) => {
    const value = grid?.values.get(name) ?? null;
    const said = [kind, grid && written(value, grid.isShare)].filter(Boolean).join(", ");
    return [name, {
      name, kind, shape, x, y, title: said ? `Head ${name}: ${said}` : `Head ${name}`,
      colour: grid ? step(value, grid.ends) : colour, label: colour === "k0" ? `${name} ${kind}` : name,
    }];
  }));
  const headMark = ({ name, x, y, shape, title, colour, label }) => svg`<a href=${to(name)} aria-label=${title}
      data-head=${name}><title>${title}</title>
    <path d=${shape} transform=${`translate(${x} ${y}) scale(${MARK})`} class=${colour}></path>
    <text x=${x + 8} y=${y + 4}>${label}</text></a>`;
  const cell = (name) => {
    const { kind, shape, title, colour } = heads.get(name);
    return html`<td><a href=${to(name)} aria-label=${title} title=${title} data-head=${name}>
      ${kindMark(shape, colour, 16)}<span>${kind}</span></a></td>`;
  };
  return {
    frame, answered: run.name, isDrawn: true, ...commandsOf(context, "figure_6", { run: run.name }, frame),
    content: html`${form}${faultBox(error)}
      ${grid ? html`<p>${grid.title}. ${grid.remark}</p>${scale(grid.ends, grid.isShare)}` : null}
      <ul class="kinds">${map.kinds.map(([colour, shape, kind]) => (
        html`<li>${kindMark(shape, grid ? "rest" : colour, 14)} ${kind}</li>`))}</ul>
      <p class="zoom">${[["Zoom in", 1.7], ["Zoom out", 0.6], ["All heads", 0]].map(([label, factor]) => (
        button(label, () => zoom(factor), null)))}
        <label class="tick"><input type="checkbox" class="labels" checked=${map.points.length <= 90}>
          labels</label></p>
      <div class="map-beside" @pointerover=${point} @pointerleave=${point} @focusin=${point} @focusout=${point}>
        ${wide("Map of the heads", svg`<svg class="map" viewBox=${`0 0 ${WIDE} ${HIGH}`} role="group"
          aria-label="Heads in a plane" @pointerdown=${(event) => mark(event, (names) => showMeans(bank, run, names))}>
          ${[...heads.values()].map(headMark)}</svg>`)}
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
async function showMeans(bank, run, heads) {
  const section = document.querySelector(".means");
  const { behaviours } = heads.size > 1 ? await behavioursOf(bank, run) : {};
  render(behaviours && drawMeans(heads, behaviours), section);
}

// By the buttons: the map is scrolled then.
function zoom(factor) {
  const map = document.querySelector("svg.map");
  const size = Math.min(Math.max(factor * (parseFloat(map.style.minWidth) / 100 || 1), 1), MOST_ZOOM);
  map.style.minWidth = size > 1 ? `${100 * size}%` : "";
  map.classList.toggle("zoomed", size > 1);
  const box = map.parentElement; // its middle is in view
  box.scrollTo((box.scrollWidth - box.clientWidth) / 2, (box.scrollHeight - box.clientHeight) / 2);
}

// A head that is pointed at stands out in the map and in the grid.
function point({ type, target, currentTarget: view }) {
  const name = type === "focusout" ? null : target.closest("[data-head]")?.dataset.head;
  for (const head of view.querySelectorAll("[data-head]")) head.classList.toggle("same", head.dataset.head === name);
}

// The heads that are dragged over in the map stand out, here and in the grid; a click beside them ends that.
function mark(event, done) {
  if (event.button !== 0 || event.target.closest("a")) return;
  const view = event.currentTarget.closest(".map-beside");
  const marked = (names) => {
    for (const head of view.querySelectorAll("[data-head]")) {
      head.classList.toggle("brushed", names.has(head.dataset.head));
    }
    view.classList.toggle("brushing", names.size > 0);
  };
  brush(event, view.querySelectorAll("svg [data-head] > path"), marked, done);
}
