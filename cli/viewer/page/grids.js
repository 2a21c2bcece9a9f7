// Heads as a grid: rows are layers, columns are heads, a colour for each value.
import { html } from "./dom.js";
import { headName, percent, step } from "./measures.js";

// The scale of the colours of a grid.
export function scale(ends, isShare) {
  const write = (value) => (isShare ? percent(value) : value.toFixed(2));
  return html`<p class="scale" aria-hidden="true">${write(ends[0])} ${Array.from({ length: 21 }, (_, at) => html`<span class=${`${ends.length === 3 ? "d" : "v"}${at}`}></span>`)} ${write(ends.at(-1))}</p>`;
}

// What stands in a cell, and what it says when it is pointed at.
export const cellText = (value, isShare) => (value === null ? "–" : isShare ? String(Math.round(100 * value)) : value.toFixed(1));
export const cellTitle = (name, value) => `${name}: ${value === null ? "no value" : value.toFixed(3)}`;

// A grid whose heads lead to `to(name)`.
export function gridOf(run, values, { ends, isShare, caption, to, chosen = null }) {
  const heads = Array.from({ length: run.heads }, (_, at) => at + 1);
  const cell = (name) => {
    const value = values.get(name) ?? null;
    return html`<td class=${name === chosen ? `${step(value, ends)} chosen` : step(value, ends)}><a href=${to(name)} title=${cellTitle(name, value)} aria-label=${`head ${cellTitle(name, value)}`} data-head=${name}>${cellText(value, isShare)}</a></td>`;
  };
  return html`<div class="wide" tabindex="0" role="region" aria-label=${caption}><table class="grid"><caption>${caption}</caption>
    <thead><tr><th scope="col">Layer</th>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${run.layer_numbers.map((layer) => html`<tr><th scope="row">${layer}</th>${heads.map((head) => cell(headName(layer, head)))}</tr>`)}</tbody></table></div>
    ${scale(ends, isShare)}`;
}
