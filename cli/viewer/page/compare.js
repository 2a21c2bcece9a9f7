// Two runs: their grids on one scale, the difference, each head of one against the other's, and the
// best heads of both on the words that they share.
import { command, commandsOf, shell } from "./commands.js";
import { html, render, svg } from "./dom.js";
import { changesOf, exampleLink, KEY, widthIn } from "./examples.js";
import { attempt, Fault } from "./fault.js";
import { faultBox, hint, inWords, measureBoxes, note, runBox, showSentences, tick } from "./forms.js";
import { gridOf } from "./grids.js";
import { endsOf, headName, percent, stretched, valuesOf } from "./measures.js";
import { ARROWS } from "./profile.js";
import { table } from "./tables.js";

// The columns of the table; the file of it has more.
const COLUMNS = ["relation", "n", "head_a", "accuracy_a", "head_b", "accuracy_b", "difference", "difference_low",
  "difference_high", "p_corrected"];

export async function compareView(context) {
  const { bank } = context;
  if (bank.runs.length < 2) {
    const model = shell(bank.models[0]?.name ?? "MODEL");
    const [why, options] = bank.runs.length ? ["The bank has one run, and nothing to compare it with. For the same"
      + " model with random weights:", `${model} --random-weights 1`] : ["The bank has no run yet:", "MODEL"];
    return { content: html`<p>${why} <code>${command(context, `ingest CORPUS -m ${options}`)}</code></p>` };
  }
  const state = {
    by: context.choice("by", [...bank.measures.keys()]), relation: context.text("relation", "all"),
    direction: context.choice("direction", bank.directions),
  };
  const stretches = context.flag("stretch");
  const given = { run_a: context.text("run_a") || null, run_b: context.text("run_b") || null };
  const [frame, error] = await attempt(() => context.query("compare_runs", given));
  const [first] = frame?.rows ?? [];
  const runs = { run_a: given.run_a ?? first?.run_a ?? null, run_b: given.run_b ?? first?.run_b ?? null };
  const sides = await Promise.all(Object.values(runs).map((name) => sideOf(context, name, state)));
  const grids = sides.map((side) => side.grid).filter(Boolean);
  const measure = bank.measures.get(state.by);
  const ends = stretches ? stretched(grids.flatMap((grid) => [...grid.values.values()]))
    : endsOf(grids.flatMap((grid) => grid.amounts), measure.domain);
  const best = frame?.rows.find((row) => row.relation === state.relation); // heads of both runs
  const toHead = (run, { relation, direction } = measure.has_relation ? state : {}) => (name) => (
    context.link(`/head/${name}`, { run, relation, direction }));
  const arrowed = (layer, head, direction) => `${headName(layer, head)} ${ARROWS[direction]}`;
  const side = ({ run, name, grid, why }) => html`<section><h2><bdi>${name}</bdi></h2>
    ${grid?.frame.notes.map(note)}
    ${grid ? gridOf(run, grid.values, {
      ends, isShare: grid.isShare, caption: `${grid.title}: ${name}`, to: toHead(name),
    }) : html`<p>${why}</p>`}</section>`;
  return {
    frame, isDrawn: grids.length > 0, ...(frame ? commandsOf(context, "compare_runs", runs, frame) : {}),
    after: (main) => best && showChanges(context, best, main.querySelector(".changes")),
    content: html`<form>
        ${runBox(context, runs.run_a, "run_a", "First run")}
        ${runBox(context, runs.run_b, "run_b", "Second run")}
        ${measureBoxes(context, state)}
        ${tick("Rescale colours to these values", "stretch", stretches)}</form>
      <div class="beside">${sides.map(side)}${difference(sides, toHead)}</div>
      ${hint("Each grid is over all words of its run, in the direction chosen above; both have the same colour"
        + " scale. Everything below is over the words that both runs share, with the best head of each run in"
        + " its best direction.")}
      ${best ? html`<section class="changes"></section>` : null}
      <h2>The best head for each relation</h2>
      ${hint("On the words that both runs share and that did not choose the heads (n); the arrow is the direction.")}
      ${faultBox(error)}
      ${frame ? table(context, frame, "Both runs", {
        shows: COLUMNS, links: { relation: ({ relation }) => context.link("/compare", { ...context.given, relation }) },
        texts: {
          head_a: (row) => arrowed(row.layer_a, row.head_a, row.direction_a),
          head_b: (row) => arrowed(row.layer_b, row.head_b, row.direction_b),
        },
      }) : null}`,
  };
}

// A run with its grid, or why there is none.
async function sideOf(context, name, state) {
  if (name === null) return { name: "no second run", why: "Choose a second run." };
  const [side, fault] = await attempt(async () => {
    const run = context.runOf(name);
    const grid = await valuesOf(context.bank, run, state, { mayLoad: true });
    if (grid.values.size) return { name, run, grid };
    throw new Fault(`${grid.title} has no value for any head of this run.`, "Choose another measure.");
  });
  return side ?? { name, why: fault.text };
}

