// Two runs: their grids on one scale, the difference, each head of one against the other's, and the
// best heads of both on the words that they share.
import { arcLine, judge, KEY } from "./arcs.js";
import { command, pictureOf, rowsCommand, shell } from "./commands.js";
import { heightOf, rowsOf } from "./cells.js";
import { thousands } from "./context.js";
import { html, render, svg } from "./dom.js";
import { Fault } from "./fault.js";
import { choice, directionBox, faultBox, relationBox, runBox, showSentences, tick } from "./forms.js";
import { gridOf } from "./grids.js";
import { hitOf } from "./head.js";
import { endsOf, percent, stretched, valuesOf } from "./measures.js";
import { table } from "./tables.js";

export async function compareView(context) {
  const { bank } = context;
  if (!bank.runs.length) return { content: html`<p>The bank has no run yet: <code>${command(context, "ingest CORPUS -m MODEL")}</code></p>` };
  if (bank.runs.length === 1) {
    return { content: html`<p>The bank has one run, and nothing to compare it with.</p>
      <p>For the same model with random weights: <code>${command(context, `ingest CORPUS -m ${shell(bank.models[0]?.name ?? "MODEL")} --random-weights 1`)}</code></p>` };
  }
  const measures = [...bank.measures].filter(([key]) => !key.startsWith("probe"));
  const state = {
    by: context.choice("by", measures.map(([key]) => key)), relation: context.text("relation", "all"),
    direction: context.choice("direction", bank.directions),
  };
  const stretches = context.flag("stretch");
  const names = [context.text("run_a") || null, context.text("run_b") || null];
  const view = {};
  let rows = null;
  let best = null; // the best heads of both runs for the relation
  try {
    view.frame = await context.query("compare_runs", { run_a: names[0], run_b: names[1] });
    if (heightOf(view.frame)) {
      const [first] = rowsOf(view.frame);
      names[0] ??= first.run_a;
      names[1] ??= first.run_b;
    }
    const given = { run_a: names[0], run_b: names[1] };
    view.command = rowsCommand(context, "compare_runs", given);
    Object.assign(view, pictureOf(context, "compare_runs", given, view.frame));
    rows = table(context, view.frame, "Both runs, relation by relation", {
      hides: ["run_a", "run_b"], links: { relation: (row) => context.link("/compare", { ...context.given, relation: row.relation }) },
    });
    best = rowsOf(view.frame).find((row) => row.relation === state.relation) ?? null;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    view.error = error;
  }
  const sides = await Promise.all(names.map((name) => sideOf(context, name, state)));
  const grids = sides.map((side) => side.grid).filter(Boolean);
  const ends = stretches ? stretched(new Map(grids.flatMap((grid, at) => [...grid.values].map(([name, value]) => [`${at} ${name}`, value]))))
    : endsOf(grids.flatMap((grid) => grid.amounts), bank.measures.get(state.by).domain);
  const measure = bank.measures.get(state.by);
  return {
    ...view,
    after: (main) => best && showChanges(context, best, main.querySelector(".changes")),
    content: html`<form>
        ${runBox(context, names[0], "run_a", "First run")}${runBox(context, names[1], "run_b", "Second run")}
        ${choice("Measure", "by", measures.map(([key, { title }]) => [key, title]), state.by)}
        ${measure.has_relation ? relationBox(context, state.relation) : null}
        ${measure.has_direction ? directionBox(context, state.direction) : null}
        ${tick("Rescale colours to these values", "stretch", stretches)}<button>Compare</button></form>
      <div class="beside">${sides.map(({ run, name, grid, why }) => html`<section><h2><bdi>${name}</bdi></h2>
        ${grid ? gridOf(run, grid.values, { ends, isShare: grid.isShare, caption: `${grid.title}: ${name}`, to: toHead(context, name, state, measure) }) : html`<p>${why}</p>`}</section>`)}
        ${difference(context, sides, state, measure)}</div>
      <p class="hint">Each grid is over all words of its run; both have the same colour scale. The table below is over the words that both runs share.</p>
      ${best ? html`<section class="changes"></section>` : null}
      <h2>The best head for each relation, on the words that both runs share</h2>
      ${faultBox(view.error)}${rows}`,
  };
}

const toHead = (context, run, { relation, direction }, measure) => (name) => context.link(`/head/${name}`, {
  run, ...(measure.has_relation ? { relation, direction } : {}),
});

async function sideOf(context, name, state) {
  if (name === null) return { name: "no second run", why: "Choose a second run." };
  try {
    const run = context.runOf(name);
    const grid = await valuesOf({ ...context.bank, mayLoad: true }, run, state);
    if (!grid.values.size) throw new Fault(`${grid.title} has no value for any head of this run.`, "Choose another measure.");
    return { name, run, grid };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { name, why: `${error.fact} ${error.remedy}`.trim() };
  }
}

// What the first run has more, head by head, for two models of the same shape; as compare_runs has it.
function difference(context, [a, b], state, measure) {
  if (!a.grid || !b.grid || a.run.id === b.run.id) return null;
  if (a.run.heads !== b.run.heads || a.run.layer_numbers.join() !== b.run.layer_numbers.join()) {
    return html`<section><h2>Difference</h2><p>The two models have heads in different numbers, so none of one belongs to one of the other.</p></section>`;
  }
  const pairs = [...a.grid.values].map(([name, value]) => [name, value, b.grid.values.get(name) ?? null]).filter(([, one, other]) => one !== null && other !== null);
  const differences = new Map(pairs.map(([name, one, other]) => [name, one - other]));
  const reach = Math.max(0.01, ...[...differences.values()].map(Math.abs));
  return html`<section><h2>Difference: first minus second</h2>
      ${gridOf(a.run, differences, { ends: [-reach, 0, reach], isShare: a.grid.isShare, caption: `${a.grid.title}: difference`, to: toHead(context, b.name, state, measure) })}</section>
    <section><h2>Each head in both runs</h2>${scatter(context, pairs, [a, b], state, measure)}</section>`;
}

