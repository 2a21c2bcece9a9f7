// What heads are coloured by: a value for each head, and the scale of its colours.
import { Frame } from "./cells.js";
import { thousands } from "./context.js";
import { attempt, Fault } from "./fault.js";
import { inWords } from "./forms.js";

const STEPS = 21;
export const FAMILY = "heads and directions tried in this test"; // for which p of head_score is corrected
export const MENTIONS = [["all", "all"], ["pronoun", "pronouns"], ["proper", "proper names"], ["nominal", "other nouns"]];

export const headName = (layer, head) => `${layer}-${head}`;
export const headOf = (row) => headName(row.layer, row.head);

// What rows say of their heads, by the name of the head.
export const byHead = (rows, valueOf, nameOf = headOf) => new Map(rows.map((row) => [nameOf(row), valueOf(row)]));

// A head by its name, as [layer, head].
export function pairOf(name) {
  const pair = /^(\d{1,9})-(\d{1,9})$/.exec(name);
  if (!pair) throw new Fault(`${name.slice(0, 80)} is not a valid head.`, "Write a head as LAYER-HEAD: 3-1.");
  return [Number(pair[1]), Number(pair[2])];
}

export function checkHead(run, [layer, head]) {
  const layers = run.layer_numbers;
  if (layers.includes(layer) && head >= 1 && head <= run.heads) return;
  throw new Fault(
    `The model has no head ${headName(layer, head)}.`,
    `Its heads are ${layers[0]}-1 to ${layers.at(-1)}-${run.heads}.`,
  );
}

// The parameters for a relation; those with a subtype are kept apart.
export const hasSubtype = (relation) => /[:$@]/.test(relation);
export const ofRelation = (relation) => ({ relation, subtypes: hasSubtype(relation) });

// The values of a measure by head, the rows that they are from, what is said of them, and the ends of
// their scale. `options` are those of the connector.
export async function valuesOf(bank, run, state, options) {
  const { by, relation, direction } = state;
  if (by === "gain") return gainValues(bank, run);
  if (by === "request") return requestValues(bank, run, state, options);
  if (by === "ablation") return effectValues(bank, run);
  const measure = bank.measures.get(by);
  const takesRelation = measure.has_relation && (by === "relation" || relation !== "all");
  const parameters = by === "coreference" ? { kind: state.kind ?? "all" } : takesRelation ? ofRelation(relation) : {};
  const answerer = by === "probe" ? "any" : run.id;
  const answer = (given, more) => bank.connector.answer(answerer, measure.analysis, given, { ...options, ...more });
  let frame;
  if (by === "relation") {
    frame = (await answer({})).where((row) => row.relation === relation);
    // A saved relation, or one with a subtype, is not among those of the trees.
    if (!frame.height) frame = await answer(parameters, { mayLoad: true });
  } else {
    frame = await answer(parameters);
  }
  const amounts = frame.rows.flatMap((row) => measure.columns.map((column) => row[column])).filter(isKnown);
  if (!parameters.subtypes) delete parameters.subtypes;
  const given = by === "probe" ? parameters : { ...parameters, run: frame.run ?? run.name };
  if (measure.has_direction) frame = frame.where((row) => row.direction === direction);
  const [rules] = by !== "coreference" || state.isSmall ? []
    : await attempt(() => bank.connector.get(`/rules/${run.id}/${parameters.kind}.json`));
  const isHalf = measure.has_direction && run.is_causal && direction !== "later_to_earlier";
  const remark = isHalf ? `A decoder sees only earlier words: counted are those that come ${
    direction === "dependent_to_head" ? "after" : "before"} their head.` : rules && `${run.context === "sentence"
    ? "Only mentions with an antecedent in their own sentence count" : "Mentions with an antecedent in their input count"
  }; ${rules.text}.`;
  return gridFacts(frame, (row) => numberOf(row[measure.column]), {
    title: titleOf(measure, state), remark, rules: rules?.text, isShare: measure.is_share,
    amounts, ends: endsOf(amounts, measure.domain),
    analysis: measure.analysis, parameters: given, columnValues: measure.has_direction ? { direction } : {},
  });
}

export const isKnown = (value) => typeof value === "number";
const numberOf = (value) => (isKnown(value) ? value : null);

function titleOf(measure, { by, relation, direction, kind }) {
  const title = measure.title.replace("a relation", relation);
  const of = by === "coreference" && kind ? ` of ${new Map(MENTIONS).get(kind)}`
    : measure.has_relation && title === measure.title ? ` for ${relation}` : "";
  return `${title}${of}${measure.has_direction ? `, ${inWords(direction)}` : ""}`;
}

function gridFacts(frame, valueOf, facts, rows = frame.rows, nameOf = headOf) {
  return { frame, values: byHead(rows, valueOf, nameOf), rows: byHead(rows, (row) => row, nameOf), ...facts };
}

export const isSignificant = ({ gain, p_corrected: p }) => gain > 0 && typeof p === "number" && p < 0.05;

