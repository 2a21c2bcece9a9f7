// What heads are coloured by: a value for each head, and the scale of its colours.

import { frameOf } from "./cells.js";
import { Fault } from "./fault.js";

const STEPS = 21;

// The small grids under the large one: a measure of the catalogue, or one made here.
export const BEHAVIOURS = [
  ["previous", "Previous token"], ["next", "Next token"], ["self", "Itself"],
  ["cls", "[CLS]"], ["sep", "[SEP]"], ["sink_head.sink", "Sink"],
  ["punctuation", "Punctuation"], ["entropy", "Entropy"], ["gain", "Best relation"],
  ["coreference", "Coreference"], ["induction_head.weight", "Induction"],
  ["duplicate_token_head.weight", "Duplicate token"],
];
// Those that only a decoder has, and those that only an encoder has.
const OF_DECODERS = new Set(["induction_head.weight", "duplicate_token_head.weight", "sink_head.sink"]);
const OF_ENCODERS = new Set(["next", "cls", "sep"]);

export const isFor = (key, isCausal) => !(isCausal ? OF_ENCODERS : OF_DECODERS).has(key);

export const headName = (layer, head) => `${layer}-${head}`;

// The values of a measure by head, what is said of it, and the ends of its scale.
export async function valuesOf(bank, run, state) {
  const { by, relation, direction } = state;
  if (by === "gain") return gainValues(bank, run, state.min_count);
  if (by === "request") return requestValues(bank, run, state);
  const measure = bank.measures.get(by);
  const parameters = {};
  if (by === "coreference") parameters.kind = "all";
  if (measure.has_relation && by !== "relation" && relation !== "all") parameters.relation = relation;
  let rows = await bank.connector.answer(by === "probe" ? "any" : run.id, measure.analysis, parameters, bank);
  if (by === "relation") {
    const all = rows;
    rows = Object.assign(all.filter((row) => row.relation === relation), { notes: all.notes, columns: all.columns });
    // A saved relation, or one with a subtype, is not among those of the trees.
    if (!rows.length) rows = await bank.connector.answer(run.id, measure.analysis, { relation }, bank);
  }
  if (by === "relation") parameters.relation = relation;
  const { columns, notes = [] } = rows;
  const amounts = rows.flatMap((row) => measure.columns.map((column) => row[column])).filter((value) => typeof value === "number");
  if (measure.has_direction) rows = rows.filter((row) => row.direction === direction);
  const values = new Map(rows.map((row) => [headName(row.layer, row.head), numberOf(row[measure.column])]));
  return {
    key: by, measure, values, rows: new Map(rows.map((row) => [headName(row.layer, row.head), row])),
    amounts, ends: endsOf(amounts, measure.domain), title: titleOf(measure, by, relation, direction), isShare: measure.is_share, notes,
    analysis: measure.analysis, parameters: by === "probe" ? parameters : { ...parameters, run: rows[0]?.run ?? run.name }, frame: framed(rows, columns),
    columnValues: measure.has_direction ? { direction } : {},
    remark: by === "coreference" && run.context === "sentence" ? "Only mentions with an antecedent in their own sentence count." : null,
  };
}

const framed = (rows, columns) => columns && frameOf(rows, columns.map(({ name, kind }) => [name, kind]));

// What each head's best relation gains over its best fixed offset, where that is significant.
async function gainValues(bank, run, minCount) {
  const parameters = minCount ? { min_count: minCount } : {};
  const answer = await bank.connector.answer(run.id, "best_relation", parameters, bank);
  const rows = answer.filter((row) => row.rank === 1);
  if (!rows.length) throw new Fault(`No relation has ${minCount ?? "that many"} dependents or more.`, "Give a smaller min_count.");
  const significant = rows.filter((row) => row.p_corrected !== null && row.p_corrected < 0.05);
  const values = new Map(rows.map((row) => [headName(row.layer, row.head), row.p_corrected !== null && row.p_corrected < 0.05 ? row.gain : null]));
  const amounts = [...values.values()].filter((value) => value !== null);
  return {
    key: "gain", measure: null, values, rows: new Map(rows.map((row) => [headName(row.layer, row.head), row])),
    labels: new Map(significant.map((row) => [headName(row.layer, row.head), row.relation])),
    ends: endsOf(amounts, null), title: "Gain of the best relation over a fixed offset", isShare: false,
    remark: `${significant.length} of ${rows.length} heads find a relation significantly above it (p < 0.05, corrected for the ${rows[0].tried.toLocaleString("en-US")} combinations of heads, directions and relations).`,
    notes: answer.notes ?? [], analysis: "best_relation", parameters: { ...parameters, run: run.name }, frame: framed(answer, answer.columns), columnValues: {},
  };
}

// How often each head finds the pairs of words of a request.
async function requestValues(bank, run, { request, dependent, governor, direction }) {
  const answer = await bank.connector.scores(run.id, { request, dependent, head: governor });
  const rows = answer.filter((row) => row.direction === direction);
  return {
    key: "request", measure: null, notes: answer.notes, values: new Map(rows.map((row) => [headName(row.layer, row.head), numberOf(row.accuracy)])),
    rows: new Map(rows.map((row) => [headName(row.layer, row.head), row])), ends: [0, 1], isShare: true,
    frame: framed(answer, answer.columns), title: `Accuracy on ${request} from ${dependent} to ${governor}, ${direction.replaceAll("_", " ")}`,
  };
}

const numberOf = (value) => (typeof value === "number" ? value : null);

function titleOf(measure, by, relation, direction) {
  const of = measure.has_relation ? ` for ${relation}` : "";
  const where = measure.has_direction ? `, ${direction.replaceAll("_", " ")}` : "";
  return `${by === "relation" ? "Accuracy" : measure.title}${of}${where}`;
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
  const amounts = [...values.values()].filter((value) => value !== null);
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
  let best = null;
  for (const [name, value] of values) if (value !== null && (best === null || value > values.get(best))) best = name;
  return best;
}

export const percent = (value) => `${Math.round(100 * value)} %`;

export function written(value, isShare) {
  if (value === null || value === undefined) return "–";
  return isShare ? percent(value) : value.toFixed(Math.abs(value) < 10 ? 2 : 1);
}
