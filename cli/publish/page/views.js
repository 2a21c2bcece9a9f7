// The views, as the explorer has them (cli/explorer): what each puts into its template.
import { link, ROWS } from "./addresses.js";
import { columnsAsText, filtered, heightOf, isP, rowsOf } from "./cells.js";
import { Fault } from "viewer/fault.js";
import { literal, quoted } from "./database.js";

const STEPS = 21;
const LONGEST_CELL = 2000;
const EXAMPLES = 12;
const VALUES = 5;

// The class of a value on a scale between its ends; that of no value if it is null.
export function step(value, ends) {
  if (value === null || value === undefined) return "none";
  const [low, high] = [ends[0], ends.at(-1)];
  const share = high > low ? (value - low) / (high - low) : 0;
  return `${ends.length === 3 ? "d" : "v"}${Math.round(Math.min(Math.max(share, 0), 1) * (STEPS - 1))}`;
}

// The ends of one scale of colours for grids, as queries/pictures/theme.py has them.
function endsOf(grids, { measure: { domain }, stretch }) {
  if (!stretch && domain) return domain;
  const values = stretch
    ? grids.flatMap((grid) => grid.layers.flatMap(([, row]) => row)).filter((value) => value !== null)
    : grids.flatMap((grid) => grid.amounts);
  if (!values.length) return [0, 1];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (stretch && least >= 0 && least < most) return [least, most];
  const reach = Math.max(-least, most, 0);
  return least < 0 ? [-reach, 0, reach] : [0, reach || 1];
}

// The page of a frame, as the explorer's RequestContext.table.
export function table(context, frame, { links = {}, hides = [], name = "page", more = false } = {}) {
  context.frame ??= frame;
  const paging = context.paging(heightOf(frame), { name, more });
  const from = Math.max(0, paging.first - 1);
  const part = { ...frame, values: frame.values.map((values) => values.slice(from, paging.last)) };
  const hidden = new Set(hides);
  const runs = part.columns.findIndex((column) => column.name === "run");
  if (runs >= 0 && new Set(part.values[runs]).size <= 1) hidden.add("run");
  const targets = { ...usualLinks(part, context.run), ...links };
  const rows = rowsOf(part);
  const visible = part.columns.map((column, at) => [column, at]).filter(([column]) => !hidden.has(column.name));
  const visibleFrame = { columns: visible.map(([column]) => column), values: visible.map(([, at]) => part.values[at]) };
  const columns = columnsAsText(visibleFrame);
  const cells = rows.map((row, at) => columns.map((column, index) => {
    const text = column.cells[at];
    const target = targets[visibleFrame.columns[index].name];
    const cut = text.length <= LONGEST_CELL ? text : `${text.slice(0, LONGEST_CELL)}…`;
    return [cut, target && text ? target(row) : null];
  }));
  return { columns, rows: cells, paging };
}

function usualLinks(frame, run) {
  const names = new Set(frame.columns.map((column) => column.name));
  const links = {};
  for (const end of ["", "_a", "_b"]) {
    if (names.has(`layer${end}`) && names.has(`head${end}`)) {
      links[`head${end}`] = (row) => {
        const [layer, head] = [row[`layer${end}`], row[`head${end}`]];
        if (layer === null || head === null) return null;
        return link(`/head/${layer}-${head}`, {
          run: end ? row[`run${end}`] : run, relation: row.relation, direction: row[`direction${end}`],
        });
      };
    }
  }
  if (names.has("sent_id")) links.sent_id = (row) => link("/sentence", { sentence: row.sent_id, run });
  return links;
}

