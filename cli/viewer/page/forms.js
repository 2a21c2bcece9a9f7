// Parts of forms that several views have, and what stands above an answer.
import { html } from "./dom.js";

// The choice of a run; "" is the default one.
export function runBox(context, chosen, name = "run", label = "Run") {
  const options = context.bank.choices.map(({ run, id, unasked }) => [run, `${run}${unasked === "first" ? " (first)" : ""}`, String(id)]);
  const known = options.find(([run, , id]) => run === chosen || id === chosen);
  return choice(label, name, [["", "default run"], ...options], known?.[0] ?? "");
}

export function choice(label, name, options, chosen, help = null) {
  const all = options.some(([value]) => value === chosen) ? options : [...options, [chosen, chosen]];
  return html`<label title=${help}>${label} <select name=${name}>${all.map(([value, title]) => html`<option value=${value} ?selected=${value === chosen} .selected=${value === chosen}>${title}</option>`)}</select></label>`;
}

export const tick = (label, name, isTicked) => html`<label class="tick"><input type="checkbox" name=${name} value="1" ?checked=${isTicked} .checked=${isTicked}> ${label}</label>`;

export const relationBox = (context, chosen) => choice("Relation", "relation", context.bank.relations.map((name) => [name, name]), chosen);

export const directionBox = (context, chosen) => choice("Direction", "direction", context.bank.directions.map((name) => [name, name.replaceAll("_", " ")]), chosen);

const isWide = matchMedia("(min-width: 40rem)");

// Fields that few need. On a narrow screen they are folded, unless one of them is in the address.
export const moreOptions = (context, names, fields) => html`<details class="options" .open=${isWide.matches || names.some((name) => name in context.given)}><summary>Options</summary>${fields}</details>`;

export function faultBox(error) {
  if (!error) return null;
  return html`<div class="fault" role="alert"><p>${error.fact}</p>${error.remedy ? html`<p>${error.remedy}</p>` : null}</div>`;
}

export const runLine = (run) => (run ? html`<p class="run">Run: <bdi>${run}</bdi></p>` : null);

// What a published page offers before it has loaded DuckDB.
export const showSentences = (load) => html`<p><button type="button" class="load" @click=${load}>Show sentences</button></p>
  <p class="hint">This loads DuckDB (9 MB), and reads parts of the bank.</p>`;
