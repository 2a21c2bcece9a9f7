// Heads as a grid: rows are layers, columns are heads, a colour for each value.
import { html, svg } from "./dom.js";
import { wide } from "./forms.js";
import { headName, step, written } from "./measures.js";

const headsOf = (run) => Array.from({ length: run.heads }, (_, at) => at + 1);

export const namesOf = (run) => run.layer_numbers.flatMap((layer) => (
  headsOf(run).map((head) => headName(layer, head))));

// The scale of the colours of a grid.
export function scale(ends, isShare) {
  const kind = ends.length === 3 ? "d" : "v";
  const steps = Array.from({ length: 21 }, (_, at) => html`<span class=${`${kind}${at}`}></span>`);
  return html`<p class="scale" aria-hidden="true">${written(ends[0], isShare)} ${steps}
    ${written(ends.at(-1), isShare)}</p>`;
}

// What stands in a cell.
function cellText(value, isShare) {
  if (value === null) return "–";
  if (isShare) return String(Math.round(100 * value));
  return Math.abs(value) < 1 ? String(Number(value.toFixed(2))).replace("0.", ".") : value.toFixed(1);
}

// A table with a row for each layer and a cell for each head.
export function layerTable(run, cell, { corner = null, headings = headsOf(run) } = {}) {
  const row = (layer) => html`<tr><th scope="row">${layer}</th>
    ${headsOf(run).map((head) => cell(headName(layer, head)))}</tr>`;
  return html`<thead><tr><th scope=${corner && "col"}>${corner}</th>
      ${headings.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${run.layer_numbers.map(row)}</tbody>`;
}

// A grid whose heads lead to `to(name)`. Of many heads the cells are small, without their numbers, and of many
// layers as wide as their column. `kinds` gives more classes of a cell, `on` the listeners of the table.
export function gridOf(run, values, options) {
  const { ends, isShare, caption, to, labels, chosen = null, kinds = () => [], on = {} } = options;
  const isSmall = run.heads > 16;
  const isTall = !isSmall && run.layer_numbers.length > 16;
  const cell = (name) => {
    const value = values.get(name) ?? null;
    const title = `${name}: ${value === null ? "no value" : value.toFixed(3)}`;
    const isChosen = name === chosen;
    return html`<td class=${[step(value, ends), isChosen && "chosen", ...kinds(name)].filter(Boolean).join(" ")}><a
      href=${to(name)} title=${title} data-head=${name} aria-label=${`head ${name}: ${written(value, isShare)}`}
      aria-current=${isChosen ? "true" : null} tabindex=${!on.keydown ? null : isChosen ? 0 : -1}
      >${isSmall ? "" : labels?.get(name) ?? cellText(value, isShare)}</a></td>`;
  };
  const headings = headsOf(run).map((head) => (isSmall && head % 4 ? "" : head));
  return html`<div class="as-file">${wide(caption, html`<table
      class=${isSmall ? "grid heads-small" : isTall ? "grid heads-tall" : "grid"} @click=${on.click}
      @pointerover=${on.pointerover} @pointerleave=${on.pointerleave} @pointerdown=${on.pointerdown}
      @keydown=${on.keydown}><caption>${caption}</caption>
    ${layerTable(run, cell, { corner: "Layer", headings })}</table>`)}</div>${scale(ends, isShare)}`;
}

// Grids side by side, each at most 112 wide and 90 high; `choose` is called with the key of one.
export function smallGrids(run, grids, chosen, choose) {
  const layers = run.layer_numbers;
  const [wide, high] = [112 / run.heads, 90 / layers.length].map((room) => (
    Math.max(2, Math.min(9, Math.floor(room)))));
  const inner = (side) => side - (side > 4 ? 1 : 0);
  const cell = (layer, head, { values, ends }) => svg`<rect
    class=${step(values.get(headName(layer, head)), ends)} x=${(head - 1) * wide}
    y=${layers.indexOf(layer) * high} width=${inner(wide)} height=${inner(high)}></rect>`;
  return html`<div class="small-grids">${grids.map((grid) => html`
    <button type="button" class=${grid.key === chosen ? "small-grid chosen" : "small-grid"}
      title=${grid.title} @click=${() => choose(grid.key)}>
      ${svg`<svg width=${run.heads * wide} height=${layers.length * high} aria-hidden="true">
        ${layers.map((layer) => headsOf(run).map((head) => cell(layer, head, grid)))}</svg>`}
      <span>${grid.title}</span></button>`)}</div>`;
}
