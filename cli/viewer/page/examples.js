// Where a head is right and wrong: examples as lines of words, and bars by what the dependent is, and
// by what the head finds instead.
import { arcLine, judge, KEY } from "./arcs.js";
import { Frame } from "./cells.js";
import { thousands } from "./context.js";
import { html, repeat, svg } from "./dom.js";
import { Fault } from "./fault.js";
import { inWords, runLine } from "./forms.js";
import { checkHead, pairOf, percent } from "./measures.js";
import { pages } from "./tables.js";

// Examples of a kind: each of a published bank takes reading a part of it.
const ON_A_PAGE = { server: 50, published: 10 };
const BREAKDOWNS = ["right", "wrong", "relation", "upos", "distance"];
const COLUMNS = [
  ["sent_id", "text"], ["index", "integer"], ["dependent", "text"], ["gold_index", "integer"],
  ["gold_head", "text"], ["found_index", "integer"], ["found", "text"], ["is_right", "boolean"],
];

// Examples of what a head gets right and wrong for { relation, direction }, up to `most` of each; its
// errors by what it finds instead; and how often it is right by what the dependent is.
export async function examplesOf(connector, run, head, of, most) {
  const rows = await connector.get(`/examples/${run.id}/${head}.json`, { ...of, most });
  const isExample = (row) => row.breakdown === "right" || row.breakdown === "wrong";
  const isOfDependent = (row) => row.breakdown.startsWith("of ");
  const lines = await judgedLines(connector, run, head, of, rows.filter(isExample));
  const { dependents: total = 0, errors: wrong = 0 } = rows[0] ?? {};
  return {
    ...of, lines, dependents: rows.filter(isOfDependent),
    errors: rows.filter((row) => !isExample(row) && !isOfDependent(row)), total,
    counts: { right: total - wrong, wrong },
  };
}

// Sentences in which a head attends most as a measure says, as examples without a judged dependent.
export async function strongestOf(connector, run, head, measure, most) {
  const rows = await connector.get(`/strongest/${run.id}/${head}.json`, { measure, most });
  const sentences = await sentencesOf(connector, run, head, rows.map(({ sentence }) => sentence));
  return rows.map((row) => ({ ...row, record: sentences.get(row.sentence) }));
}

// They are lines of words; what goes to a special token stands below each word, in per cent.
export function strongestList(lines, link, run, head, width, target) {
  const isTarget = { cls: (position) => position === 0, first: (position) => position === 0, sep: Boolean }[target];
  return html`<ul class="examples">${lines.map(({ sentence, sent_id: name, share, record }) => html`<li>
    <a class="where" title=${`${name}: ${percent(share)} of the attention in its input`}
      href=${link("/sentence", { sentence, head, run: run.name })}>${arcLine(record, sentence, null, width, isTarget)}</a></li>`)}
    </ul><p class="key">Arcs: weights of 0.1 or more${isTarget ? "; below a word: its weight on the token, in per cent" : ""}.</p>`;
}

// Examples with what the head does in each.
export async function judgedLines(connector, run, head, { direction }, rows) {
  const sentences = await sentencesOf(connector, run, head, rows.map(({ sentence }) => sentence));
  return rows.map((row) => {
    const record = sentences.get(row.sentence);
    return { ...row, record, judged: judge(record, { ...row, direction }) };
  });
}

// Sentences in the inputs of a run by their ids, with the maps and peaks of a head.
export async function sentencesOf(connector, run, head, ids) {
  const sentences = [...new Set(ids)];
  const records = sentences.length
    ? await connector.get(`/sentences/${run.id}/${head}.json`, { sentences: sentences.join(",") }) : [];
  return new Map(records.map((record, at) => [sentences[at], record]));
}

// Examples as lines of words with their marks, each a link to its sentence.
export function exampleList(link, run, head, { relation, direction }, lines, width) {
  const key = (line) => `${line.sentence} ${line.dependent} ${line.breakdown}`;
  return html`<ul class="examples">${repeat(lines, key, (line) => {
    const { sentence, judged, record } = line;
    const described = judged.isRight ? "right" : `attends to ${line.value ?? "no word"} instead`;
    const of = { head, relation, direction, run: run.name, example: exampleOf(line) };
    return html`<li><a class="where" title=${line.sent_id} aria-label=${`${line.sent_id}: ${described}`}
      href=${link("/sentence", { sentence, ...of })}>${arcLine(record, sentence, judged, width)}</a></li>`;
  })}</ul>`;
}

// How many dependents only one of two heads finds, or both, or neither: a function of such kinds.
export function countsOf(changes) {
  const counts = new Map(changes.filter(({ n }) => n !== null).map(({ kind, n }) => [kind, n]));
  return (...kinds) => thousands(kinds.reduce((sum, kind) => sum + (counts.get(kind) ?? 0), 0));
}

