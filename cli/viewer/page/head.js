// One head: its relations, its patterns, the heads that are most like it, what ablating it did, and
// the sentences where it is right and wrong.
import { fixed, Frame, groupBy } from "./cells.js";
import { command, literal, shell } from "./commands.js";
import { html } from "./dom.js";
import { dependentBars, examplesOf, examplesOfBothKinds, widthIn } from "./examples.js";
import { attempt, Fault } from "./fault.js";
import {
  definitions, directionBox, hint, inWords, relationBox, runBox, runLine, showSentences, wide,
} from "./forms.js";
import { byHead, checkHead, pairOf } from "./measures.js";
import { meanOf } from "./profile.js";
import { capitalised, table } from "./tables.js";

// Examples of a kind: each of a published bank takes reading a part of it.
const EXAMPLES = { server: 12, published: 3 };
const RELATIONS = 10;
const MIN_COUNT = 10;
const OF_ERRORS = 5; // rows of each breakdown of errors
const SURFACE = {
  relative_position: ["previous", "self", "next"],
  special_tokens: ["cls", "sep", "punctuation", "other", "first"],
  entropy: ["entropy"],
  head_pattern: ["pattern"],
  head_function: ["confidence", "offset", "positional"],
};
const RELATIONS_TITLE = "The relations with the largest gain over the best fixed offset";
// A divergence in nats is at most ln 2.
const NEAREST_TITLE = "The heads with the most similar attention: 0 is the same, 0.69 nothing in common";
const RELATION_COLUMNS = [
  ["relation", "text"], ["direction", "text"], ["n", "integer"], ["accuracy", "float"], ["offset", "integer"],
  ["offset_accuracy", "float"], ["gain", "float"], ["p_corrected", "float"], ["held_out", "float"],
  ["findable", "float"], ["run", "text"],
];
const ERROR_COLUMNS = [
  ["breakdown", "text"], ["value", "text"], ["n", "integer"], ["share", "float"], ["errors", "integer"],
  ["dependents", "integer"],
];

export async function headView(context) {
  const { bank, connector } = context;
  const name = context.path.split("/")[2];
  const pair = pairOf(name);
  const usual = bank.defaults.best_relation ?? bank.defaults.head_accuracy ?? bank.shown;
  const run = context.runOf(context.run, usual);
  if (!run) {
    throw new Fault(`The bank has no results for head ${name}.`, "Type: attnbank ingest CORPUS -m MODEL");
  }
  checkHead(run, pair);
  const isOfHead = (row) => row.layer === pair[0] && row.head === pair[1];
  const missing = new Map(); // what there is not, by the reason
  const orReason = async (what, make) => {
    const [value, fault] = await attempt(make);
    if (fault) missing.set(`${what} ${fault.text}`, [what, capitalised(fault.text)]);
    return value;
  };
  const [patterns, relations, nearest, [ablations]] = await Promise.all([
    Promise.all(Object.entries(SURFACE).map(([analysis, columns]) => orReason("Patterns", async () => (
      patternsOf(await context.query(analysis, { run: context.run }), columns, isOfHead))))),
    orReason("Relations", () => relationsOf(context, run, isOfHead)),
    orReason("Nearest heads", () => connector.frame(`/nearest/${run.id}.json`)),
    attempt(() => ablationsOf(context, name)), // most runs have none
  ]);
  const best = relations?.rows[0];
  const direction = context.choice("direction", bank.directions);
  const isGiven = context.given.relation || context.given.direction;
  const of = {
    relation: context.text("relation") || best?.relation || "all",
    direction: isGiven || !best ? direction : best.direction,
  };
  const most = connector.isServer ? EXAMPLES.server : EXAMPLES.published;
  const examples = relations && connector.isLive
    && await orReason("Examples", () => examplesOf(connector, run, name, of, most));
  const link = (path, values) => context.link(path, { run: context.run, ...values });
  return {
    title: `Head ${name}`, answered: run.name, frame: relations,
    command: relations && command(context, `sql ${shell(statementOf(run, pair))}`),
    files: connector.files(`/cards/${run.id}/${name}`, { relation: of.relation }),
    plotCommand: command(context, "plot head_card", {
      head: name, relation: of.relation, run: run.name, output: `head_${name}.svg`,
    }),
    content: html`<form>${runBox(context, context.run)}${relationBox(context, of.relation)}
        ${directionBox(context, of.direction)}<button>Show</button></form>
      ${runLine(run.name)}
      <div class="columns">
      ${relations ? html`<section><h2>Best relations</h2>
        ${relations.height ? html`${table(context, relations, RELATIONS_TITLE, {
          hides: ["run"],
          links: { relation: (row) => link(`/head/${name}`, {
            relation: row.relation, direction: row.direction,
          }) },
        })}${hint("held out: accuracy on the half of the documents that was not used to select the head.")}`
          : hint("The head finds no relation more often than the best fixed offset does.")}
        </section>` : null}
      ${examples ? examplesSection(context, run, name, examples) : null}
      ${relations && !connector.isLive ? html`<section><h2>Examples</h2>
        ${showSentences(() => context.app.loadBank())}</section>` : null}
      <section><h2>Surface patterns</h2>${patternTable(patterns.filter(Boolean).flat())}</section>
      ${ablations?.height ? html`<section><h2>Ablation</h2>
        ${table(context, ablations,
          "The effect of ablating sets of heads that include this one, or of cutting edges in them (ablation_effect)")}
        </section>` : null}
      ${nearest ? html`<section><h2>Nearest heads</h2>
        ${table(context, nearest.where((row) => row.of_layer === pair[0] && row.of_head === pair[1]),
          NEAREST_TITLE, { hides: ["of_layer", "of_head"] })}</section>` : null}
      ${missing.size ? html`<section><h2>Not computed yet, or not available</h2>
        ${definitions([...missing.values()])}</section>` : null}
      </div>
      <p><a href=${link("/sentences", { head: name })}>Search sentences with this head</a> ·
        <a href=${link("/", { head: name, ...of })}>This head in the atlas</a></p>`,
  };
}

