// Finds sentences by a request in Grew's language: a concordance of its hits, or counts by keys.
import { columnsAsText, compared, Frame, groupBy } from "./cells.js";
import { command, literal, shell } from "./commands.js";
import { thousands } from "./context.js";
import { html, render } from "./dom.js";
import { examplesOfBothKinds, judgedLines, widthIn } from "./examples.js";
import { attempt, Fault } from "./fault.js";
import { button, choice, faultBox, field, hint, moreOptions, note, runBox, runLine, tick, wide } from "./forms.js";
import { gridOf } from "./grids.js";
import { addBestScore, highest, valuesOf } from "./measures.js";
import { headline } from "./profile.js";
import { numberClass, pages, table } from "./tables.js";

const MOST_HITS = 10_000;
const EXAMPLES = 3; // of what a head finds of a request, and of what it misses
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
  const options = { request, corpus, run: context.run };
  const [answer, fault] = request ? await attempt(() => (
    by ? counts(context, { ...options, by }) : hits(context, { ...options, heads, sample }, limit))) : [];
  const corpora = bank.corpora.map(({ name }) => name);
  const toObjects = context.link("/sentences", { pattern: REQUEST, run: context.run });
  return {
    frame: answer?.frame, after: answer?.after,
    command: request && command(context, `${by ? "count" : "find"} ${shell(request)}`, {
      by, head: answer?.isOfHeads ? heads : null, run: answer?.run, corpus,
      limit: answer?.isCut ? MOST_HITS : null, sample,
    }),
    content: html`<form>
        <label class="long">Request <textarea name="pattern" rows="2" spellcheck="false"
          placeholder=${REQUEST} .value=${given.pattern ?? ""}
          @input=${({ target }) => typing(context, target)}></textarea></label>
        ${field("Count by", "by", by, { placeholder: "V.lemma, O.upos" })}
        <button>Search</button>
        <p class="completions" aria-live="polite"></p>
        ${moreOptions(html`
          ${corpora.length > 1 ? choice("Corpus", "corpus", [["", "all"], ...corpora], corpus ?? "") : null}
          ${runBox(context, context.run)}
          ${field("Show attention of heads", "head", given.head, { placeholder: "3-1,5-10", size: 10 })}
          ${field("Hits per page", "limit", limit, { size: 4, mode: "numeric" })}
          ${tick("random sample", "sample", context.flag("sample"))}`)}</form>
      ${faultBox(fault)}
      ${answer?.content}
      ${runLine(answer?.run)}
      ${request ? null : html`<p>Requests use Grew syntax. <a href=${toObjects}><code>${REQUEST}</code></a>:
        verbs and their objects. <code>pattern { V -[obj]-> O; O =[3-1]=> V }</code>: only objects whose
        strongest attention from head 3-1 goes to the verb. <i>Count by</i> a key (<code>O.upos</code>) counts
        the hits; two keys (<code>V.lemma, O.upos</code>) give a cross table.</p>`}
      ${exampleRequests(context, !request)}`,
  };
}

// The saved relations of the bank, and other requests to begin with.
function exampleRequests(context, isOpen) {
  const { saved, examples: others } = context.bank;
  const all = [...saved, ...others.map((request) => ({ request }))];
  const item = ({ name, request }) => html`<li>${name ? `${name}: ` : ""}
    <a href=${context.link("/sentences", { pattern: request })}><code>${request}</code></a></li>`;
  return all.length ? html`<details class="parameters" .open=${isOpen}><summary>Example requests</summary>
    <ul>${all.map(item)}</ul></details>` : null;
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
    const isReady = textarea.isConnected && isWhole(values.pattern);
    if (isReady) context.app.places.replace(context.link("/sentences", values));
  }, PAUSE);
}

// Whether each bracket is closed: an unfinished request is not a wrong one.
const isWhole = (request) => /^\s*(pattern|global)\b/.test(request) && ["{}", "[]"].every(
  ([open, close]) => request.split(open).length === request.split(close).length,
);