// The rows of an analysis. With no more than a run given they were written when the bank was
// published; others are context of the bank.
export async function ask(context, name, given = {}) {
  const { app } = context;
  const kept = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  const analysis = app.analyses[name];
  const takesRun = analysis.parameters.some((parameter) => parameter.name === "run");
  if (Object.keys(kept).every((key) => key === "run")) {
    const run = takesRun ? (kept.run ? app.runOf(kept.run).id : app.manifest.defaults[name]) : "any";
    const answer = run === null || run === undefined ? null : await app.file(`answers/${run}/${name}.json`);
    if (answer !== null) {
      if (answer.error) throw new Fault(answer.error.fact, answer.error.remedy);
      answer.notes.forEach((note) => context.note(note));
      return { ...answer, run: runIn(answer), file: run };
    }
  }
  const values = analysis.parameters.filter((parameter) => parameter.name in kept)
    .map((parameter) => `${quoted(parameter.name)} := ${typed(parameter, kept[parameter.name])}`);
  let found = await app.database.frame(`select * from ${analysis.schema ?? "main"}.${quoted(name)}(${values.join(", ")})`);
  const saved = app.manifest.saved.find((relation) => relation.name === kept.relation);
  if (saved?.warning) context.note(saved.warning);
  if (saved?.is_circular) {
    found = { ...found, values: found.values.map((values, at) => (isP(found.columns[at].name) ? values.map(() => null) : values)) };
  }
  return { ...found, run: runIn(found), file: null };
}

function typed(parameter, text) {
  const type = parameter.type.toLowerCase();
  if (type.endsWith("[]")) {
    const parts = String(text).trim().replace(/^\[|\]$/g, "").split(",").map((part) => part.trim()).filter(Boolean);
    return `cast([${parts.map(literal).join(", ")}] as ${type})`;
  }
  return `cast(${literal(String(text))} as ${type})`;
}

function runIn(frame) {
  const at = frame.columns.findIndex((column) => column.name === "run");
  return at >= 0 && frame.values[at].length ? frame.values[at][0] : null;
}

function colouringOf(context) {
  const colouring = {
    by: context.chosen("by", context.app.measures.map((measure) => measure.key)),
    relation: context.text("relation", "all"),
    direction: context.chosen("direction", context.app.manifest.directions),
    stretch: context.flag("stretch"),
  };
  return measuredBy(context, colouring, colouring.by);
}

// A colouring by a measure, with what stands above its grid.
function measuredBy(context, colouring, by) {
  const measure = context.app.measures.find((measure) => measure.key === by);
  const of = measure.has_relation ? ` for ${colouring.relation}` : "";
  const direction = measure.has_direction ? `, ${colouring.direction.replaceAll("_", " ")}` : "";
  return { ...colouring, by, measure, heading: `${by === "relation" ? "Accuracy" : measure.title}${of}${direction}` };
}

function toHead(colouring, run) {
  const more = colouring.measure.has_relation ? { relation: colouring.relation, direction: colouring.direction } : {};
  return (name) => link(`/head/${name}`, { run, ...more });
}

async function grid(context, run, colouring) {
  const { measure } = colouring;
  const given = colouring.by === "coreference" ? { kind: "all" } : {};
  if (colouring.by !== "probe" && run) given.run = run;
  if (measure.has_relation && colouring.by !== "relation" && colouring.relation !== "all") given.relation = colouring.relation;
  let answer;
  if (colouring.by === "coreference") {
    answer = await ask(context, measure.analysis, { run: given.run });
    answer = { ...filtered(answer, (row) => row.kind === "all"), run: answer.run };
  } else {
    answer = await ask(context, measure.analysis, given);
  }
  if (colouring.by === "relation") {
    const { run: name } = answer;
    const all = answer;
    answer = { ...filtered(all, (row) => row.relation === colouring.relation), run: name };
    if (!heightOf(answer)) answer = await ask(context, measure.analysis, { ...given, relation: colouring.relation });
  }
  const { run: name } = answer;
  if (colouring.by !== "probe") given.run = name;
  if (colouring.by === "relation") given.relation = colouring.relation;
  const amounts = rowsOf(answer).flatMap((row) => measure.columns.map((column) => row[column]))
    .filter((value) => typeof value === "number");
  if (answer.columns.some((column) => column.name === "direction")) {
    answer = filtered(answer, (row) => row.direction === colouring.direction);
  }
  const rows = rowsOf(answer);
  if (!rows.length) throw new Fault(`${measure.title} has no value for any head of this run.`, "Choose another measure.");
  context.frame ??= answer;
  const values = new Map();
  let [best, top] = ["", null];
  const inOrder = [...rows].sort((a, b) => a.layer - b.layer || a.head - b.head);
  for (const row of inOrder) {
    const value = typeof row[measure.column] === "number" ? row[measure.column] : null;
    values.set(`${row.layer}-${row.head}`, value);
    if (!best || (value !== null && (top === null || value > top))) [best, top] = [`${row.layer}-${row.head}`, value];
  }
  const heads = Math.max(...rows.map((row) => row.head));
  const layers = [...new Set(inOrder.map((row) => row.layer))].map((layer) => [
    layer, Array.from({ length: heads }, (_, at) => values.get(`${layer}-${at + 1}`) ?? null),
  ]);
  return { measure, layers, run: name, best, top: top ?? 0, amounts, given };
}