// The statement whose rows the best relations are.
function statementOf(run, [layer, head]) {
  const columns = RELATION_COLUMNS.map(([column]) => (
    column === "held_out" ? "held.accuracy as held_out" : `best."${column}"`));
  const name = literal(run.name);
  return `select ${columns.join(", ")}`
    + ` from best_relation(most := ${RELATIONS}, min_count := ${MIN_COUNT}, run := ${name}) as best`
    + ` left join best_head_held_out(run := ${name}) as held using (relation, direction, layer, head)`
    + ` where layer = ${layer} and head = ${head} and best.gain > 0 order by best.rank`;
}

// The values of some columns for a head, each beside its mean over all heads: [name, value, mean].
function patternsOf(frame, columns, isOfHead) {
  const own = frame.rows.find(isOfHead);
  return own ? columns.map((column) => {
    const isFloat = frame.columns.find((known) => known.name === column).kind === "float";
    const write = (value) => (value === null ? "" : isFloat ? fixed(value, 3) : String(value));
    const values = byHead(frame.rows, (row) => (isFloat ? row[column] : null));
    return [inWords(column), write(own[column]), write(meanOf(values.keys(), values))];
  }) : [];
}

function patternTable(patterns) {
  const row = ([name, value, mean]) => html`<tr><td>${name}</td><td class="number">${value}</td>
    <td class="number">${mean}</td></tr>`;
  return wide("Surface patterns", html`<table><caption>Surface patterns</caption>
    <thead><tr><th scope="col">pattern</th><th scope="col" class="number">this head</th>
      <th scope="col" class="number">mean of all heads</th></tr></thead>
    <tbody>${patterns.map(row)}</tbody></table>`);
}

// The relations of a head by their gain over the offset, with its held-out accuracy where it was chosen.
async function relationsOf(context, run, isOfHead) {
  const [profile, chosen] = await Promise.all([
    context.connector.frame(`/profiles/${run.id}.json`),
    context.query("best_head_held_out", { run: run.name }),
  ]);
  profile.notes.forEach((note) => context.note(note));
  const heldOut = chosen.rows.filter(isOfHead);
  const rows = profile.rows.filter((row) => isOfHead(row) && row.gain > 0).map((row) => ({
    ...row,
    held_out: heldOut.find(({ relation, direction }) => (
      relation === row.relation && direction === row.direction))?.accuracy ?? null,
  }));
  return Frame.of(rows, RELATION_COLUMNS);
}

// The effects of ablated sets that contain a head; `edges` where it has any.
async function ablationsOf({ connector, run }, name) {
  const frame = await connector.answer("any", "ablation_effect", { run }, { mayLoad: true });
  return frame.where((row) => row.heads.split(", ").includes(name)).select(({ name: column }, values) => (
    column !== "class" && (column !== "edges" || values.some(Boolean))));
}

function examplesSection(context, run, name, examples) {
  const { main, places } = context.app;
  const { relation, direction, dependents, errors } = examples;
  const toExamples = (breakdown, value) => context.link(`/head/${name}/examples`, {
    relation, direction, breakdown, value, run: run.name,
  });
  const kinds = [...groupBy(errors, (row) => row.breakdown).values()];
  const shown = kinds.flatMap((rows) => rows.slice(0, OF_ERRORS));
  return html`<section><h2>Examples: <bdi>${relation}</bdi>, ${inWords(direction)}</h2>
      ${examplesOfBothKinds(examples, places.link, run, name, widthIn(main), toExamples)}</section>
    <section><h2>Errors</h2>${dependentBars(dependents)}
      ${table(context, Frame.of(shown, ERROR_COLUMNS), "The most common wrong predictions of each kind", {
        links: { n: (row) => toExamples(row.breakdown, row.value) },
      })}</section>`;
}
