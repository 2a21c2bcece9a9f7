// The views, as the explorer has them (cli/explorer): what each puts into its template.
import { link, ROWS } from "./addresses.js";
import { columnsAsText, filtered, heightOf, isP, rowsOf } from "./cells.js";
import { Fault, literal, quoted } from "./database.js";

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

// The ends of one scale of colours for grids, as queries/pictures/encodings.py has them.
function endsOf(grids, { measure: { domain }, stretch }) {
  if (!stretch && domain) return domain;
  const found = stretch
    ? grids.flatMap((each) => each.layers.flatMap(([, row]) => row)).filter((value) => value !== null)
    : grids.flatMap((each) => each.amounts);
  if (!found.length) return [0, 1];
  const [least, most] = [Math.min(...found), Math.max(...found)];
  if (stretch && least >= 0 && least < most) return [least, most];
  const reach = Math.max(-least, most, 0);
  return least < 0 ? [-reach, 0, reach] : [0, reach || 1];
}

// The page of a frame, as the explorer's RequestContext.table.
export function table(asked, frame, { links = {}, hides = [], name = "page", more = false } = {}) {
  asked.frame ??= frame;
  const paging = asked.paging(heightOf(frame), { name, more });
  const from = Math.max(0, paging.first - 1);
  const part = { ...frame, values: frame.values.map((each) => each.slice(from, paging.last)) };
  const hidden = new Set(hides);
  const runs = part.columns.findIndex((each) => each.name === "run");
  if (runs >= 0 && new Set(part.values[runs]).size <= 1) hidden.add("run");
  const targets = { ...usualLinks(part, asked.run), ...links };
  const rows = rowsOf(part);
  const kept = part.columns.map((each, at) => [each, at]).filter(([each]) => !hidden.has(each.name));
  const shown = { columns: kept.map(([each]) => each), values: kept.map(([, at]) => part.values[at]) };
  const columns = columnsAsText(shown);
  const cells = rows.map((row, at) => columns.map((column, place) => {
    const text = column.cells[at];
    const target = targets[shown.columns[place].name];
    const cut = text.length <= LONGEST_CELL ? text : `${text.slice(0, LONGEST_CELL)}…`;
    return [cut, target && text ? target(row) : null];
  }));
  return { columns, rows: cells, paging };
}

function usualLinks(frame, run) {
  const names = new Set(frame.columns.map((each) => each.name));
  const found = {};
  for (const end of ["", "_a", "_b"]) {
    if (names.has(`layer${end}`) && names.has(`head${end}`)) {
      found[`head${end}`] = (row) => {
        const [layer, head] = [row[`layer${end}`], row[`head${end}`]];
        if (layer === null || head === null) return null;
        return link(`/head/${layer}-${head}`, {
          run: end ? row[`run${end}`] : run, relation: row.relation, direction: row[`direction${end}`],
        });
      };
    }
  }
  if (names.has("sent_id")) found.sent_id = (row) => link("/sentence", { sentence: row.sent_id, run });
  return found;
}

// The rows of an analysis. With no more than a run given they were written when the bank was
// published; others are asked of the bank.
export async function ask(asked, name, given = {}) {
  const { app } = asked;
  const kept = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  const analysis = app.analyses[name];
  const takesRun = analysis.parameters.some((each) => each.name === "run");
  if (Object.keys(kept).every((each) => each === "run")) {
    const run = takesRun ? (kept.run ? app.runOf(kept.run).id : app.manifest.defaults[name]) : "any";
    const answer = run === null || run === undefined ? null : await app.file(`answers/${run}/${name}.json`);
    if (answer !== null) {
      if (answer.error) throw new Fault(answer.error.fact, answer.error.remedy);
      answer.notes.forEach((each) => asked.note(each));
      return { ...answer, run: runIn(answer), file: run };
    }
  }
  const values = analysis.parameters.filter((each) => each.name in kept)
    .map((each) => `${quoted(each.name)} := ${typed(each, kept[each.name])}`);
  let found = await app.database.frame(`select * from ${analysis.schema ?? "main"}.${quoted(name)}(${values.join(", ")})`);
  const saved = app.manifest.saved.find((each) => each.name === kept.relation);
  if (saved?.warning) asked.note(saved.warning);
  if (saved?.is_circular) {
    found = { ...found, values: found.values.map((each, at) => (isP(found.columns[at].name) ? each.map(() => null) : each)) };
  }
  return { ...found, run: runIn(found), file: null };
}