const SIDE = 360;
const EDGE = 44;

function scatter(context, pairs, [a, b], state, measure) {
  const amounts = pairs.flatMap(([, one, other]) => [one, other]);
  const ends = [Math.min(0, ...amounts), Math.max(...amounts) || 1];
  const at = (value) => (value - ends[0]) / (ends[1] - ends[0]);
  const x = (value) => EDGE + at(value) * (SIDE - 2 * EDGE);
  const y = (value) => SIDE - EDGE - at(value) * (SIDE - 2 * EDGE);
  const write = (value) => (a.grid.isShare ? percent(value) : value.toFixed(2));
  const to = toHead(context, b.name, state, measure);
  return svg`<svg class="scatter" viewBox=${`0 0 ${SIDE} ${SIDE}`} role="group" aria-label="Heads, first run against second">
    <line class="rule" x1=${x(ends[0])} y1=${y(ends[0])} x2=${x(ends[1])} y2=${y(ends[1])}></line>
    ${ends.map((end) => svg`<text class="axis" x=${x(end)} y=${SIDE - EDGE + 16} text-anchor="middle">${write(end)}</text><text class="axis" x=${EDGE - 6} y=${y(end) + 4} text-anchor="end">${write(end)}</text>`)}
    <text class="axis" x=${SIDE / 2} y=${SIDE - 8} text-anchor="middle">${a.name}</text>
    <text class="axis" transform=${`translate(12 ${SIDE / 2}) rotate(-90)`} text-anchor="middle">${b.name}</text>
    ${pairs.map(([name, one, other]) => svg`<a href=${to(name)} aria-label=${`head ${name}: ${write(one)} and ${write(other)}`}><title>${`${name}: ${one.toFixed(3)} and ${other.toFixed(3)}`}</title><circle cx=${x(one)} cy=${y(other)} r="4"></circle></a>`)}
  </svg>`;
}

const EXAMPLES = 3;

// Words whose head is found in only one of two runs, by the best head of each for a relation.
async function showChanges(context, row, section) {
  const { connector } = context;
  const sides = ["a", "b"].map((side) => ({
    run: context.runOf(row[`run_${side}`]), head: `${row[`layer_${side}`]}-${row[`head_${side}`]}`, direction: row[`direction_${side}`],
  }));
  const [a, b] = sides;
  const draw = (content) => {
    if (section.isConnected) render(html`<h2>Words that changed: ${row.relation}</h2>${content}`, section);
  };
  if (a.run.corpus !== b.run.corpus) return;
  if (!connector.isLive) {
    draw(showSentences(() => context.app.loadBank()));
    return;
  }
  draw(html`<p class="hint">Loading…</p>`);
  try {
    const changes = await connector.changes(a.run.id, b.run.id, {
      relation: row.relation, head_a: a.head, direction_a: a.direction, head_b: b.head, direction_b: b.direction, most: EXAMPLES,
    });
    const count = (kind) => changes.find((change) => change.kind === kind && change.n !== null)?.n ?? 0;
    const examples = await Promise.all(changes.filter((change) => change.n === null).map(async (change) => ({
      ...change, records: await Promise.all(sides.map(({ run, head }) => connector.sentence(run.id, change.sentence, head))),
    })));
    const list = (kind, heading) => html`<section><h3>${heading}: ${thousands(count(kind))}</h3>
      <ol class="examples">${examples.filter((example) => example.kind === kind).map((example) => html`<li>
        ${sides.map((side, at) => changedLine(context, row.relation, side, example, { record: example.records[at], isRight: kind === (at ? "only_b" : "only_a") }))}</li>`)}</ol></section>`;
    draw(html`<p>Of ${thousands(count("both") + count("only_a") + count("only_b") + count("neither"))} dependents that both heads can see the head of, both find ${thousands(count("both"))} and neither ${thousands(count("neither"))}.</p>
      <p class="hint">The heads are those of the table below, which counts only the words that did not choose them; here all words count.</p>
      ${KEY}<div class="beside">${list("only_a", html`Only ${a.head} of <bdi>${a.run.name}</bdi>`)}${list("only_b", html`Only ${b.head} of <bdi>${b.run.name}</bdi>`)}</div>`);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    draw(faultBox(error));
  }
}

// A sentence with what the head of one run does in it, which leads to the sentence.
function changedLine(context, relation, { run, head, direction }, { sentence, sent_id: name, dependent, gold }, { record, isRight }) {
  const judged = judge(record, { sentence, dependent, gold, direction, breakdown: isRight ? "right" : "wrong" });
  const width = Math.max(300, Math.min(620, context.app.main.clientWidth - 30));
  return html`<span class="hint">${head} of <bdi>${run.name}</bdi>, ${direction.replaceAll("_", " ")}</span><a class="where" title=${`${name}: head ${head} of ${run.name}`} href=${context.link("/sentence", {
    sentence, head, relation, direction, run: run.name, hit: hitOf(sentence, [dependent, gold]),
  })}>${arcLine(record, sentence, judged, width)}</a>`;
}
