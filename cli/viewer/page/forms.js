// Parts of forms that several views have, and what stands around an answer.
import { groupBy } from "./cells.js";
import { thousands } from "./context.js";
import { html } from "./dom.js";

// The choice of a run; "" is the default one.
export function runBox(context, chosen, name = "run", label = "Run") {
  const { choices } = context.bank;
  const options = choices.map(({ run, unasked }) => [run, unasked === "first" ? `${run} (first)` : run]);
  const known = choices.find(({ run, id }) => run === chosen || String(id) === chosen);
  return choice(label, name, [["", "default run"], ...options], known?.run ?? "");
}

// Options are [value, title] or [value, title, group], or values that are their own titles.
export function choice(label, name, options, chosen, { help = null, change = null } = {}) {
  const pairs = options.map((option) => (Array.isArray(option) ? option : [option, option]));
  if (!pairs.some(([value]) => value === chosen)) pairs.push([chosen, chosen]);
  const option = ([value, title]) => html`<option value=${value} .selected=${value === chosen}>${title}</option>`;
  const groups = [...groupBy(pairs, ([, , group]) => group)].map(([group, own]) => (
    group ? html`<optgroup label=${group}>${own.map(option)}</optgroup>` : own.map(option)));
  return html`<label title=${help}>${label} <select name=${name}
    @change=${(event) => change?.(event.target.value)}>${groups}</select></label>`;
}

export const tick = (label, name, isTicked, change = null) => html`<label class="tick"><input type="checkbox"
  name=${name} value="1" .checked=${isTicked} @change=${change}> ${label}</label>`;

// A field of text; `size` is its width in characters, Infinity for one that is as wide as the form.
export function field(label, name, value, { placeholder, size, help, mode } = {}) {
  const isLong = size === Infinity;
  return html`<label class=${isLong ? "long" : null} title=${help}>${label} <input name=${name}
    value=${value ?? ""} placeholder=${placeholder} size=${isLong ? null : size} inputmode=${mode}
    spellcheck="false"></label>`;
}

// Relations; subtypes stand below theirs. `of` are rows with the numbers of dependents in a run. Those of the bank
// are the same if the run is over all of its one corpus.
export function relationBox({ bank }, chosen, { label = "Relation", none, of = [], run, ...options } = {}) {
  const isWhole = bank.corpora.length === 1 && bank.corpora[0].sentences === run?.sentences;
  const numbers = new Map(isWhole ? bank.relations.filter(({ n }) => n).map(({ name, n }) => [name, n]) : []);
  for (const { relation, n } of of) numbers.set(relation, Math.max(n, numbers.get(relation) ?? 0));
  const title = ({ name }) => (/[:$@]/.test(name) ? "\u2003" : "") + name
    + (numbers.has(name) ? ` (${thousands(numbers.get(name))})` : "");
  const relations = bank.relations.map((relation) => [relation.name, title(relation)]);
  return choice(label, "relation", none ? [["", none], ...relations] : relations, chosen, options);
}

export function directionBox({ bank }, chosen, { run = bank, ...options } = {}) {
  const choices = run.directions.map((name) => [name, inWords(name)]);
  return choice("Direction", "direction", choices, chosen, options);
}

// The choice of a measure of a run, and of its relation and direction; `none` is the title of no measure.
export function measureBoxes(context, { by, relation, direction }, none = null) {
  const measures = [...context.bank.measures].filter(([key]) => !key.startsWith("probe"))
    .map(([key, { title }]) => [key, title]);
  const { has_relation: hasRelation, has_direction: hasDirection } = context.bank.measures.get(by) ?? {};
  return html`${choice(none ? "Colour" : "Measure", "by", none ? [["", none], ...measures] : measures, by)}
    ${hasRelation ? relationBox(context, relation) : null}
    ${hasDirection ? directionBox(context, direction) : null}`;
}

// A name with spaces: dependent to head.
export const inWords = (name) => name.replaceAll("_", " ");

let areOptionsOpen = false;

// Fields that few need; once they are unfolded, they stay so.
export const moreOptions = (fields) => html`<details class="options" .open=${areOptionsOpen}>
  <summary @click=${({ target }) => { areOptionsOpen = !target.parentElement.open; }}>Options</summary>
  <div>${fields}</div></details>`;

export function faultBox(error) {
  if (!error) return null;
  const lines = [error.fact, error.remedy].filter(Boolean);
  return html`<div class="fault" role="alert">${lines.map((line) => html`<p>${line}</p>`)}</div>`;
}

// What is said of each of some things: pairs of texts.
export const definitions = (pairs) => html`<dl>${pairs.map(([what, text]) => (
  html`<dt>${what}</dt><dd>${text}</dd>`))}</dl>`;

export const note = (text) => html`<p class="note">${text}</p>`;

export const hint = (content) => html`<p class="hint">${content}</p>`;

export function button(label, click, kind = "plain") {
  return html`<button type="button" class=${kind} @click=${click}>${label}</button>`;
}

export const runLine = (run) => (run ? html`<p class="run">Run: <bdi>${run}</bdi></p>` : null);

// What may be wider than the screen, and is scrolled then.
export const wide = (label, content) => html`<div class="wide" tabindex="0" role="region"
  aria-label=${label}>${content}</div>`;

// What a published page offers before it has loaded DuckDB, and why that failed.
export const showSentences = (app) => html`${faultBox(app.lost)}
  <p>${button("Show sentences", () => app.loadBank(), "load")}</p>
  ${hint("This loads DuckDB (9 MB), and reads parts of the bank.")}`;
