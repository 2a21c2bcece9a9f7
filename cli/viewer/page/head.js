// What the page of a head has beside the parts of the atlas: its rows as a file, the heads that are most like it,
// and what ablating it did.
import { command, literal, shell } from "./commands.js";
import { html } from "./dom.js";
import { attempt } from "./fault.js";
import { definitions } from "./forms.js";
import { hasSubtype, headOf, pairOf } from "./measures.js";
import { MOST } from "./profile.js";
import { capitalised, table } from "./tables.js";

// A divergence in nats is at most ln 2.
const NEAREST_TITLE = "The heads with the most similar attention: 0 is the same, 0.69 nothing in common";

// The sections of a head that are tables, or why there are none.
export async function tablesOfHead(context, run, name) {
  const { connector } = context;
  const [layer, head] = pairOf(name);
  const [[nearest, fault], [ablations]] = await Promise.all([
    attempt(() => connector.frame(`/nearest/${run.id}.json`)),
    attempt(() => ablationsOf(connector, run, name)), // most runs have none
  ]);
  return html`${ablations?.height ? html`<section><h2>Ablation</h2>${table(context, ablations,
      "The effect of ablating sets of heads that include this one, or of cutting edges in them (ablation_effect)")}
      </section>` : null}
    ${nearest ? html`<section><h2>Nearest heads</h2>${table(context,
      nearest.where((row) => row.of_layer === layer && row.of_head === head), NEAREST_TITLE,
      { hides: ["of_layer", "of_head"] })}</section>`
    : html`<section><h2>Not computed yet, or not available</h2>
      ${definitions([["Nearest heads", capitalised(fault.text)]])}</section>`}`;
}

// The effects of ablated sets that contain a head; `edges` where it has any.
async function ablationsOf(connector, run, name) {
  const frame = await connector.answer("any", "ablation_effect", { run: run.name }, { mayLoad: true });
  return frame.where((row) => row.heads.split(", ").includes(name)).select(({ name: column }, values) => (
    column !== "class" && (column !== "edges" || values.some(Boolean))));
}

// The relations of a head as a file, with the commands for them and for its picture.
export function filesOfHead(context, run, name, relation) {
  const [layer, head] = pairOf(name);
  const statement = "select * exclude (rank, p_value, findable, run)"
    + ` from best_relation(most := 1000, min_count := 10, run := ${literal(run.name)})`
    + ` where layer = ${layer} and head = ${head} and gain > 0 order by rank limit ${MOST}`;
  const drawn = { head: name, relation: hasSubtype(relation) ? null : relation, run: run.name, output: `head_${name}.svg` };
  return {
    title: `Head ${name}`, command: command(context, `sql ${shell(statement)}`),
    plotCommand: command(context, "plot head_card", drawn),
    frame: async () => (await context.connector.frame(`/profiles/${run.id}.json`))
      .where((row) => headOf(row) === name && row.gain > 0).slice(0, MOST),
  };
}
