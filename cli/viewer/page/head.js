// One head: its relations, its patterns, the heads that are most like it, what ablating it did, and
// the sentences where it is right and wrong.
import { arcLine, judge, KEY } from "./arcs.js";
import { dependentBars } from "./bars.js";
import { filtered, fixed, frameOf, heightOf, rowsOf } from "./cells.js";
import { command, literal, shell } from "./commands.js";
import { thousands } from "./context.js";
import { html, repeat } from "./dom.js";
import { Fault } from "./fault.js";
import { directionBox, relationBox, runBox, runLine, showSentences } from "./forms.js";
import { headName } from "./measures.js";
import { capitalised, pages, table } from "./tables.js";

// Examples of a kind: each of a published bank takes reading a part of it.
const examplesOn = ({ isServer }) => (isServer ? { head: 12, page: 50 } : { head: 3, page: 10 });
const RELATIONS = 10;
const MIN_COUNT = 10;
const OF_ERRORS = 5; // rows of each breakdown of errors
const SURFACE = [
  ["relative_position", ["previous", "self", "next"]],
  ["special_tokens", ["cls", "sep", "punctuation", "other", "first"]],
  ["entropy", ["entropy"]],
  ["head_pattern", ["pattern"]],
  ["head_function", ["confidence", "offset", "positional"]],
];
const COLUMNS = ["relation", "direction", "n", "accuracy", "offset", "offset_accuracy", "gain", "p_corrected"];

const OF_ABLATION = [
  "ablation", "name", "heads", "replacement", "outcome", "n", "whole", "without", "difference", "low", "high", "controls",
  "control_mean", "p", "run",
];

// A head by its name, as [layer, head].
export function pairOf(name) {
  const pair = /^(\d{1,9})-(\d{1,9})$/.exec(name);
  if (!pair) throw new Fault(`${name.slice(0, 80)} is not a valid head.`, "Write a head as LAYER-HEAD: 3-1.");
  return [Number(pair[1]), Number(pair[2])];
}

export function checkHead(run, [layer, head]) {
  if (run.layer_numbers.includes(layer) && head >= 1 && head <= run.heads) return;
  throw new Fault(`The model has no head ${layer}-${head}.`, `Its heads are ${run.layer_numbers[0]}-1 to ${run.layer_numbers.at(-1)}-${run.heads}.`);
}

const ofHead = ([layer, head]) => (row) => row.layer === layer && row.head === head;

export async function headView(context) {
  const pair = pairOf(context.path.split("/")[2]);
  const name = headName(...pair);
  const { bank } = context;
  const run = context.runOf(context.run, bank.defaults.best_relation ?? bank.defaults.head_accuracy ?? bank.shown);
  if (!run) throw new Fault(`The bank has no results for head ${name}.`, "Type: attnbank ingest CORPUS -m MODEL");
  checkHead(run, pair);
  const direction = context.choice("direction", bank.directions);
  const missing = [];
  const orReason = async (what, make) => {
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const reason = `${error.fact} ${error.remedy}`.trim();
      if (!missing.some(([known, why]) => known === what && why === reason)) missing.push([what, reason]);
      return null;
    }
  };
  const [surface, relations, nearest, ablations] = await Promise.all([
    Promise.all(SURFACE.map(([analysis, columns]) => orReason("Patterns", async () => patternsOf(await context.query(analysis, { run: context.run }), columns, pair)))),
    orReason("Relations", () => relationsOf(context, run, pair)),
    orReason("Nearest heads", () => context.connector.nearest(run.id).then((frame) => filtered(frame, (row) => row.of_layer === pair[0] && row.of_head === pair[1]))),
    ablationsOf(context, name),
  ]);
  const best = relations && heightOf(relations) ? rowsOf(relations)[0] : null;
  const relation = context.text("relation") || best?.relation || "all";
  const shownDirection = context.given.relation || context.given.direction || !best ? direction : best.direction;
  const examples = relations && await orReason("Examples", () => examplesOf(context, run, name, relation, shownDirection));
  const statement = `select ${COLUMNS.map((column) => `best."${column}"`).join(", ")}, held.accuracy as held_out, best.findable, best.run`
    + ` from best_relation(most := ${RELATIONS}, min_count := ${MIN_COUNT}, run := ${literal(run.name)}) as best`
    + ` left join best_head_held_out(run := ${literal(run.name)}) as held using (relation, direction, layer, head)`
    + ` where layer = ${pair[0]} and head = ${pair[1]} order by best.rank`;
  return {
    title: `Head ${name}`, answered: run.name, frame: relations,
    command: relations ? command(context, `sql ${shell(statement)}`) : null,
    files: context.connector.cardFiles(run.id, name, relation),
    plotCommand: command(context, "plot head_card", { head: name, relation, run: run.name, output: `head_${name}.svg` }),
    content: html`<form>${runBox(context, context.run)}${relationBox(context, relation)}${directionBox(context, shownDirection)}<button>Show</button></form>
      ${runLine(run.name)}
      <div class="columns">
      ${relations ? html`<section><h2>Best relations</h2>
        ${table(context, relations, "The relations with the largest gain over the best fixed offset", {
          links: { relation: (row) => context.link(`/head/${name}`, { run: context.run, relation: row.relation, direction: row.direction }) },
        })}
        <p class="hint">held out: accuracy on the half of the documents that was not used to select the head.</p></section>` : null}
      ${examples ? examplesSection(context, run, name, relation, shownDirection, examples) : null}
      <section><h2>Surface patterns</h2>${patternTable(surface.filter(Boolean).flat())}</section>
      ${ablations ? html`<section><h2>Ablation</h2>${table(context, ablations, "The effect of ablating sets of heads that include this one (ablation_effect)")}</section>` : null}
      ${nearest ? html`<section><h2>Nearest heads</h2>${table(context, { columns: nearest.columns.slice(2), values: nearest.values.slice(2) }, "The heads with the most similar attention")}</section>` : null}
      ${missing.length ? html`<section><h2>Not computed yet, or not available</h2><dl>${missing.map(([what, why]) => html`<dt>${what}</dt><dd>${capitalised(why)}</dd>`)}</dl></section>` : null}
      </div>
      <p><a href=${context.link("/sentences", { run: context.run, head: name })}>Search sentences with this head</a> · <a href=${context.link("/", { run: context.run, head: name, relation, direction: shownDirection })}>This head in the atlas</a></p>`,
  };
}

