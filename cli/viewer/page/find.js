// Finds sentences by a request in Grew's language: a concordance of its hits, or counts by keys.
import { columnsAsText, frameOf, heightOf, rowsOf } from "./cells.js";
import { command, literal, shell } from "./commands.js";
import { thousands } from "./context.js";
import { html, render } from "./dom.js";
import { Fault } from "./fault.js";
import { choice, faultBox, moreOptions, runBox, runLine, tick } from "./forms.js";
import { gridOf } from "./grids.js";
import { hitOf } from "./head.js";
import { highest, valuesOf } from "./measures.js";
import { headline } from "./profile.js";
import { pages, table } from "./tables.js";

const MOST_HITS = 10_000;
const AROUND = 10; // words left and right of a hit
const MOST_COLUMNS = 12; // of a cross table
const REQUEST = "pattern { V -[obj]-> O }";

export async function findView(context) {
  const { bank, given } = context;
  const request = context.text("pattern").trim();
  const by = context.text("by").trim();
  const limit = context.number("limit", 50, 1, 500);
  const sample = context.flag("sample") && !by ? limit : null;
  const heads = by ? "" : context.text("head").trim();
  const corpus = context.text("corpus") || null;
  const view = {};
  let answer = null;
  if (request) {
    try {
      answer = by ? await counts(context, { request, by, corpus, run: context.run })
        : await hits(context, { request, corpus, run: context.run, heads, sample }, limit);
      view.frame = answer.frame;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      view.error = error;
    }
    view.command = command(context, `${by ? "count" : "find"} ${shell(request)}`, {
      by, head: answer?.isOfHeads ? heads : null, run: answer?.run, corpus, limit: answer?.frame.isCut ? MOST_HITS : null, sample,
    });
  }
  const corpora = bank.corpora.map((known) => known.name);
  const examples = [...bank.saved.map(({ name, request: saved }) => [name, saved]), ...bank.examples.map((example) => [null, example])];
  return {
    ...view,
    after: (main) => answer?.after?.(main),
    content: html`<form class="search">
        <label class="long">Request <textarea name="pattern" rows="3" spellcheck="false" placeholder=${REQUEST} .value=${given.pattern ?? ""} @input=${(event) => typing(context, event.target)}></textarea></label>
        <p class="completions" aria-live="polite"></p>
        <label>Count by <input name="by" value=${by} placeholder="V.lemma, O.upos" spellcheck="false"></label>
        ${corpora.length > 1 ? choice("Corpus", "corpus", [["", "all"], ...corpora.map((name) => [name, name])], given.corpus ?? "") : null}
        ${moreOptions(context, ["run", "head", "limit", "sample"], html`
        ${runBox(context, context.run)}
        <label>Show attention of heads <input name="head" value=${given.head ?? ""} placeholder="3-1,5-10" size="10"></label>
        <label>Hits per page <input name="limit" value=${limit} inputmode="numeric" size="4"></label>
        ${tick("random sample", "sample", context.flag("sample"))}`)}<button>Search</button></form>
      ${faultBox(view.error)}
      ${examples.length ? html`<details .open=${!request}><summary>Example requests</summary><ul>${examples.map(([name, example]) => html`<li>${name ? `${name}: ` : ""}<a href=${context.link("/sentences", { pattern: example })}><code>${example}</code></a></li>`)}</ul></details>` : null}
      ${request ? null : html`<p>Requests use Grew syntax. <a href=${context.link("/sentences", { pattern: REQUEST, run: context.run })}><code>${REQUEST}</code></a>: verbs and their objects.
        <code>pattern { V -[obj]-> O; O =[3-1]=> V }</code>: only objects whose strongest attention from head 3-1 goes to the verb.
        <i>Count by</i> a key (<code>O.upos</code>) counts the hits; two keys (<code>V.lemma, O.upos</code>) give a cross table.</p>`}
      ${runLine(answer?.run)}
      ${answer?.content}`,
  };
}

const PAUSE = 700; // milliseconds after which a request is answered without being sent off
let pending = null;

