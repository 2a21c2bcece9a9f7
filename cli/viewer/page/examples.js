// Where a head is right and wrong: examples as lines of words, and bars by what the dependent is, and
// by what the head finds instead.
import { Frame } from "./cells.js";
import { thousands } from "./context.js";
import { html, svg } from "./dom.js";
import { line, withMarks } from "./drawing.js";
import { Fault } from "./fault.js";
import { inWords, runLine } from "./forms.js";
import { distanceCurve } from "./gains.js";
import { checkHead, pairOf, percent } from "./measures.js";
import { pages } from "./tables.js";

// What the three marks are, above examples.
const keyOf = (dependent, gold) => html`<p class="key"><span class="box dependent"></span> ${dependent}
  <span class="box gold"></span> its ${gold} <span class="box found"></span> found instead;
  numbers are weights; dotted: missed</p>`;
export const KEY = keyOf("dependent", "head");

// Examples of a kind: each of a published bank takes reading a part of it.
const ON_A_PAGE = { server: 50, published: 10 };
const BREAKDOWNS = ["right", "wrong", "relation", "upos", "distance", "of upos", "of order", "of distance"];
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
  return judgedLines(connector, run, head, {}, rows);
}

// Below each word stands its weight on the special tokens that are the target.
export const strongestList = (lines, link, run, head, width, target) => html`
  ${exampleList(link, run, head, {}, lines, width, target)}
  <p class="key">Arcs: weights of 0.1 or more${
    ["cls", "first", "sep"].includes(target) ? "; below a word: its weight on the token" : ""}.</p>`;

// Examples with their sentences in the inputs of a run, and the maps and peaks of a head there.
export async function judgedLines(connector, run, head, { direction }, rows) {
  const ids = [...new Set(rows.flatMap(sentencesOf))];
  const sheets = ids.length
    ? await connector.get(`/sentences/${run.id}/${head}.json`, { sentences: ids.join(",") }) : [];
  return rows.map((row) => ({ ...row, direction, sheets: sentencesOf(row).map((id) => sheets[ids.indexOf(id)]) }));
}

// A mention and its antecedents may be in several sentences of an input, which become one line.
const sentencesOf = ({ sentence, sentences = [sentence] }) => sentences;

// Mentions whose antecedent a head finds and misses; `counted` is its row of coreference_accuracy.
export async function antecedentsOf(connector, run, head, { kind, correct, n }, most) {
  const rows = await connector.get(`/antecedents/${run.id}/${head}.json`, { kind, most });
  const lines = (await judgedLines(connector, run, head, {}, rows))
    // Of a sentence in several inputs the sheet has one, perhaps another one than the mention was judged in.
    .filter(({ sequence, sheets }) => sheets.every((sheet) => sheet.sequence === sequence))
    .map((row) => {
      const { sentence, dependent, sentences, position, gold_position: gold, predicted_position: predicted } = row;
      const before = Math.min(sentence - sentences[0], 20);
      const marks = { coreference: true, before, hit: `${sentence}:${dependent}` };
      return { ...row, places: [position, gold, predicted], marks };
    });
  return { what: "antecedent", lines, total: n, counts: { right: correct, wrong: n - correct } };
}

// Dependents that only one of two heads finds, up to `most` of each kind as both judge them, and `count`, how many
// there are of some kinds.
export async function changesOf(connector, relation, sides, most) {
  const [a, b] = sides;
  const heads = { head_a: a.head, direction_a: a.direction, head_b: b.head, direction_b: b.direction };
  const rows = await connector.get(`/changes/${a.run.id}/${b.run.id}.json`, { relation, ...heads, most });
  const examples = rows.filter(({ n }) => n === null);
  const lines = await Promise.all(sides.map(({ kind, run, head, direction }) => (
    judgedLines(connector, run, head, { direction }, examples.map((row) => (
      { ...row, breakdown: row.kind === kind ? "right" : "wrong" }))))));
  const counts = new Map(rows.filter(({ n }) => n !== null).map(({ kind, n }) => [kind, n]));
  return { count: (...kinds) => thousands(kinds.reduce((sum, kind) => sum + (counts.get(kind) ?? 0), 0)), lines };
}