// The values of some columns for a head, each beside its mean over all heads: [name, value, mean].
function patternsOf(frame, columns, pair) {
  const rows = rowsOf(frame);
  const own = rows.find(ofHead(pair));
  if (!own) return [];
  return columns.map((column) => {
    const isNumber = frame.columns.find((known) => known.name === column).kind === "float";
    const known = rows.map((row) => row[column]).filter((value) => typeof value === "number");
    const value = own[column];
    return [
      column.replaceAll("_", " "), value === null ? "" : isNumber ? fixed(value, 3) : String(value),
      isNumber && known.length ? fixed(known.reduce((sum, number) => sum + number, 0) / known.length, 3) : "",
    ];
  });
}

function patternTable(patterns) {
  return html`<div class="wide" tabindex="0" role="region" aria-label="Surface patterns"><table><caption>Surface patterns</caption>
    <thead><tr><th scope="col">pattern</th><th scope="col" class="number">this head</th><th scope="col" class="number">mean of all heads</th></tr></thead>
    <tbody>${patterns.map(([name, value, mean]) => html`<tr><td>${name}</td><td class="number">${value}</td><td class="number">${mean}</td></tr>`)}</tbody></table></div>`;
}

// The relations of a head by their gain over the offset, with its held-out accuracy where it was chosen.
async function relationsOf(context, run, pair) {
  const [profile, chosen] = await Promise.all([
    context.connector.profile(run.id), context.query("best_head_held_out", { run: run.name }),
  ]);
  profile.notes.forEach((note) => context.note(note));
  const heldOut = new Map(rowsOf(chosen).filter(ofHead(pair)).map((row) => [`${row.relation} ${row.direction}`, row.accuracy]));
  const rows = profile.filter(ofHead(pair)).map((row) => ({ ...row, held_out: heldOut.get(`${row.relation} ${row.direction}`) ?? null }));
  const kinds = { relation: "text", direction: "text", n: "integer", offset: "integer", run: "text" };
  return frameOf(rows, [...COLUMNS, "held_out", "findable", "run"].map((column) => [column, kinds[column] ?? "float"]));
}

// The effects of ablated sets that contain a head; null if there are none.
async function ablationsOf(context, name) {
  try {
    const frame = await context.connector.frame("ablation_effect", context.run ? { run: context.run } : {});
    const rows = rowsOf(frame).filter((row) => row.heads.split(", ").includes(name));
    const kinds = new Map(frame.columns.map((column) => [column.name, column.kind]));
    return rows.length ? frameOf(rows, OF_ABLATION.map((column) => [column, kinds.get(column)])) : null;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return null; // the run has no ablation, and most have none
  }
}

// Sentences where a head is right and wrong, as lines of words, and its errors by what it finds.
async function examplesOf(context, run, head, relation, direction) {
  if (!context.connector.isLive) return { needsBank: true };
  const [rows, dependents] = await Promise.all([
    context.connector.examples(run.id, head, { relation, direction, most: examplesOn(context.connector).head }), context.connector.dependents(run.id, head, { relation, direction }),
  ]);
  const isExample = (row) => row.breakdown === "right" || row.breakdown === "wrong";
  const examples = rows.filter(isExample);
  const lines = await judgedLines(context, run, head, examples.map((row) => ({ ...row, direction })));
  return { total: rows[0] ?? null, dependents, errors: rows.filter((row) => !isExample(row)), lines };
}

// Examples with the records of their sentences, and what the head does in each.
async function judgedLines(context, run, head, rows) {
  const records = await Promise.all(rows.map((row) => context.connector.sentence(run.id, row.sentence, head)));
  return rows.map((row, at) => ({ ...row, record: records[at], judged: judge(records[at], row) }));
}