// What a head finds and what it misses, with a link to all examples of each kind.
export function examplesOfBothKinds(examples, link, run, head, width, toAll) {
  const list = (kind, heading) => {
    const own = examples.lines.filter((line) => line.breakdown === kind);
    const [number, href] = [examples.counts[kind], toAll(kind)];
    const all = `all ${thousands(number)}`;
    return number ? html`<h3>${heading}: ${href ? html`<a href=${href}>${all}</a>` : all}</h3>
      ${exampleList(link, run, head, examples, own, width)}` : null;
  };
  return html`${KEY}${list("right", "Found")}${list("wrong", "Missed")}`;
}

// The width of an example in an element.
export const widthIn = (element, most = 620) => Math.max(300, Math.min(most, element.clientWidth - 30));

// The words of an example, as an address marks them.
export const exampleOf = ({ sentence, dependent, gold }) => `${sentence}:${dependent},${gold}`;

const MOST = 4; // bars of a kind

// The accuracy of a head by properties of the dependent.
export const dependentBars = (rows) => bars("How often it is right, by the dependent", rows, "right", [
  ["of order", "by its side"], ["of distance", "by its distance"], ["of upos", "by its part of speech"],
], (row) => ({
  kind: row.breakdown, share: row.share, label: `${percent(row.share)} of ${thousands(row.n)}`,
  title: `${row.correct} of ${row.n} found`,
}));

// The commonest wrong words of each kind.
export const errorBars = (rows, toExamples) => bars("What it finds instead", rows, "wrong", [
  ["relation", "by relation"], ["upos", "by part of speech"], ["distance", "by distance from the dependent"],
], (row) => ({
  kind: row.breakdown, share: row.share, label: thousands(row.n),
  title: `${row.n} errors, ${percent(row.share)} of all`, href: toExamples(row.breakdown, row.value),
}));

function bars(heading, rows, colour, kinds, barOf) {
  if (!rows.length) return null;
  const bar = ({ value, share, label, title, href }) => html`<div class="bar" title=${`${value}: ${title}`}>
    ${href ? html`<a href=${href}>${value}</a>` : html`<span>${value}</span>`}
    ${svg`<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class=${colour} width=${100 * share} height="10"></rect></svg>`}
    <span class="number">${label}</span></div>`;
  const all = rows.map((row) => ({ value: row.value, ...barOf(row) }));
  return html`<div><h3>${heading}</h3>
    <div class=${`bars ${colour}`}>${kinds.map(([kind, caption]) => html`<figure><figcaption>${caption}</figcaption>
      ${all.filter((row) => row.kind === kind).slice(0, MOST).map(bar)}</figure>`)}</div></div>`;
}

// All examples of one kind (right, wrong, or one kind of error), page by page.
export async function examplesView(context) {
  const { bank, connector } = context;
  const name = context.path.split("/")[2];
  const pair = pairOf(name);
  const breakdown = context.choice("breakdown", BREAKDOWNS);
  const value = context.text("value", "none");
  const relation = context.text("relation", "all");
  const direction = context.choice("direction", bank.directions);
  const of = { relation, direction };
  const run = context.runOf(context.run, bank.defaults.head_error);
  if (!run) throw new Fault(`The bank has no results for head ${name}.`);
  checkHead(run, pair);
  const most = connector.isServer ? ON_A_PAGE.server : ON_A_PAGE.published;
  const page = context.number("page", 1, 1, 1_000_000);
  const path = `/examples/${run.id}/${name}/page.json`;
  const pageOf = (number, size) => connector.get(path, { ...of, breakdown, value, most: size, page: number });
  const rows = await pageOf(page, most);
  const paging = context.paging(rows[0]?.total ?? 0, { size: most });
  const allRows = async () => Frame.of((await pageOf(1, paging.total)).map(({ value: found, ...row }) => ({
    ...row, found, index: row.dependent, gold_index: row.gold, found_index: row.target, dependent: row.dependent_form,
  })), COLUMNS);
  const kinds = rows.map((row) => ({ ...row, breakdown: row.is_right ? "right" : "wrong" }));
  const lines = await judgedLines(connector, run, name, of, kinds);
  const described = { right: "it finds the gold head", wrong: "it finds another word" }[breakdown]
    ?? `it finds another word, whose ${breakdown} is ${value}`;
  const toHead = context.link(`/head/${name}`, { run: run.name, ...of });
  return {
    title: `Head ${name}: ${relation}, ${breakdown}`, answered: run.name, frame: allRows,
    content: html`<p><a href=${toHead}>Head ${name}</a>: <bdi>${relation}</bdi>, ${inWords(direction)};
        ${described}</p>
      ${runLine(run.name)}
      ${lines.length ? html`${KEY}
        ${exampleList(context.app.places.link, run, name, of, lines, widthIn(context.app.main, 1240))}
        ${pages(paging, "Examples", "the examples")}` : html`<p>None.</p>`}`,
  };
}