function typed(parameter, text) {
  const type = parameter.type.toLowerCase();
  if (type.endsWith("[]")) {
    const parts = String(text).trim().replace(/^\[|\]$/g, "").split(",").map((each) => each.trim()).filter(Boolean);
    return `cast([${parts.map(literal).join(", ")}] as ${type})`;
  }
  return `cast(${literal(String(text))} as ${type})`;
}

function runIn(frame) {
  const at = frame.columns.findIndex((each) => each.name === "run");
  return at >= 0 && frame.values[at].length ? frame.values[at][0] : null;
}

function colouringOf(asked) {
  const made = {
    by: asked.chosen("by", asked.app.measures.map((each) => each.key)),
    relation: asked.text("relation", "all"),
    direction: asked.chosen("direction", asked.app.manifest.directions),
    stretch: asked.flag("stretch"),
  };
  return measuredBy(asked, made, made.by);
}

// A colouring by a measure, with what stands above its grid.
function measuredBy(asked, colouring, by) {
  const measure = asked.app.measures.find((each) => each.key === by);
  const of = measure.has_relation ? ` for ${colouring.relation}` : "";
  const direction = measure.has_direction ? `, ${colouring.direction.replaceAll("_", " ")}` : "";
  return { ...colouring, by, measure, caption: `${by === "relation" ? "Accuracy" : measure.title}${of}${direction}` };
}

function toHead(colouring, run) {
  const more = colouring.measure.has_relation ? { relation: colouring.relation, direction: colouring.direction } : {};
  return (name) => link(`/head/${name}`, { run, ...more });
}

