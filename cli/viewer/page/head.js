// One head: what it does, as the atlas draws it, the heads that are most like it, what ablating it did, and
// the sentences where it is right and wrong.
import { command, literal, shell } from "./commands.js";
import { Frame } from "./cells.js";
import { html } from "./dom.js";
import { dependentBars, errorBars, examplesOf, examplesOfBothKinds, widthIn } from "./examples.js";
import { attempt, Fault } from "./fault.js";
import {
  definitions, directionBox, directionsOf, inWords, relationBox, runBox, runLine, showSentences,
} from "./forms.js";
import { checkHead, hasSubtype, pairOf, valuesOf } from "./measures.js";
import { behavioursOf, besideOf, drawProfile, headline, profileData, profileOf, scoreOf } from "./profile.js";
import { capitalised, table } from "./tables.js";

// Examples of a kind: each of a published bank takes reading a part of it.
const EXAMPLES = { server: 12, published: 3 };
// A divergence in nats is at most ln 2.
const NEAREST_TITLE = "The heads with the most similar attention: 0 is the same, 0.69 nothing in common";

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
  const direction = context.choice("direction", directionsOf(bank, run));
  const missing = new Map(); // what there is not, by the reason
  const orReason = async (what, make) => {
    const [value, fault] = await attempt(make);
    if (fault) missing.set(`${what} ${fault.text}`, [what, capitalised(fault.text)]);
    return value;
  };
  const [data, beside, behaviours, nearest, [ablations]] = await Promise.all([
    profileData(bank, run), besideOf(bank, run), behavioursOf(bank, run),
    orReason("Nearest heads", () => connector.frame(`/nearest/${run.id}.json`)),
    attempt(() => ablationsOf(context, name)), // most runs have none
  ]);
  Object.assign(data, beside, { behaviours });
  const profile = profileOf(data, name);
  const isGiven = context.given.relation || context.given.direction;
  const [best] = isGiven ? [] : profile.relations;
  const of = best ?? { relation: context.text("relation") || "all", direction };
  const judged = { relation: of.relation, direction: of.direction };
  const most = connector.isServer ? EXAMPLES.server : EXAMPLES.published;
  const [grid, [examples, fault]] = await Promise.all([
    attempt(() => valuesOf(bank, run, { by: "relation", ...judged })).then(([values]) => values),
    data.relations.length ? attempt(() => examplesOf(connector, run, name, judged, most)) : [],
  ]);
  // A published page has the examples of best heads.
  if (fault && connector.isLive) missing.set("Examples", ["Examples", capitalised(fault.text)]);
  const score = scoreOf(data, name, judged, grid?.rows.get(name));
  const link = (path, values) => context.link(path, { run: context.run, ...values });
  const toExamples = (breakdown, value) => context.link(`/head/${name}/examples`, {
    ...judged, breakdown, value, run: run.name,
  });
  const choose = (row) => context.app.places.go(
    link(`/head/${name}`, { relation: row.relation, direction: row.direction }),
  );
  return {
    title: `Head ${name}`, answered: run.name, frame: Frame.of(profile.relations, RELATION_COLUMNS),
    command: command(context, `sql ${shell(statementOf(run, pair))}`),
    isDrawn: true, plotCommand: command(context, "plot head_card", {
      head: name, relation: hasSubtype(judged.relation) ? null : judged.relation, run: run.name,
      output: `head_${name}.svg`,
    }),
    content: html`<form>${runBox(context, context.run)}${relationBox(context, judged.relation)}
        ${directionBox(context, judged.direction, { run })}</form>
      ${runLine(run.name)}
      ${score ? html`<p class="headline">${headline(name, score, html`<strong>${judged.relation}</strong>`)}</p>` : null}
      <div class="columns">
      <section class="atlas-head"><div class="as-file">${drawProfile(profile, null, judged, choose)}</div>
        ${examples?.total ? html`${dependentBars(examples.dependents)}${errorBars(examples.errors, toExamples)}` : null}
        </section>
      ${examples?.total ? html`<section class="as-file"><h2>Examples: <bdi>${judged.relation}</bdi>, ${inWords(judged.direction)}</h2>
        ${examplesOfBothKinds(examples, context.app.places.link, run, name, widthIn(context.app.main), toExamples)}
        </section>` : null}
      ${data.relations.length && !examples && !connector.isLive ? html`<section><h2>Examples</h2>
        ${showSentences(() => context.app.loadBank())}</section>` : null}
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
        <a href=${link("/", { head: name, ...judged })}>This head in the atlas</a></p>`,
  };
}

const RELATION_COLUMNS = [
  ["relation", "text"], ["direction", "text"], ["n", "integer"], ["accuracy", "float"], ["low", "float"],
  ["high", "float"], ["offset", "integer"], ["offset_accuracy", "float"], ["gain", "float"], ["p_corrected", "float"],
];

// The statement whose rows the relations are.
function statementOf(run, [layer, head]) {
  const columns = RELATION_COLUMNS.map(([column]) => (column === "offset" ? '"offset"' : column));
  return `select ${columns.join(", ")}`
    + ` from best_relation(most := 1000, min_count := 10, run := ${literal(run.name)})`
    + ` where layer = ${layer} and head = ${head} and gain > 0 order by rank limit 8`;
}

// The effects of ablated sets that contain a head; `edges` where it has any.
async function ablationsOf({ connector, run }, name) {
  const frame = await connector.answer("any", "ablation_effect", { run }, { mayLoad: true });
  return frame.where((row) => row.heads.split(", ").includes(name)).select(({ name: column }, values) => (
    column !== "class" && (column !== "edges" || values.some(Boolean))));
}