// What the first run has more, head by head, for two models of the same shape; as compare_runs has it.
function difference([a, b], toHead) {
  if (!a.grid || !b.grid || a.run.id === b.run.id) return null;
  if (a.run.heads !== b.run.heads || a.run.layer_numbers.join() !== b.run.layer_numbers.join()) {
    return html`<section><h2>Difference</h2><p>The two models have different numbers of layers or heads:
      there is no difference from head to head.</p></section>`;
  }
  const pairs = [...a.grid.values].map(([name, value]) => [name, value, b.grid.values.get(name) ?? null])
    .filter(([, one, other]) => one !== null && other !== null);
  const differences = new Map(pairs.map(([name, one, other]) => [name, one - other]));
  const reach = Math.max(0.01, ...[...differences.values()].map(Math.abs));
  const ends = [-reach, 0, reach];
  const { isShare, title } = a.grid;
  const to = toHead(b.name);
  return html`<section><h2>Difference: first minus second</h2>
      ${gridOf(a.run, differences, { ends, isShare, caption: `${title}: difference`, to })}</section>
    <section class="as-file"><h2>Each head in both runs</h2>${scatter(pairs, [a.name, b.name], isShare, to)}</section>`;
}

const SIDE = 360;
const EDGE = 44;

function scatter(pairs, [nameA, nameB], isShare, to) {
  const amounts = pairs.flatMap(([, one, other]) => [one, other]);
  const ends = [Math.min(0, ...amounts), Math.max(...amounts) || 1];
  const x = (value) => EDGE + (value - ends[0]) / (ends[1] - ends[0]) * (SIDE - 2 * EDGE);
  const y = (value) => SIDE - x(value);
  const write = (value) => (isShare ? percent(value) : value.toFixed(2));
  const text = (content, at, top, anchor = "middle", transform = null) => svg`<text class="axis" x=${at}
    y=${top} text-anchor=${anchor} transform=${transform}>${content}</text>`;
  const point = ([name, one, other]) => svg`<a href=${to(name)}>
    <title>${`Head ${name}: ${one.toFixed(3)} and ${other.toFixed(3)}`}</title>
    <circle cx=${x(one)} cy=${y(other)} r="4"></circle></a>`;
  return svg`<svg class="scatter" viewBox=${`0 0 ${SIDE} ${SIDE}`} role="group"
      aria-label="Heads, first run against second">
    <line class="rule" x1=${x(ends[0])} y1=${y(ends[0])} x2=${x(ends[1])} y2=${y(ends[1])}></line>
    ${ends.map((end) => text(write(end), x(end), SIDE - EDGE + 16))}
    ${ends.map((end) => text(write(end), EDGE - 6, y(end) + 4, "end"))}
    ${text(nameA, SIDE / 2, SIDE - 8)}
    ${text(nameB, null, null, "middle", `translate(12 ${SIDE / 2}) rotate(-90)`)}
    ${pairs.map(point)}
  </svg>`;
}

const EXAMPLES = 3;

// Words whose head is found in only one of two runs, by the best head of each for a relation.
async function showChanges(context, row, section) {
  const { app, connector } = context;
  const { relation } = row;
  const sides = ["a", "b"].map((side) => ({
    kind: `only_${side}`, relation, run: context.runOf(row[`run_${side}`]),
    head: headName(row[`layer_${side}`], row[`head_${side}`]), direction: row[`direction_${side}`],
  }));
  const [a, b] = sides;
  const draw = (content) => {
    if (section.isConnected) render(html`<h2>Words that changed: ${relation}</h2>${content}`, section);
  };
  if (a.run.corpus !== b.run.corpus) return null;
  if (!connector.isLive) return draw(showSentences(app));
  draw(hint("Loading…"));
  const [changes, fault] = await attempt(() => changesOf(connector, relation, sides, EXAMPLES));
  if (fault) return draw(faultBox(fault));
  const { count, lines } = changes;
  const example = (at) => html`<li>${sides.map((own, side) => html`
    <span class="hint">${own.head} of <bdi>${own.run.name}</bdi>, ${inWords(own.direction)}</span>
    ${exampleLink(app.places.link, own.run, own.head, own, lines[side][at], widthIn(app.main))}`)}</li>`;
  const list = ({ kind, run, head }) => html`<section>
    <h3>Only ${head} of <bdi>${run.name}</bdi>: ${count(kind)}</h3>
    <ol class="examples">${lines[0].map((line, at) => line.kind === kind && example(at))}</ol></section>`;
  return draw(html`<p>Of ${count("both", "only_a", "only_b", "neither")} dependents that both heads can see the head
      of, both find ${count("both")} and neither ${count("neither")}.</p>
    ${hint("The heads are those of the table below, which counts only the words that did not choose them;"
      + " here all words count.")}
    ${KEY}<div class="beside">${sides.map(list)}</div>`);
}