async function grid(asked, run, colouring) {
  const { measure } = colouring;
  const given = colouring.by === "coreference" ? { kind: "all" } : {};
  if (colouring.by !== "probe" && run) given.run = run;
  if (measure.has_relation && colouring.by !== "relation" && colouring.relation !== "all") given.relation = colouring.relation;
  let answer;
  if (colouring.by === "coreference") {
    answer = await ask(asked, measure.analysis, { run: given.run });
    answer = { ...filtered(answer, (row) => row.kind === "all"), run: answer.run };
  } else {
    answer = await ask(asked, measure.analysis, given);
  }
  if (colouring.by === "relation") {
    const { run: name } = answer;
    const all = answer;
    answer = { ...filtered(all, (row) => row.relation === colouring.relation), run: name };
    if (!heightOf(answer)) answer = await ask(asked, measure.analysis, { ...given, relation: colouring.relation });
  }
  const { run: name } = answer;
  if (colouring.by !== "probe") given.run = name;
  if (colouring.by === "relation") given.relation = colouring.relation;
  const amounts = rowsOf(answer).flatMap((row) => measure.columns.map((each) => row[each]))
    .filter((value) => typeof value === "number");
  if (answer.columns.some((each) => each.name === "direction")) {
    answer = filtered(answer, (row) => row.direction === colouring.direction);
  }
  const rows = rowsOf(answer);
  if (!rows.length) throw new Fault(`${measure.title} has no value for any head of this run.`, "Choose another measure.");
  asked.frame ??= answer;
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

const measuresOf = (asked) => ({
  measures: asked.app.measures.map((each) => each.key),
  titles: Object.fromEntries(asked.app.measures.map((each) => [each.key, each.title])),
});

export async function heads(asked) {
  let colouring = colouringOf(asked);
  const shown = { ...measuresOf(asked), colouring };
  let made;
  try {
    made = await grid(asked, asked.run, colouring);
  } catch (error) {
    if (!(error instanceof Fault) || "by" in asked.given || "relation" in asked.given) return { ...shown, error };
    colouring = measuredBy(asked, colouring, "previous");
    made = await grid(asked, asked.run, colouring);
  }
  const { measure: { analysis: name, has_direction }, given } = made;
  asked.command = rowsCommand(asked, name, given, has_direction ? { direction: colouring.direction } : {});
  asked.plotCommand = plotCommand(asked, name, given, { stretch: colouring.stretch });
  return { ...shown, ...stepsOf(asked, made.run), ends: endsOf([made], colouring), colouring, grid: made, to_head: toHead(colouring, asked.run) };
}

// The checkpoints of the training that a run is of, and the place of its own among them.
function stepsOf(asked, name) {
  const all = asked.app.manifest.runs.find((each) => each.name === name)?.steps ?? [];
  if (all.length < 2) return {};
  return {
    steps: all.map(([step, run]) => ({ step, href: link("/", { ...asked.given, run }) })),
    at_step: all.findIndex(([, run]) => run === name),
  };
}

export function commandOf(asked, what, options = {}) {
  const parts = [`attnbank -b ${asked.app.shell(asked.app.bankUrl)} ${what}`];
  for (const [name, value] of Object.entries(options)) {
    const flag = `--${name.replaceAll("_", "-")}`;
    if (value === true) parts.push(flag);
    else if (value) parts.push(`${flag} ${asked.app.shell(value)}`);
  }
  return parts.join(" ");
}

// The commands of an analysis, as the explorer's RequestContext.rows_command and plot_command.
function rowsCommand(asked, name, given, kept = {}) {
  const those = Object.entries(kept).map(([key, value]) => `${key} = ${literal(value)}`);
  if (!those.length) return commandOf(asked, `query ${name}`, asOptions(asked, name, given));
  const values = Object.entries(given).map(([key, value]) => `${key} := ${literal(value)}`);
  const statement = `from ${name}(${values.join(", ")}) where ${those.join(" and ")}`;
  return commandOf(asked, `sql ${asked.app.shell(statement)}`);
}

function plotCommand(asked, name, given, options = {}) {
  return commandOf(asked, `plot ${name}`, { ...asOptions(asked, name, given), ...options, output: `${name}.svg` });
}

function asOptions(asked, name, given) {
  const switches = new Set(asked.app.analyses[name].parameters.filter((each) => each.type === "boolean").map((each) => each.name));
  return Object.fromEntries(Object.entries(given).map(([key, value]) => (
    switches.has(key) && value ? [value === "true" ? key : `no_${key}`, true] : [key, value])));
}

export async function map(asked) {
  const run = asked.run ? asked.app.runOf(asked.run).id : asked.app.manifest.defaults.figure_6;
  const found = run === null ? null : await asked.app.file(`answers/${run}/map.json`);
  if (found === null) throw new Fault("The bank has no map of its heads.", "Type: attnbank compute head_embedding");
  if (found.table) asked.frame = await ask(asked, "figure_6", { run: asked.run });
  const given = { run: found.answered };
  asked.command = rowsCommand(asked, "figure_6", given);
  asked.plotCommand = plotCommand(asked, "figure_6", given);
  found.notes.forEach((each) => asked.note(each));
  return { ...found, notes: undefined, to_head: (name) => link(`/head/${name}`, { run: asked.run }) };
}

export async function overview(asked) {
  const run = asked.run ? asked.app.runOf(asked.run).id : asked.app.manifest.defaults.best_relation;
  const found = run === null || run === undefined ? null : await asked.app.file(`answers/${run}/overview.json`);
  if (found === null) throw new Fault("The bank has no overview of its heads.");
  const given = { run: found.answered };
  if (found.table) asked.frame = await ask(asked, "best_relation", given);
  asked.command = rowsCommand(asked, "best_relation", given);
  asked.plotCommand = plotCommand(asked, "best_relation", given);
  found.notes.forEach((each) => asked.note(each));
  const to_head = (each) => link(`/head/${each.name}`, { run: asked.run, relation: each.relation, direction: each.direction });
  return { ...found, notes: undefined, to_head };
}

export async function head(asked) {
  const name = asked.path.split("/")[2];
  const pair = /^(\d{1,9})-(\d{1,9})$/.exec(name);
  if (!pair) throw new Fault(`${name} is not a valid head.`, "Write a head as LAYER-HEAD: 3-1.");
  const run = asked.run ? asked.app.runOf(asked.run) : asked.app.manifest.runs.find((each) => each.id === asked.app.manifest.defaults.head_accuracy) ?? asked.app.manifest.runs[0];
  const found = await asked.app.file(`answers/${run.id}/heads/${name}.json`);
  if (found === null) throw new Fault(`The model has no head ${name}.`, `It has ${run.size}.`);
  if (found.error && !found.name) throw new Fault(found.error.fact, found.error.remedy);
  const shown = { ...found, title: `Head ${name}`, name };
  shown.notes?.forEach((each) => asked.note(each));
  delete shown.notes;
  const direction = asked.chosen("direction", asked.app.manifest.directions);
  const relation = asked.text("relation");
  if (found.statement) asked.command = commandOf(asked, `sql ${asked.app.shell(found.statement)}`);
  const isUsual = !relation || (relation === shown.relation && direction === shown.direction);
  if (!isUsual && found.answered) {
    Object.assign(shown, { relation, direction });
    shown.missing = shown.missing.filter(([what]) => what !== "Examples");
    delete shown.examples;
    delete shown.errors;
    try {
      Object.assign(shown, await atWork(asked, pair, relation, direction, found.answered));
      asked.frame = null; // the rows of the page are those of its relations, which are not here
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      shown.missing = [...shown.missing, ["Examples", `${error.fact} ${error.remedy}`.trim()]];
    }
  }
  return shown;
}

async function atWork(asked, pair, relation, direction, run) {
  const { database, manifest } = asked.app;
  if (!asked.app.relations().includes(relation.split(/[:$@]/)[0]) && !asked.app.relations().includes(relation)) {
    throw new Fault(`The corpus has no relation ${relation}.`, `It has: ${asked.app.relations().join(", ")}.`);
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
    const lines = await concordance(asked, own.map((row) => ({ sentence: row.sentence, words: [row.dependent, row.gold].filter(Boolean) })), 8);
    examples[kind[0].toUpperCase() + kind.slice(1)] = own.map((row, at) => ({
      ...lines[at], sent_id: row.sent_id, found: row.value, id: row.sentence, words: hitOf(row.sentence, [row.dependent, row.gold]),
    }));
  }
  return { examples, errors: table(asked, frame) };
}

export const hitOf = (sentence, words) => {
  const kept = [...new Set(words.filter(Boolean))].sort((a, b) => a - b);
  return kept.length ? `${sentence}:${kept.join(",")}` : "";
};

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const LETTER = /\p{L}/u;

// Whether a text runs from right to left, by its first letter.
export const isRightToLeft = (text) => {
  const first = [...text].find((each) => LETTER.test(each));
  return first !== undefined && RIGHT_TO_LEFT.test(first);
};

// Each hit (a sentence and indexes of words; or several) with what stands left and right of it.
export async function concordance(asked, hits, context) {
  if (!hits.length) return [];
  const { database, manifest } = asked.app;
  const sentences = new Map();
  for (const row of await database.rows(manifest.statements["patterns/surface_tokens"], { sentences: [...new Set(hits.flatMap((each) => [each.sentence, ...(each.others ?? []).map((other) => other.sentence)]))] })) {
    const found = sentences.get(row.sentence) ?? { words: [], place: new Map() };
    sentences.set(row.sentence, found);
    found.words.push([row.form, row.space_after]);
    for (let index = row.index; index <= row.last_index; index++) found.place.set(index, found.words.length);
  }
  const text = (words) => words.map(([form, space]) => form + (space ? " " : "")).join("").trim();
  const parts = ({ sentence, words: matched }) => {
    const { words, place } = sentences.get(sentence) ?? { words: [], place: new Map() };
    if (!matched.length) return ["", text(words), ""];
    const places = new Set(matched.map((each) => place.get(each)));
    const [first, last] = [Math.min(...places), Math.max(...places)];
    const marked = words.slice(first - 1, last).map(([form, space], at) => [places.has(first + at) ? `[${form}]` : form, space]);
    return [text(words.slice(Math.max(0, first - 1 - context), first - 1)), text(marked), text(words.slice(last, last + context))];
  };
  return hits.map((each) => {
    const found = [each, ...(each.others ?? [])].filter((one) => one.words.length || one === each)
      .sort((a, b) => a.sentence - b.sentence).map(parts);
    const hit = found.map(([, middle]) => middle).join(" … ");
    const [before, after] = [found[0][0], found.at(-1)[2]];
    return isRightToLeft(hit) ? { left: after, hit, right: before } : { left: before, hit, right: after };
  });
}

export async function compare(asked) {
  const runs = [asked.text("run_a") || null, asked.text("run_b") || null];
  const colouring = colouringOf(asked);
  const all = measuresOf(asked);
  const shown = { ...all, measures: all.measures.filter((each) => !each.startsWith("probe")), run_a: runs[0] ?? "", run_b: runs[1] ?? "", colouring };
  try {
    const frame = await ask(asked, "compare_runs", { run_a: runs[0], run_b: runs[1] });
    if (heightOf(frame)) {
      const [first] = rowsOf(frame);
      runs[0] ??= first.run_a;
      runs[1] ??= first.run_b;
    }
    const given = { run_a: runs[0], run_b: runs[1] };
    asked.command = rowsCommand(asked, "compare_runs", given);
    asked.plotCommand = plotCommand(asked, "compare_runs", given);
    shown.table = table(asked, frame, { hides: ["run_a", "run_b"] });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    shown.error = error;
  }
  const frame = asked.frame;
  shown.sides = [];
  for (const run of runs) {
    if (run === null) {
      shown.sides.push({ run: "no second run", why: "Choose a second run." });
      continue;
    }
    try {
      shown.sides.push({ run, grid: await grid(asked, run, colouring), to_head: toHead(colouring, run) });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      shown.sides.push({ run, why: `${error.fact} ${error.remedy}` });
    }
  }
  asked.frame = frame ?? asked.frame;
  shown.ends = endsOf(shown.sides.map((each) => each.grid).filter(Boolean), colouring);
  return shown;
}

export function tables(asked) {
  const sections = {};
  for (const each of Object.values(asked.app.analyses)) (sections[each.section] ??= []).push(each);
  return { sections };
}

export async function analysis(asked) {
  const name = asked.path.split("/")[2];
  const found = Object.hasOwn(asked.app.analyses, name) ? asked.app.analyses[name] : null;
  if (found === null) throw new Fault(`There is no analysis ${name}.`, "The page Tables and figures lists them all.");
  const shown = { analysis: found, title: found.name };
  const given = Object.fromEntries(Object.entries(asked.given).filter(([each]) => each !== "page"));
  const known = found.parameters.map((each) => each.name);
  const unknown = Object.keys(given).find((each) => !known.includes(each));
  if (unknown) return { ...shown, error: new Fault(`${found.name} has no parameter ${unknown.slice(0, 60)}.`, `It takes: ${known.join(", ") || "none"}.`) };
  asked.command = rowsCommand(asked, name, given);
  try {
    const answer = await ask(asked, name, given);
    Object.assign(shown, { answered: answer.run, table: table(asked, answer) });
    if (found.plot && heightOf(answer)) {
      asked.plotCommand = plotCommand(asked, name, given);
      if (answer.file === null) {
        asked.note("The picture is published only for the default settings; the command below draws it for these.");
      } else if (asked.app.manifest.pictures.includes(`${answer.file}/${name}`)) {
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

export async function statement(asked) {
  const shown = { example: EXAMPLE };
  const text = bare(asked.text("statement"));
  if (!text) return shown;
  shown.statement = text;
  asked.command = commandOf(asked, `sql ${asked.app.shell(text)}`);
  if (!asked.app.wasGiven(text)) {
    asked.note("This statement came with the address, and has not run: read it, then click Run.");
    return shown;
  }
  try {
    const frame = await asked.app.database.frame(text, MOST_ROWS + 1);
    const cut = heightOf(frame) > MOST_ROWS;
    if (cut) frame.values = frame.values.map((each) => each.slice(0, MOST_ROWS));
    Object.assign(shown, { table: table(asked, frame, { more: cut }), cut });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    shown.error = error;
  }
  return shown;
}

export async function contents(asked) {
  const found = await asked.app.file("answers/contents.json");
  asked.command = commandOf(asked, "info");
  return { ...found, notes: undefined };
}

export { ROWS };