const FEATURES = ["upos", "lemma", "form", "xpos", "feats"].map((name) => ({ name }));

// The names that the word before the cursor may become: relations in -[ ]->, features in [ ].
function completions(bank, textarea) {
  const before = textarea.value.slice(0, textarea.selectionStart);
  const place = /(-\[|\[|upos\s*=\s*)([^\]]*?[|,^]\s*)?([\w:]*)$/.exec(before);
  if (!place || place[2]?.includes("]")) return null;
  const [, opening, , begun] = place;
  const names = opening === "-[" ? bank.relations.filter(({ n }) => n) : opening === "[" ? FEATURES : bank.upos;
  const complete = (name) => {
    textarea.setRangeText(name, before.length - begun.length, before.length, "end");
    textarea.focus();
    textarea.dispatchEvent(new Event("input", { bubbles: true }));
  };
  return names.filter(({ name }) => name.startsWith(begun) && name !== begun).slice(0, 12)
    .map(({ name, n }) => html`${button(n ? `${name} (${thousands(n)})` : name, () => complete(name))} `);
}

async function hits(context, options, limit) {
  const question = { ...options, most: MOST_HITS + 1 };
  const matches = await context.connector.frame("/hits.json", question);
  const { nodes, pair, is_of_heads: isOfHeads, is_circular: isCircular } = matches;
  matches.notes.forEach((text) => context.note(text));
  const all = Object.assign(matches.slice(0, MOST_HITS), { is_cut: matches.height > MOST_HITS });
  const paging = context.paging(all.height, { size: limit, more: all.is_cut });
  const page = all.slice(paging.from, paging.to);
  const { rows } = page;
  const inContext = (from, to) => context.connector.get("/concordance.json", { ...question, from, to });
  const lines = await inContext(paging.from, paging.to);
  const named = ["sent_id", "sentence", "run", ...nodes];
  const isCell = ({ name }) => !named.includes(name);
  const cells = columnsAsText(page.select(isCell));
  const unread = new Set(matches.unread);
  const unreadHere = rows.filter((row) => unread.has(row.sentence)).length;
  const href = (row) => {
    const words = [...new Set(nodes.map((node) => row[node]).filter(Boolean))].sort((a, b) => a - b).join();
    return context.link("/sentence", {
      coreference: options.request.includes("~"), sentence: row.sentence, hit: words && `${row.sentence}:${words}`,
      pattern: options.request, run: context.run, head: context.text("head"),
    });
  };
  const number = thousands(all.height);
  const hasPairs = rows.length > 0 && pair;
  const hasScores = hasPairs && !isCircular;
  const row = (own, at) => {
    const isUnread = unread.has(own.sentence);
    return html`<tr class=${isUnread ? "unread" : null}
      title=${isUnread ? "The run has not read this sentence" : null}>
      <td><a href=${href(own)}><bdi>${own.sent_id ?? "no name"}</bdi></a></td>
      <td class="left"><bdi>${lines[at].left}</bdi></td><td class="hit"><bdi>${lines[at].hit}</bdi></td>
      <td><bdi>${lines[at].right}</bdi></td>
      ${cells.map((column) => html`<td class=${numberClass(column)}><bdi>${column.cells[at]}</bdi></td>`)}</tr>`;
  };
  const headings = [["sentence"], ["left", "left"], ["hit"], ["right"],
    ...cells.map((column) => [column.name, numberClass(column)])];
  const heading = ([name, kind]) => html`<th scope="col" class=${kind}>${name}</th>`;
  const notes = [
    options.sample && rows.length ? `${rows.length} ${plural(rows.length)}, a random sample.`
      : all.is_cut ? `More than ${number} hits; these pages show the first of them; attnbank find prints all.`
        : `${number} ${plural(all.height)}.`,
    hasPairs && isCircular && "Heads cannot be judged on these pairs: the request chose them by attention.",
    isOfHeads && "Only sentences that this run has read are listed, with the weights of the heads.",
    unreadHere > 0 && `${unreadHere} of the ${rows.length} hits shown are in sentences that the run`
      + ` ${matches.shown} has not read: there is no attention to show in them.`,
  ];
  return {
    run: matches.run, isOfHeads, isCut: all.is_cut,
    frame: async () => { // as on the page, with the forms of the nodes
      const allLines = await inContext(0, all.height);
      const texts = ["sent_id", "left", "hit", "right", ...nodes].map((name) => [name, "text"]);
      const others = all.columns.filter(isCell).map(({ name, kind }) => [name, kind]);
      const lineOf = (row, { forms, ...line }) => (
        { ...row, ...line, ...Object.fromEntries(nodes.map((node, at) => [node, forms[at]])) });
      return Frame.of(all.rows.map((row, at) => lineOf(row, allLines[at])), [...texts, ...others]);
    },
    after: hasScores ? (main) => showScores(context, options, pair, main.querySelector(".scores")) : null,
    content: html`${notes.filter(Boolean).map((text) => html`<p>${text}</p>`)}
      <div class="hits"><div>${rows.length ? html`${wide("Hits", html`<table class="concordance">
          <caption>Hits</caption><thead><tr>${headings.map(heading)}</tr></thead>
          <tbody>${rows.map(row)}</tbody></table>`)}
        ${pages(paging, "Hits", "the hits")}` : null}</div>
        ${hasScores ? html`<section class="scores" aria-live="polite"></section>` : null}</div>`,
  };
}

// Which heads find the pairs of words of a request, and where the chosen one finds them and misses them.
async function showScores(context, options, pair, section, mayLoad = context.connector.isServer) {
  const { bank } = context;
  const [dependent, governor] = pair;
  const direction = bank.directions[0];
  const state = { by: "request", request: options.request, dependent, governor, direction, run: context.run };
  const draw = (content) => {
    if (section.isConnected) render(html`<h2>Which heads find these pairs?</h2>${content}`, section);
  };
  draw(hint("Scoring all heads…"));
  const [scores, fault] = await attempt(async () => {
    const run = context.runOf(context.run, bank.defaults.best_head ?? bank.shown);
    if (!run) throw new Fault("The bank has no run.");
    const grid = await valuesOf(bank, run, state, { mayLoad });
    const best = highest(grid.values);
    if (best === null) throw new Fault("No pair of words is in the texts of this run.");
    return { run, grid, best };
  });
  if (fault && !mayLoad) {
    const ask = () => showScores(context, options, pair, section, true);
    return draw(html`<p>${button("Score all heads", ask, "load")}</p>
      ${hint("This loads Python (11 MB), and reads a large part of the bank.")}`);
  }
  if (fault) return draw(hint(fault.text));
  const { run, grid, best } = scores;
  const toAtlas = (changes) => context.link("/", { ...state, ...changes });
  const back = toAtlas({ dependent: governor, governor: dependent });
  const toHits = (pattern, head) => context.link("/sentences", { pattern, head, run: context.run });
  let chosen = best;
  const show = (head, examples) => draw(html`
    ${grid.frame.notes.map(note)}
    <p class="headline">${headline(head, grid.rows.get(head), `pairs from ${dependent} to ${governor}`)}</p>
    ${gridOf(run, grid.values, {
      ends: grid.ends, isShare: true, caption: `Accuracy from ${dependent} to ${governor}`, chosen: head,
      to: (name) => toAtlas({ head: name }), on: { click },
    })}
    ${hint(html`<a href=${toAtlas({ head })}>In the atlas</a> ·
      <a href=${back}>from ${governor} to ${dependent}</a>`)}
    ${examples && examplesOfBothKinds(examples, context.app.places.link, run, head, widthIn(section),
      (kind) => toHits(examples.patternOf(kind), head))}`);
  const click = (event) => {
    const head = event.target.closest("[data-head]")?.dataset.head;
    if (!grid.rows.has(head) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    choose(head);
  };
  const choose = async (head) => {
    chosen = head;
    show(head, null);
    const [examples] = await attempt(() => examplesOfRequest(context, run, state, head, grid.rows.get(head)));
    if (chosen === head) show(head, examples);
  };
  choose(best);
  if (await addBestScore(bank, run, state, grid)) choose(chosen);
}

// Pairs of a request that a head finds, and that it misses, of words in one sentence; and the requests for all of
// them. A request can say this only from the dependent, and a published page would load Python for it.
export async function examplesOfRequest({ bank, connector }, run, state, head, row) {
  const { request, dependent, governor, direction } = state;
  const isOfDependent = direction === bank.directions[0];
  const narrowed = (kind) => (
    `${request} ${kind === "right" ? "with" : "without"} { ${dependent} =[${head}]=> ${governor} }`);
  const hits = await Promise.all((isOfDependent && connector.isServer ? ["right", "wrong"] : []).map(async (breakdown) => {
    const given = { request: narrowed(breakdown), run: run.name, sample: EXAMPLES };
    const { rows } = await connector.frame("/hits.json", given);
    return rows.map((hit) => ({ ...hit, breakdown, dependent: hit[dependent], gold: hit[governor] }));
  }));
  const right = Math.round(row.accuracy * row.n);
  return {
    lines: await judgedLines(connector, run, head, { direction }, hits.flat()), direction,
    total: row.n, counts: { right, wrong: row.n - right }, patternOf: (kind) => (isOfDependent ? narrowed(kind) : null),
  };
}

const plural = (count) => (count === 1 ? "hit" : "hits");

async function counts(context, options) {
  const frame = await context.connector.frame("/counts.json", options);
  frame.notes.forEach((text) => context.note(text));
  const keys = frame.columns.map(({ name }) => name).filter((name) => !["n", "share", "run"].includes(name));
  const { rows } = frame;
  const crosses = keys.length === 2 && new Set(rows.map((row) => row[keys[1]])).size <= MOST_COLUMNS;
  const requests = new Map(rows.map((row, at) => [literal(Object.values(row)), frame.requests?.[at]]));
  const toHits = (row) => {
    const pattern = requests.get(literal(Object.values(row)));
    return pattern && context.link("/sentences", { pattern, run: context.run, corpus: options.corpus });
  };
  const shown = crosses ? crossed(frame, keys) : frame;
  return {
    run: frame.run, frame: shown, isCut: frame.is_cut,
    content: table(context, shown, "Counts", { links: crosses ? {} : { n: toHits } }),
  };
}

// A cross table: the values of one key below, of the other side by side, both by their sums.
function crossed({ rows, columns }, [down, across]) {
  const sums = (key) => [...groupBy(rows, (row) => row[key])]
    .map(([value, own]) => ({ value, n: own.reduce((sum, row) => sum + row.n, 0), own }));
  const side = sums(across).sort((one, other) => other.n - one.n || compared(other.value, one.value))
    .map(({ value }) => value);
  const titles = new Map([[null, "none"], ["true", "yes"], [true, "yes"], ["false", "no"], [false, "no"]]);
  const titleOf = (value) => `${across}=${titles.get(value) ?? value}`;
  const lines = sums(down).sort((one, other) => other.n - one.n).map(({ value: line, n, own }) => {
    const cell = (value) => own.find((row) => row[across] === value)?.n ?? 0;
    return { [down]: line, ...Object.fromEntries(side.map((value) => [titleOf(value), cell(value)])), n };
  });
  const { kind } = columns.find(({ name }) => name === down);
  const numbers = [...side.map(titleOf), "n"].map((name) => [name, "integer"]);
  return Frame.of(lines, [[down, kind], ...numbers]);
}