const measuresOf = (context) => ({
  measures: context.app.measures.map((measure) => measure.key),
  titles: Object.fromEntries(context.app.measures.map((measure) => [measure.key, measure.title])),
});

export async function heads(context) {
  let colouring = colouringOf(context);
  const variables = { ...measuresOf(context), colouring };
  let headGrid;
  try {
    headGrid = await grid(context, context.run, colouring);
  } catch (error) {
    if (!(error instanceof Fault) || "by" in context.given || "relation" in context.given) return { ...variables, error };
    colouring = measuredBy(context, colouring, "previous");
    headGrid = await grid(context, context.run, colouring);
  }
  const { measure: { analysis: name, has_direction }, given } = headGrid;
  context.command = rowsCommand(context, name, given, has_direction ? { direction: colouring.direction } : {});
  context.plotCommand = plotCommand(context, name, given, { stretch: colouring.stretch });
  return { ...variables, ...stepsOf(context, headGrid.run), ends: endsOf([headGrid], colouring), colouring, grid: headGrid, to_head: toHead(colouring, context.run) };
}

// The checkpoints of the training that a run is of, and the place of its own among them.
function stepsOf(context, name) {
  const all = context.app.manifest.runs.find((run) => run.name === name)?.steps ?? [];
  if (all.length < 2) return {};
  return {
    steps: all.map(([step, run]) => ({ step, href: link("/heads", { ...context.given, run }) })),
    at_step: all.findIndex(([, run]) => run === name),
  };
}

export function commandOf(context, what, options = {}) {
  const parts = [`attnbank -b ${context.app.shell(context.app.bankUrl)} ${what}`];
  for (const [name, value] of Object.entries(options)) {
    const flag = `--${name.replaceAll("_", "-")}`;
    if (value === true) parts.push(flag);
    else if (value) parts.push(`${flag} ${context.app.shell(value)}`);
  }
  return parts.join(" ");
}

// The commands of an analysis, as the explorer's RequestContext.rows_command and plot_command.
function rowsCommand(context, name, given, columnValues = {}) {
  const conditions = Object.entries(columnValues).map(([key, value]) => `${key} = ${literal(value)}`);
  if (!conditions.length) return commandOf(context, `query ${name}`, asOptions(context, name, given));
  const values = Object.entries(given).map(([key, value]) => `${key} := ${literal(value)}`);
  const statement = `from ${name}(${values.join(", ")}) where ${conditions.join(" and ")}`;
  return commandOf(context, `sql ${context.app.shell(statement)}`);
}

function plotCommand(context, name, given, options = {}) {
  return commandOf(context, `plot ${name}`, { ...asOptions(context, name, given), ...options, output: `${name}.svg` });
}