function examplesSection(context, run, name, relation, direction, { needsBank, total, dependents, errors, lines }) {
  if (needsBank) return html`<section><h2>Examples</h2>${showSentences(() => context.app.loadBank())}</section>`;
  const toExamples = (breakdown, value) => context.link(`/head/${name}/examples`, { relation, direction, breakdown, value, run: run.name });
  const right = total ? total.dependents - total.errors : 0;
  const counts = { right, wrong: total?.errors ?? 0 };
  const list = (kind, heading) => {
    const own = lines.filter((line) => line.breakdown === kind);
    return html`<h3>${heading}</h3>
      ${own.length ? exampleList(context, run, name, { relation, direction }, own) : html`<p>None.</p>`}
      ${counts[kind] > own.length ? html`<p><a href=${toExamples(kind)}>All ${thousands(counts[kind])}</a></p>` : null}`;
  };
  const seen = new Map();
  const shown = errors.filter((row) => {
    seen.set(row.breakdown, (seen.get(row.breakdown) ?? 0) + 1);
    return seen.get(row.breakdown) <= OF_ERRORS;
  });
  const kinds = { n: "integer", share: "float", errors: "integer", dependents: "integer" };
  const frame = frameOf(shown, ["breakdown", "value", "n", "share", "errors", "dependents"].map((column) => [column, kinds[column] ?? "text"]));
  return html`<section><h2>Examples: <bdi>${relation}</bdi>, ${direction.replaceAll("_", " ")}</h2>${KEY}${list("right", "Found")}${list("wrong", "Missed")}</section>
    <section><h2>Errors</h2>${dependentBars(dependents)}${table(context, frame, "The most common wrong predictions of each kind", { links: { n: (row) => toExamples(row.breakdown, row.value) } })}</section>`;
}

// Examples as lines of words with their marks, each a link to its sentence.
function exampleList(context, run, name, { relation, direction }, lines, widest = 620) {
  const width = Math.max(300, Math.min(widest, context.app.main.clientWidth - 30));
  return html`<ul class="examples">${repeat(lines, (line) => `${line.sentence} ${line.dependent} ${line.breakdown}`, (line) => html`<li>
    <a class="where" title=${line.sent_id} aria-label=${`${line.sent_id}: ${line.judged.isRight ? "right" : `attends to ${line.value ?? "no word"} instead`}`} href=${context.link("/sentence", {
      sentence: line.sentence, head: name, relation, direction, run: run.name, hit: hitOf(line.sentence, [line.dependent, line.target ?? line.gold]),
    })}>${arcLine(line.record, line.sentence, line.judged, width)}</a></li>`)}</ul>`;
}

// The words of a hit, as an address marks them: SENTENCE:WORDS.
export function hitOf(sentence, words) {
  const indexes = [...new Set(words.filter(Boolean))].sort((a, b) => a - b);
  return indexes.length ? `${sentence}:${indexes.join(",")}` : "";
}

const BREAKDOWNS = ["right", "wrong", "relation", "upos", "distance"];

// All examples of one kind (right, wrong, or one kind of error), page by page.
export async function examplesView(context) {
  const pair = pairOf(context.path.split("/")[2]);
  const name = headName(...pair);
  const breakdown = context.choice("breakdown", BREAKDOWNS);
  const value = context.text("value", "none");
  const relation = context.text("relation", "all");
  const direction = context.choice("direction", context.bank.directions);
  const run = context.runOf(context.run, context.bank.defaults.head_error);
  if (!run) throw new Fault(`The bank has no results for head ${name}.`);
  checkHead(run, pair);
  const page = context.number("page", 1, 1, 1_000_000);
  const { page: onPage } = examplesOn(context.connector);
  const frame = await context.connector.examplePage(run.id, name, { relation, direction, breakdown, value, most: onPage, page });
  const rows = rowsOf(frame);
  const paging = context.paging(rows[0]?.total ?? 0, { size: onPage });
  const lines = await judgedLines(context, run, name, rows.map((row) => ({ ...row, direction, breakdown: row.is_right ? "right" : "wrong" })));
  const described = { right: "it finds the gold head", wrong: "it finds another word" }[breakdown] ?? `it finds another word, whose ${breakdown} is ${value}`;
  return {
    title: `Head ${name}: ${relation}, ${breakdown}`, answered: run.name,
    frame: { columns: frame.columns.filter((column) => column.name !== "total"), values: frame.values.filter((_, at) => frame.columns[at].name !== "total") },
    content: html`<p><a href=${context.link(`/head/${name}`, { run: run.name, relation, direction })}>Head ${name}</a>: <bdi>${relation}</bdi>, ${direction.replaceAll("_", " ")}; ${described}</p>
      ${runLine(run.name)}
      ${lines.length ? html`${KEY}${exampleList(context, run, name, { relation, direction }, lines, 1240)}${pages(paging, "Examples", "the examples")}` : html`<p>None.</p>`}`,
  };
}
