// Heads as a grid: rows are layers, columns are heads, a colour for each value.
import { html } from "./dom.js";
import { wide } from "./forms.js";
import { headName, step, written } from "./measures.js";

// The numbers of the heads of a layer, and those that stand above a grid with small cells.
export const headsOf = (run) => Array.from({ length: run.heads }, (_, at) => at + 1);
export const everyFourth = (run) => headsOf(run).map((head) => (head % 4 ? "" : head));

// The scale of the colours of a grid.
export function scale(ends, isShare) {
  const kind = ends.length === 3 ? "d" : "v";
  const steps = Array.from({ length: 21 }, (_, at) => html`<span class=${`${kind}${at}`}></span>`);
  return html`<p class="scale" aria-hidden="true">${written(ends[0], isShare)} ${steps}
    ${written(ends.at(-1), isShare)}</p>`;
}

// What stands in a cell, and what it says when it is pointed at.
export function cellText(value, isShare) {
  if (value === null) return "–";
  if (isShare) return String(Math.round(100 * value));
  return Math.abs(value) < 1 ? String(Number(value.toFixed(2))).replace("0.", ".") : value.toFixed(1);
}

export const cellTitle = (name, value) => `${name}: ${value === null ? "no value" : value.toFixed(3)}`;

// A table with a row for each layer and a cell for each head.
export function layerTable(run, cell, { corner = null, headings = headsOf(run) } = {}) {
  const row = (layer) => html`<tr><th scope="row">${layer}</th>
    ${headsOf(run).map((head) => cell(headName(layer, head)))}</tr>`;
  return html`<thead><tr><th scope=${corner && "col"}>${corner}</th>
      ${headings.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${run.layer_numbers.map(row)}</tbody>`;
}

// A grid whose heads lead to `to(name)`. Of many heads the cells are small, without their numbers.
export function gridOf(run, values, { ends, isShare, caption, to, chosen = null }) {
  const isSmall = run.heads > 16;
  const cell = (name) => {
    const value = values.get(name) ?? null;
    const kind = step(value, ends);
    const title = cellTitle(name, value);
    return html`<td class=${name === chosen ? `${kind} chosen` : kind}><a href=${to(name)} title=${title}
      aria-label=${`head ${title}`} data-head=${name}>${isSmall ? "" : cellText(value, isShare)}</a></td>`;
  };
  const headings = isSmall ? everyFourth(run) : headsOf(run);
  return html`${wide(caption, html`<table class=${isSmall ? "grid heads-small" : "grid"}>
    <caption>${caption}</caption>
    ${layerTable(run, cell, { corner: "Layer", headings })}</table>`)} ${scale(ends, isShare)}`;
}