function asOptions(context, name, given) {
  const switches = new Set(context.app.analyses[name].parameters.filter((parameter) => parameter.type === "boolean").map((parameter) => parameter.name));
  return Object.fromEntries(Object.entries(given).map(([key, value]) => (
    switches.has(key) && value ? [value === "true" ? key : `no_${key}`, true] : [key, value])));
}

export async function map(context) {
  const run = context.run ? context.app.runOf(context.run).id : context.app.manifest.defaults.figure_6;
  const answer = run === null ? null : await context.app.file(`answers/${run}/map.json`);
  if (answer === null) throw new Fault("The bank has no map of its heads.", "Type: attnbank compute head_embedding");
  if (answer.table) context.frame = await ask(context, "figure_6", { run: context.run });
  const given = { run: answer.answered };
  context.command = rowsCommand(context, "figure_6", given);
  context.plotCommand = plotCommand(context, "figure_6", given);
  answer.notes.forEach((note) => context.note(note));
  return { ...answer, notes: undefined, to_head: (name) => link(`/head/${name}`, { run: context.run }) };
}

export async function overview(context) {
  const run = context.run ? context.app.runOf(context.run).id : context.app.manifest.defaults.best_relation;
  const answer = run === null || run === undefined ? null : await context.app.file(`answers/${run}/overview.json`);
  if (answer === null) throw new Fault("The bank has no overview of its heads.");
  const given = { run: answer.answered };
  if (answer.table) context.frame = await ask(context, "best_relation", given);
  context.command = rowsCommand(context, "best_relation", given);
  context.plotCommand = plotCommand(context, "best_relation", given);
  answer.notes.forEach((note) => context.note(note));
  const to_head = (cell) => link(`/head/${cell.name}`, { run: context.run, relation: cell.relation, direction: cell.direction });
  return { ...answer, notes: undefined, to_head };
}

export async function head(context) {
  const name = context.path.split("/")[2];
  const pair = /^(\d{1,9})-(\d{1,9})$/.exec(name);
  if (!pair) throw new Fault(`${name} is not a valid head.`, "Write a head as LAYER-HEAD: 3-1.");
  const run = context.run ? context.app.runOf(context.run) : context.app.manifest.runs.find((run) => run.id === context.app.manifest.defaults.head_accuracy) ?? context.app.manifest.runs[0];
  const found = await context.app.file(`answers/${run.id}/heads/${name}.json`);
  if (found === null) throw new Fault(`The model has no head ${name}.`, `It has ${run.size}.`);
  if (found.error && !found.name) throw new Fault(found.error.fact, found.error.remedy);
  const shown = { ...found, title: `Head ${name}`, name };
  shown.notes?.forEach((note) => context.note(note));
  delete shown.notes;
  const direction = context.chosen("direction", context.app.manifest.directions);
  const relation = context.text("relation");
  if (found.statement) context.command = commandOf(context, `sql ${context.app.shell(found.statement)}`);
  const isUsual = !relation || (relation === shown.relation && direction === shown.direction);
  if (!isUsual && found.answered) {
    Object.assign(shown, { relation, direction });
    shown.missing = shown.missing.filter(([what]) => what !== "Examples");
    delete shown.examples;
    delete shown.errors;
    try {
      Object.assign(shown, await atWork(context, pair, relation, direction, found.answered));
      context.frame = null; // the rows of the page are those of its relations, which are not here
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      shown.missing = [...shown.missing, ["Examples", `${error.fact} ${error.remedy}`.trim()]];
    }
  }
  return shown;
}