// Examples as lines of words with their marks, each a link to its sentence.
export const exampleList = (link, run, head, of, lines, width, target) => html`<ul class="examples">
  ${lines.map((row) => html`<li>${exampleLink(link, run, head, of, row, width, target)}</li>`)}</ul>`;

export function exampleLink(link, run, head, { relation, direction, what }, row, width, target) {
  const { sentence, sent_id: name, share, dependent, gold } = row;
  const marks = row.marks ?? { relation, direction, example: dependent && `${sentence}:${dependent},${gold}` };
  const address = link("/sentence", { sentence, head, run: run.name, ...marks });
  return html`<a class="where" href=${address}
    title=${share ? `${name}: ${percent(share)} of the attention in its input` : name}>
    ${exampleLine(row, run, width, target, what)}</a>`;
}

// Whether the head is right is what the bank counts: of a position with several words any. `places` are the
// positions of the three marks, if they are not those of words of the sentence and of the peaks.
function exampleLine(row, run, width, target, what = "head") {
  const { sheets, sentence, dependent, gold: head, direction, breakdown, places } = row;
  const positions = sheets.flatMap((sheet) => new Frame(sheet.positions).rows);
  const maps = sheets.flatMap((sheet) => sheet.maps);
  const [own, gold] = places ?? [dependent, head].map((index) => (
    positions.find((word) => word.sentence === sentence && word.index === index)?.position ?? null));
  const isBackward = direction === "head_to_dependent" || (direction === "later_to_earlier" && gold > own);
  const isRight = breakdown === "right";
  const peak = sheets[0].peaks.find(({ position }) => position === own);
  const most = places ? places[2] : isBackward ? peak?.most_attending : peak?.most_attended;
  const predicted = isRight ? null : most ?? null;
  const pairWith = (position) => (isBackward ? [position, own] : [own, position]);
  // The weights of the judged arcs may not be stored.
  const weights = new Map([gold, predicted].map(pairWith).map((pair) => [pair.join(), [...pair, null]]));
  for (const { from_position: from, weights: map } of maps) {
    for (const [to, weight] of Object.entries(map)) weights.set(`${from},${to}`, [from, Number(to), weight]);
  }
  const words = positions.filter((word) => word.is_shown && sentencesOf(row).includes(word.sentence))
    .map(({ position, text, index }) => ({ position, text, index }));
  const textAt = (at) => words.find(({ position }) => position === at)?.text ?? "a word that is not shown";
  const outcome = isRight ? "found" : `missed: ${predicted === null ? "nothing" : textAt(predicted)} instead`;
  const judged = dependent ? ` — ${textAt(own)}, ${what} ${textAt(gold)}: ${outcome}` : "";
  const targets = positions.filter(({ is_special: isSpecial, position: at }) => (
    isSpecial && { cls: !at, first: !at, sep: at }[target]));
  const shares = new Map(targets.length ? maps.map(({ from_position: from, weights: map }) => (
    [from, targets.reduce((sum, { position }) => sum + (map[position] ?? 0), 0)])) : []);
  const record = {
    words: withMarks(words, { own, gold, predicted }), mentions: [], isBackward,
    norms: run.measure.endsWith("norms"),
  };
  const panel = { weights: [...weights.values()], gold: [[...pairWith(gold), isRight]] };
  const label = words.map(({ text }) => text).join(" ") + judged;
  return line(record, panel, null, width, { isExample: true, shares, label });
}

// What a head finds and what it misses, with a link to all examples of each kind.
export function examplesOfBothKinds(examples, link, run, head, width, toAll) {
  const list = (kind, heading) => {
    const own = examples.lines.filter((line) => line.breakdown === kind);
    const [number, href] = [examples.counts[kind], toAll(kind)];
    const n = thousands(number);
    return number ? html`<div class="group"><h3>${heading}: ${href ? html`<a href=${href}>all ${n}</a>` : n}</h3>
      ${exampleList(link, run, head, examples, own, width)}</div>` : null;
  };
  const key = examples.what ? keyOf("head word of a mention", examples.what) : KEY;
  return html`${key}${list("right", "Found")}${list("wrong", "Missed")}`;
}

// The width of an example in an element.
export const widthIn = (element, most = 620) => Math.max(300, Math.min(most, element.clientWidth - 30));

const MOST = 4; // bars of a kind