// Offer what may follow, and answer the request after a pause.
function typing(context, textarea) {
  clearTimeout(pending);
  render(completions(context.bank, textarea), textarea.form.querySelector(".completions"));
  if (!context.connector.isServer) return; // elsewhere the compiler is 11 MB
  pending = setTimeout(() => {
    const values = Object.fromEntries(new FormData(textarea.form));
    if (textarea.isConnected && isWhole(values.pattern)) context.app.places.replace(context.link("/sentences", values));
  }, PAUSE);
}

// Whether each bracket is closed: an unfinished request is not a wrong one.
const isWhole = (request) => /^\s*(pattern|global)\b/.test(request) && ["{}", "[]"].every(([open, close]) => request.split(open).length === request.split(close).length);

const FEATURES = ["upos", "lemma", "form", "xpos", "feats"];
const UPOS = ["ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"];

// The names that the word before the cursor may become: relations in -[ ]->, features in [ ].
function completions(bank, textarea) {
  const before = textarea.value.slice(0, textarea.selectionStart);
  const [, opening, list, begun] = /(-\[|\[|upos\s*=\s*)([^\]]*?[|,^]\s*)?([\w:]*)$/.exec(before) ?? [];
  if (opening === undefined || (list ?? "").includes("]")) return null;
  const names = opening === "-[" ? bank.relations.filter((name) => name !== "all") : opening === "[" ? FEATURES : UPOS;
  const fitting = names.filter((name) => name.startsWith(begun) && name !== begun).slice(0, 12);
  const complete = (name) => {
    textarea.setRangeText(name, before.length - begun.length, before.length, "end");
    textarea.focus();
    textarea.dispatchEvent(new Event("input", { bubbles: true }));
  };
  return fitting.map((name) => html`<button type="button" class="plain" @click=${() => complete(name)}>${name}</button> `);
}

async function hits(context, options, limit) {
  const matches = await context.connector.hits({ ...options, most: MOST_HITS + 1 });
  const isCut = heightOf(matches) > MOST_HITS;
  const all = rowsOf(matches).slice(0, MOST_HITS);
  const columns = matches.columns.filter(({ name }) => name !== "sentence");
  const frame = { columns, values: columns.map(({ name }) => all.map((row) => row[name])), isCut };
  const paging = context.paging(all.length, { size: limit, more: isCut });
  const rows = all.slice(Math.max(0, paging.first - 1), paging.last);
  const lines = await concordance(context, rows.map((row) => partsOf(row, matches.nodes)), AROUND);
  const keys = columns.filter(({ name }) => !["sent_id", "run", ...matches.nodes, ...matches.nodes.map((node) => `${node}.sentence`)].includes(name));
  const cells = columnsAsText(frameOf(rows, keys.map(({ name, kind }) => [name, kind])));
  const unread = new Set(matches.unread);
  const unreadHere = rows.filter((row) => unread.has(row.sentence)).length;
  const href = (row) => context.link("/sentence", {
    coreference: /~/.test(options.request) ? 1 : null, sentence: row.sentence, hit: hitOf(row.sentence, matches.nodes.map((node) => row[node])), pattern: options.request, run: context.run, head: context.text("head"),
  });
  const count = options.sample && rows.length ? `${rows.length} ${plural(rows.length)}, a random sample.`
    : isCut ? `More than ${thousands(all.length)} hits; these pages show the first of them; attnbank find prints all.`
      : `${thousands(all.length)} ${plural(all.length)}.`;
  const number = (column) => (column.is_number ? "number" : null);
  const hasScores = rows.length > 0 && matches.nodes.length > 1;
  return {
    run: matches.run, frame, isOfHeads: matches.isOfHeads,
    after: hasScores ? (main) => showScores(context, options, matches.nodes, main.querySelector(".scores")) : null,
    content: html`<p>${count}</p>
      ${matches.isOfHeads ? html`<p>Only sentences that this run has read are listed, with the weights of the heads.</p>` : null}
      ${unreadHere ? html`<p>${`${unreadHere} of the ${rows.length} hits shown are in sentences that the run ${matches.shown} has not read: there is no attention to show in them.`}</p>` : null}
      <div class="hits"><div>${rows.length ? html`<div class="wide" tabindex="0" role="region" aria-label="Hits"><table class="concordance"><caption>Hits</caption>
        <thead><tr><th scope="col">sentence</th><th scope="col" class="left">left</th><th scope="col">hit</th><th scope="col">right</th>${cells.map((column) => html`<th scope="col" class=${number(column)}>${column.name}</th>`)}</tr></thead>
        <tbody>${rows.map((row, at) => html`<tr class=${unread.has(row.sentence) ? "unread" : null} title=${unread.has(row.sentence) ? "The run has not read this sentence" : null}>
          <td><a href=${href(row)}><bdi>${row.sent_id ?? "no name"}</bdi></a></td><td class="left"><bdi>${lines[at].left}</bdi></td><td class="hit"><bdi>${lines[at].hit}</bdi></td><td><bdi>${lines[at].right}</bdi></td>
          ${cells.map((column) => html`<td class=${number(column)}><bdi>${column.cells[at]}</bdi></td>`)}</tr>`)}</tbody></table></div>
        ${pages(paging, "Hits", "the hits")}` : null}</div>
        ${hasScores ? html`<section class="scores" aria-live="polite"></section>` : null}</div>`,
  };
}

// Which heads find the pairs of words of a request: all heads from the second node to the first, and
// where the chosen one finds them and misses them.
async function showScores(context, options, nodes, section) {
  const { bank, connector } = context;
  const { request } = options;
  const [governor, dependent] = nodes;
  const state = { by: "request", request, dependent, governor, direction: bank.directions[0], run: context.run };
  const toAtlas = (changes) => context.link("/", { ...state, ...changes });
  const draw = (content) => {
    if (section.isConnected) render(html`<h2>Which heads find these pairs?</h2>${content}`, section);
  };
  const choose = (run, grid, head) => draw(html`
    ${grid.notes.map((note) => html`<p class="note">${note}</p>`)}
    <p class="headline">${headline(head, grid.rows.get(head), { what: `pairs from ${dependent} to ${governor}` })}</p>
    <p>${foundAndMissed(state, head, (pattern) => context.link("/sentences", { pattern, head, run: context.run }))}</p>
    ${gridOf(run, grid.values, { ends: grid.ends, isShare: true, caption: `Accuracy from ${dependent} to ${governor}`, chosen: head, to: (name) => toAtlas({ head: name }) })}
    <p class="hint"><a href=${toAtlas({ head })}>In the atlas</a> · <a href=${toAtlas({ dependent: governor, governor: dependent })}>from ${governor} to ${dependent}</a></p>`);
  if (!connector.isServer && !section.dataset.asked) { // there it takes the compiler, and all peaks of the run
    const ask = () => {
      section.dataset.asked = "yes";
      return showScores(context, options, nodes, section);
    };
    draw(html`<p><button type="button" class="load" @click=${ask}>Score all heads</button></p><p class="hint">This loads Python (11 MB), and reads a large part of the bank.</p>`);
    return;
  }
  draw(html`<p class="hint">Scoring all heads…</p>`);
  try {
    const run = context.runOf(context.run, bank.defaults.best_head ?? bank.shown);
    if (!run) throw new Fault("The bank has no run.");
    const grid = await valuesOf(bank, run, state);
    const best = highest(grid.values);
    if (best === null) throw new Fault("No pair of words is in the texts of this run.");
    choose(run, grid, best);
    section.addEventListener("click", (event) => {
      const head = event.target.closest("[data-head]")?.dataset.head;
      if (!grid.rows.has(head) || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      choose(run, grid, head);
    });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    draw(html`<p class="hint">${error.fact} ${error.remedy}</p>`);
  }
}

// Links to the sentences in which a head finds the pairs of a request, and to those where it misses them.
export function foundAndMissed({ request, dependent, governor }, head, link) {
  const edge = `${dependent} =[${head}]=> ${governor}`;
  return html`<a href=${link(`${request} with { ${edge} }`)}>Sentences where it finds them</a> · <a href=${link(`${request} without { ${edge} }`)}>where it misses them</a>`;
}

const plural = (count) => (count === 1 ? "hit" : "hits");

// The words of a hit, by sentence: nodes may be in several.
function partsOf(row, nodes) {
  const words = new Map([[row.sentence, []]]);
  for (const node of nodes) {
    if (!row[node]) continue;
    const sentence = row[`${node}.sentence`] ?? row.sentence;
    words.set(sentence, [...(words.get(sentence) ?? []), row[node]]);
  }
  const parts = [...words].filter(([, indexes]) => indexes.length);
  return (parts.length ? parts : [[row.sentence, []]]).sort(([a], [b]) => a - b);
}

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

// Whether a text runs from right to left, by its first letter.
function isRightToLeft(text) {
  const first = [...text].find((character) => /\p{L}/u.test(character));
  return first !== undefined && RIGHT_TO_LEFT.test(first);
}

// Each hit with what stands left and right of it on the page.
async function concordance(context, hits, width) {
  if (!hits.length) return [];
  const sentences = new Map();
  for (const { sentence, index, last_index: last, form, space_after: space } of await context.connector.words([...new Set(hits.flatMap((parts) => parts.map(([number]) => number)))])) {
    if (!sentences.has(sentence)) sentences.set(sentence, { words: [], places: new Map() });
    const { words, places } = sentences.get(sentence);
    words.push([form, space]);
    for (let at = index; at <= last; at++) places.set(at, words.length);
  }
  const text = (words) => words.map(([form, space]) => form + (space ? " " : "")).join("").trim();
  const split = ([sentence, indexes]) => {
    const { words, places } = sentences.get(sentence) ?? { words: [], places: new Map() };
    if (!indexes.length) return ["", text(words), ""];
    const marked = new Set(indexes.map((index) => places.get(index)));
    const [first, last] = [Math.min(...marked), Math.max(...marked)];
    const hit = words.slice(first - 1, last).map(([form, space], at) => [marked.has(first + at) ? `[${form}]` : form, space]);
    return [text(words.slice(Math.max(0, first - 1 - width), first - 1)), text(hit), text(words.slice(last, last + width))];
  };
  return hits.map((parts) => {
    const contexts = parts.map(split);
    const hit = contexts.map(([, middle]) => middle).join(" … ");
    const [before, after] = [contexts[0][0], contexts.at(-1)[2]];
    return isRightToLeft(hit) ? { left: after, hit, right: before } : { left: before, hit, right: after };
  });
}

async function counts(context, options) {
  const frame = await context.connector.counts(options);
  const names = frame.columns.map((column) => column.name).filter((name) => !["n", "share", "run"].includes(name));
  const rows = rowsOf(frame);
  const crosses = names.length === 2 && new Set(rows.map((row) => row[names[1]])).size <= MOST_COLUMNS;
  const requests = new Map(rows.map((row, at) => [literal(Object.values(row)), frame.requests?.[at]]));
  const toHits = (row) => {
    const request = requests.get(literal(Object.values(row)));
    return request ? context.link("/sentences", { pattern: request, run: context.run, corpus: context.text("corpus") }) : null;
  };
  return {
    run: frame.run, frame,
    content: crosses ? table(context, crossed(rows, names, frame.columns), "Counts") : table(context, frame, "Counts", { links: { n: toHits } }),
  };
}

// A cross table: the values of one key below, of the other side by side, both by their sums.
function crossed(rows, [down, across], columns) {
  const sums = (key) => {
    const totals = new Map();
    for (const row of rows) totals.set(row[key], (totals.get(row[key]) ?? 0) + row.n);
    return [...totals];
  };
  const compare = (one, other) => (one === other ? 0 : one === null ? 1 : other === null ? -1 : one < other ? -1 : 1);
  const values = sums(across).sort(([one, n], [other, m]) => m - n || -compare(one, other)).map(([value]) => value);
  const name = (value) => (value === null ? "none" : value === "true" || value === true ? "yes" : value === "false" || value === false ? "no" : String(value));
  const cells = new Map(rows.map((row) => [literal([row[down], row[across]]), row.n]));
  const lines = sums(down).sort(([, n], [, m]) => m - n);
  return {
    columns: [columns.find((column) => column.name === down), ...values.map((value) => ({ name: `${across}=${name(value)}`, kind: "integer" })), { name: "n", kind: "integer" }],
    values: [
      lines.map(([value]) => value),
      ...values.map((value) => lines.map(([line]) => cells.get(literal([line, value])) ?? 0)),
      lines.map(([, n]) => n),
    ],
  };
}