// What each head's best relation gains over its best fixed offset, where that is significant.
async function gainValues(bank, run) {
  const profiles = await bank.connector.frame(`/profiles/${run.id}.json`);
  const { rows } = new Frame(profiles.of_heads);
  if (!rows.length) throw new Fault("No relation has ten dependents or more.", "Choose another measure.");
  const significant = rows.filter(isSignificant);
  const tried = thousands(rows[0].tried);
  return gridFacts(profiles, (row) => (isSignificant(row) ? row.gain : null), {
    title: "Gain of the best relation over a fixed offset", isShare: false,
    ends: endsOf(significant.map((row) => row.gain), null),
    labels: byHead(significant, (row) => row.relation),
    remark: `${significant.length} of ${rows.length} heads ${significant.length === 1 ? "finds" : "find"}
      a relation significantly above it (p < 0.05, corrected for the ${tried} combinations of heads, directions
      and relations).${significant.length ? "" : ` Nothing is significant on ${thousands(run.sentences)} sentences.`}`,
    analysis: "best_relation", parameters: { min_count: profiles.min_count, run: run.name }, columnValues: {},
  }, rows);
}

// How often each head finds the pairs of words of a request.
async function requestValues(bank, run, { request, dependent, governor, direction }, options) {
  const given = { request, dependent, head: governor };
  const frame = await bank.connector.frame(`/scores/${run.id}.json`, given, options);
  const tried = frame.height; // each head in each direction, for which p is corrected
  return gridFacts(frame, (row) => numberOf(row.accuracy), {
    title: `Accuracy on ${request} with ${dependent} as dependent of ${governor}, ${inWords(direction)}`,
    ends: [0, 1], isShare: true,
  }, frame.rows.filter((row) => row.direction === direction).map((row) => ({ ...row, tried, family: FAMILY })));
}

// Add to the best head of a request what it finds on text that it was not chosen on, and random weights;
// whether that is known.
export async function addBestScore(bank, run, { request, dependent, governor }, grid) {
  const given = { request, dependent, head: governor };
  const [frame] = await attempt(() => bank.connector.frame(`/scores/${run.id}/best.json`, given));
  const [best, control] = frame?.rows ?? [];
  const row = best && grid.rows.get(headOf(best));
  if (!row || row.direction !== best.direction) return false;
  Object.assign(row, { heldOut: best.held_out_accuracy, control: control?.accuracy ?? null, isOfBestControl: true });
  return true;
}

// What the model loses without each head alone.
async function effectValues(bank, run) {
  const { name, ablation } = run;
  if (!ablation) {
    throw new Fault(`${name} has no ablation of each head.`, `Type: attnbank ablate each --each --run ${name}`);
  }
  const frame = (await bank.connector.frame(`/effects/${run.id}.json`)).where((row) => row.edges === null);
  const amounts = frame.rows.map((row) => row.difference);
  return gridFacts(frame, (row) => row.difference, {
    title: "Effect of ablating each head, in nats a word", isShare: false, amounts, ends: endsOf(amounts, null),
    remark: `Above 0 the model is worse without the head (mean surprisal; ablation ${ablation}).`,
    analysis: "ablation_effect", parameters: { ablation, run: name },
    columnValues: { outcome: "surprisal", class: "all" },
  }, frame.rows, (row) => row.heads);
}

// As queries/pictures/theme.py has them: a fixed domain, or from 0, or on both sides of 0.
export function endsOf(amounts, domain) {
  if (domain) return domain;
  if (!amounts.length) return [0, 1];
  const [least, most] = [Math.min(...amounts), Math.max(...amounts)];
  const reach = Math.max(-least, most, 0);
  return least < 0 ? [-reach, 0, reach] : [0, reach || 1];
}

// The ends of a scale that is spread over the values that there are.
export function stretched(values) {
  const amounts = values.filter((value) => value !== null);
  const [least, most] = [Math.min(...amounts), Math.max(...amounts)];
  return amounts.length && least >= 0 && least < most ? [least, most] : endsOf(amounts, null);
}

// The CSS class of a value on a scale.
export function step(value, ends) {
  if (value === null || value === undefined) return "none";
  const [low, high] = [ends[0], ends.at(-1)];
  const share = high > low ? (value - low) / (high - low) : 0;
  return `${ends.length === 3 ? "d" : "v"}${Math.round(Math.min(Math.max(share, 0), 1) * (STEPS - 1))}`;
}

// The head with the largest value; the first of equals.
export function highest(values) {
  const known = [...values].filter(([, value]) => value !== null);
  return [...known].sort(([, one], [, other]) => other - one)[0]?.[0] ?? null;
}

export const percent = (value) => `${Math.round(100 * value)} %`;

export function written(value, isShare) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return isShare ? percent(value) : size && size < 0.1 ? value.toPrecision(2) : value.toFixed(size < 10 ? 2 : 1);
}