// On what words a head is right, and what it finds instead, the commonest; `score` has the best fixed offset, if known,
// and `toExamples` makes the address of the words of a bar.
export function breakdownsOf({ dependents, errors, direction }, score, toExamples) {
  const bar = ({ breakdown, value, share }, kind, label, title) => html`<div class="bar" title=${`${value}: ${title}`}>
    <a href=${toExamples(breakdown, value)}>${value}</a>
    ${svg`<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class=${kind} width=${100 * share} height="10"></rect></svg>`}
    <span class="number">${label}</span></div>`;
  const right = (row) => bar(
    row, "right", `${percent(row.share)} of ${thousands(row.n)}`, `${row.correct} of ${row.n} found`,
  );
  const wrong = (row) => bar(row, "wrong", thousands(row.n), `${row.n} errors, ${percent(row.share)} of all`);
  const of = (rows, kind) => rows.filter(({ breakdown }) => breakdown === kind);
  const figure = (rows, draw, kind, caption) => html`<figure><figcaption>${caption}</figcaption>
    ${of(rows, kind).slice(0, MOST).map(draw)}</figure>`;
  return html`${dependents.length ? html`<div><h3>How often it is right, by the dependent</h3><div class="bars right">
      ${figure(dependents, right, "of order", "by its side")}
      ${figure(dependents, right, "of upos", "by its part of speech")}
      ${distanceCurve(of(dependents, "of distance"), direction, score?.offset, toExamples)}</div></div>` : null}
    ${errors.length ? html`<div><h3>What it finds instead, the commonest</h3><div class="bars wrong">
      ${figure(errors, wrong, "relation", "by relation")}
      ${figure(errors, wrong, "upos", "by part of speech")}
      ${figure(errors, wrong, "distance", "by distance from the dependent")}</div></div>` : null}`;
}

// All examples of one kind (right, wrong, or one kind of error), page by page.
export async function examplesView(context) {
  const { bank, connector } = context;
  const name = context.path.split("/")[2];
  const relation = context.text("relation", "all");
  const of = { relation, direction: context.choice("direction", bank.directions) };
  const kind = { breakdown: context.choice("breakdown", BREAKDOWNS), value: context.text("value", "none") };
  const run = context.runOf(context.run, bank.defaults.head_error);
  if (!run) throw new Fault(`The bank has no results for head ${name}.`);
  checkHead(run, pairOf(name));
  const size = connector.isServer ? ON_A_PAGE.server : ON_A_PAGE.published;
  const path = `/examples/${run.id}/${name}/page.json`;
  const rowsOf = (page, most) => connector.get(path, { ...of, ...kind, most, page });
  const rows = await rowsOf(context.number("page", 1, 1, 1_000_000), size);
  const paging = context.paging(rows[0]?.total ?? 0, { size });
  const lines = await judgedLines(connector, run, name, of, rows.map((row) => (
    { ...row, dependent: row.index, gold: row.gold_index, breakdown: row.is_right ? "right" : "wrong" })));
  const { breakdown, value } = kind;
  const [property, ofDependent] = breakdown.replace("upos", "part of speech").split(/^of /).reverse();
  const beyond = { "of distance -10": " or less", "of distance 10": " or more" }[`${breakdown} ${value}`] ?? "";
  const described = {
    right: "it finds the gold head", wrong: "it finds another word",
    "of order": `all dependents ${value.replace("its", "their")}`,
  }[breakdown] ?? `${ofDependent === "" ? "all dependents" : "it finds another word,"} whose ${property} is ${value}${beyond}`;
  const toHead = context.link(`/head/${name}`, { run: run.name, ...of });
  return {
    title: `Head ${name}, ${relation}: ${described}`, answered: run.name,
    frame: async () => Frame.of(await rowsOf(1, paging.total), COLUMNS),
    content: html`<p><a href=${toHead}>Head ${name}</a>: <bdi>${relation}</bdi>, ${inWords(of.direction)};
        ${described}</p>
      ${runLine(run.name)}
      ${lines.length ? html`${KEY}
        ${exampleList(context.app.places.link, run, name, of, lines, widthIn(context.app.main, 1240))}
        ${pages(paging, "Examples", "the examples")}` : html`<p>None.</p>`}`,
  };
}