async function atWork(context, pair, relation, direction, run) {
  const { database, manifest } = context.app;
  if (!context.app.relations().includes(relation.split(/[:$@]/)[0]) && !context.app.relations().includes(relation)) {
    throw new Fault(`The corpus has no relation ${relation}.`, `It has: ${context.app.relations().join(", ")}.`);
  }
  const rows = await database.rows(manifest.statements["examples/head_examples"], {
    run, relation, layer: Number(pair[1]), head: Number(pair[2]), direction, most: EXAMPLES,
  });
  const counts = new Map();
  const errors = rows.filter((row) => {
    if (["right", "wrong"].includes(row.breakdown)) return false;
    counts.set(row.breakdown, (counts.get(row.breakdown) ?? 0) + 1);
    return counts.get(row.breakdown) <= VALUES;
  });
  const columns = [["breakdown", "text"], ["value", "text"], ["n", "integer"], ["share", "float"], ["errors", "integer"], ["dependents", "integer"]];
  const frame = { columns: columns.map(([name, kind]) => ({ name, kind })), values: columns.map(([name]) => errors.map((row) => row[name])) };
  const examples = {};
  for (const kind of ["right", "wrong"]) {
    const own = rows.filter((row) => row.breakdown === kind);
    const lines = await concordance(context, own.map((row) => ({ sentence: row.sentence, words: [row.dependent, row.gold].filter(Boolean) })), 8);
    examples[kind[0].toUpperCase() + kind.slice(1)] = own.map((row, at) => ({
      ...lines[at], sent_id: row.sent_id, found: row.value, id: row.sentence, words: hitOf(row.sentence, [row.dependent, row.gold]),
    }));
  }
  return { examples, errors: table(context, frame) };
}

export const hitOf = (sentence, words) => {
  const kept = [...new Set(words.filter(Boolean))].sort((a, b) => a - b);
  return kept.length ? `${sentence}:${kept.join(",")}` : "";
};

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const LETTER = /\p{L}/u;

// Whether a text runs from right to left, by its first letter.
export const isRightToLeft = (text) => {
  const first = [...text].find((character) => LETTER.test(character));
  return first !== undefined && RIGHT_TO_LEFT.test(first);
};

// Each hit (a sentence and indexes of words; or several) with what stands left and right of it.
export async function concordance(context, hits, width) {
  if (!hits.length) return [];
  const { database, manifest } = context.app;
  const sentences = new Map();
  for (const row of await database.rows(manifest.statements["patterns/surface_tokens"], { sentences: [...new Set(hits.flatMap((hit) => [hit.sentence, ...(hit.others ?? []).map((other) => other.sentence)]))] })) {
    const found = sentences.get(row.sentence) ?? { words: [], place: new Map() };
    sentences.set(row.sentence, found);
    found.words.push([row.form, row.space_after]);
    for (let index = row.index; index <= row.last_index; index++) found.place.set(index, found.words.length);
  }
  const text = (words) => words.map(([form, space]) => form + (space ? " " : "")).join("").trim();
  const parts = ({ sentence, words: matched }) => {
    const { words, place } = sentences.get(sentence) ?? { words: [], place: new Map() };
    if (!matched.length) return ["", text(words), ""];
    const places = new Set(matched.map((word) => place.get(word)));
    const [first, last] = [Math.min(...places), Math.max(...places)];
    const marked = words.slice(first - 1, last).map(([form, space], at) => [places.has(first + at) ? `[${form}]` : form, space]);
    return [text(words.slice(Math.max(0, first - 1 - width), first - 1)), text(marked), text(words.slice(last, last + width))];
  };
  return hits.map((hit) => {
    const contexts = [hit, ...(hit.others ?? [])].filter((part) => part.words.length || part === hit)
      .sort((a, b) => a.sentence - b.sentence).map(parts);
    const words = contexts.map(([, middle]) => middle).join(" … ");
    const [before, after] = [contexts[0][0], contexts.at(-1)[2]];
    return isRightToLeft(words) ? { left: after, hit: words, right: before } : { left: before, hit: words, right: after };
  });
}

export async function compare(context) {
  const runs = [context.text("run_a") || null, context.text("run_b") || null];
  const colouring = colouringOf(context);
  const all = measuresOf(context);
  const variables = { ...all, measures: all.measures.filter((measure) => !measure.startsWith("probe")), run_a: runs[0] ?? "", run_b: runs[1] ?? "", colouring };
  try {
    const frame = await ask(context, "compare_runs", { run_a: runs[0], run_b: runs[1] });
    if (heightOf(frame)) {
      const [first] = rowsOf(frame);
      runs[0] ??= first.run_a;
      runs[1] ??= first.run_b;
    }
    const given = { run_a: runs[0], run_b: runs[1] };
    context.command = rowsCommand(context, "compare_runs", given);
    context.plotCommand = plotCommand(context, "compare_runs", given);
    variables.table = table(context, frame, { hides: ["run_a", "run_b"] });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    variables.error = error;
  }
  const frame = context.frame;
  variables.sides = [];
  for (const run of runs) {
    if (run === null) {
      variables.sides.push({ run: "no second run", why: "Choose a second run." });
      continue;
    }
    try {
      variables.sides.push({ run, grid: await grid(context, run, colouring), to_head: toHead(colouring, run) });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      variables.sides.push({ run, why: `${error.fact} ${error.remedy}` });
    }
  }
  context.frame = frame ?? context.frame;
  variables.ends = endsOf(variables.sides.map((side) => side.grid).filter(Boolean), colouring);
  return variables;
}

export function tables(context) {
  const sections = {};
  for (const analysis of Object.values(context.app.analyses)) (sections[analysis.section] ??= []).push(analysis);
  return { sections };
}

export async function analysis(context) {
  const name = context.path.split("/")[2];
  const found = Object.hasOwn(context.app.analyses, name) ? context.app.analyses[name] : null;
  if (found === null) throw new Fault(`There is no analysis ${name}.`, "The page Tables and figures lists them all.");
  const shown = { analysis: found, title: found.name };
  const given = Object.fromEntries(Object.entries(context.given).filter(([name]) => name !== "page"));
  const known = found.parameters.map((parameter) => parameter.name);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown) return { ...shown, error: new Fault(`${found.name} has no parameter ${unknown.slice(0, 60)}.`, `It takes: ${known.join(", ") || "none"}.`) };
  context.command = rowsCommand(context, name, given);
  try {
    const answer = await ask(context, name, given);
    Object.assign(shown, { answered: answer.run, table: table(context, answer) });
    if (found.plot && heightOf(answer)) {
      context.plotCommand = plotCommand(context, name, given);
      if (answer.file === null) {
        context.note("The picture is published only for the default settings; the command below draws it for these.");
      } else if (context.app.manifest.pictures.includes(`${answer.file}/${name}`)) {
        shown.picture = Object.fromEntries(["light", "dark"].map((theme) => [theme, `answers/${answer.file}/${name}.${theme}.svg`]));
      }
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    shown.error = error;
  }
  return shown;
}

const MOST_ROWS = 10000;
export const EXAMPLE = "select upos, count(*) as n from word group by upos order by n desc";

export const bare = (statement) => statement.trim().replace(/;\s*$/, "");

export async function statement(context) {
  const shown = { example: EXAMPLE };
  const text = bare(context.text("statement"));
  if (!text) return shown;
  shown.statement = text;
  context.command = commandOf(context, `sql ${context.app.shell(text)}`);
  if (!context.app.wasGiven(text)) {
    context.note("This statement came with the address, and has not run: read it, then click Run.");
    return shown;
  }
  try {
    const frame = await context.app.database.frame(text, MOST_ROWS + 1);
    const cut = heightOf(frame) > MOST_ROWS;
    if (cut) frame.values = frame.values.map((values) => values.slice(0, MOST_ROWS));
    Object.assign(shown, { table: table(context, frame, { more: cut }), cut });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    shown.error = error;
  }
  return shown;
}

export async function contents(context) {
  const found = await context.app.file("answers/contents.json");
  context.command = commandOf(context, "info");
  return { ...found, notes: undefined };
}

export { ROWS };
