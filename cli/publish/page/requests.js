// Sentences by a request: the hits as lines with their words, or counts by keys.
import { link } from "./addresses.js";
import { frameOf, heightOf, rowsOf } from "./cells.js";
import { Fault } from "viewer/fault.js";
import { literal } from "./database.js";
import { commandOf, concordance, hitOf, table } from "./views.js";

const MOST_HITS = 10000;
const CONTEXT = 10;
const MOST_COLUMNS = 12;

export async function find(context) {
  const { app } = context;
  const request = context.text("pattern").trim();
  const by = context.text("by").trim();
  const limit = context.number("limit", 50, 1, 500);
  const sample = context.flag("sample");
  const variables = {
    pattern: request, corpora: app.manifest.corpora.map((corpus) => corpus.name), limit, sample,
    example: "pattern { V -[obj]-> O }", known: app.manifest.requests,
  };
  if (!request) return variables;
  const corpus = context.text("corpus") || null;
  context.command = commandOf(context, `${by ? "count" : "find"} ${app.shell(request)}`, { by, corpus, run: context.run, sample: sample && !by ? limit : null });
  try {
    const compiled = await app.compiler.compiled({
      request, by: by || null, corpus, run: context.run,
      limit: sample || by ? null : MOST_HITS + 1, sample: sample && !by ? limit : null,
    });
    variables.answered = compiled.run;
    Object.assign(variables, by ? await counts(context, compiled) : await hits(context, compiled, limit, sample));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    variables.error = error;
  }
  return variables;
}

async function hits(context, compiled, limit, sample) {
  const { app } = context;
  let rows = await app.database.rows(compiled.statement);
  const total = Math.min(rows.length, MOST_HITS);
  if (sample) rows.sort((a, b) => a.sentence - b.sentence);
  context.frame = rows.length ? frameOf(rows.slice(0, MOST_HITS), Object.keys(rows[0]).filter((name) => name !== "sentence").map((name) => [name, typeof rows[0][name] === "number" ? "integer" : "text"])) : null;
  const part = context.paging(total, { size: limit, more: rows.length > MOST_HITS });
  rows = rows.slice(Math.max(0, part.first - 1), part.last);
  const lines = await concordance(context, rows.map((row) => ({
    sentence: row.sentence, words: compiled.nodes.map((node) => row[node]).filter(Boolean),
  })), CONTEXT);
  const run = app.shownRun(context.run);
  const read = run === null ? null : new Set((await app.names(run)).map(([number]) => number));
  const hitLines = rows.map((row, at) => ({
    ...lines[at],
    sent_id: row.sent_id,
    href: link("/sentence", {
      sentence: row.sentence, hit: hitOf(row.sentence, compiled.nodes.map((node) => row[node])),
      pattern: context.given.pattern, run: context.run, head: context.text("head"),
    }),
    is_unread: read !== null && !read.has(row.sentence),
  }));
  return { hits: hitLines, part, default: run?.name ?? null, unread: hitLines.filter((hit) => hit.is_unread).length };
}

async function counts(context, compiled) {
  const answer = await context.app.database.frame(compiled.statement);
  const rows = rowsOf(answer);
  const kinds = Object.fromEntries(answer.columns.map(({ name, kind }) => [name, kind]));
  const number = (value) => (value === null ? null : Number(value));
  const [first] = compiled.keys;
  const order = (value) => {
    if (value === null) return Infinity;
    const begin = String(value).replace(/[[\]]/g, "").split(", ")[0];
    return begin === "-∞" ? -Infinity : Number(begin);
  };
  if (first && (kinds[first] === "integer" || kinds[first] === "float" || compiled.by_interval)) {
    rows.sort((a, b) => order(a[first]) - order(b[first]) || compiled.keys.slice(1).reduce((order, key) => order || compare(a[key], b[key]), 0));
  }
  for (const row of rows) row.n = number(row.n);
  const frame = frameOf(rows, answer.columns.map(({ name, kind }) => [name, kind]));
  const names = answer.columns.map((column) => column.name).filter((name) => !["n", "share", "run"].includes(name));
  const crosses = names.length === 2 && new Set(rows.map((row) => row[names[1]])).size <= MOST_COLUMNS;
  context.frame = frame;
  return { table: table(context, crosses ? crossed(rows, names[0], names[1], kinds) : frame) };
}

const compare = (one, other) => (one === other ? 0 : one === null ? 1 : other === null ? -1 : one < other ? -1 : 1);

// A cross table: the values of one key below, of the other side by side, both by their sums.
function crossed(rows, down, across, kinds) {
  const sums = (key) => {
    const found = new Map();
    for (const row of rows) found.set(row[key], (found.get(row[key]) ?? 0) + row.n);
    return found;
  };
  const columns = [...sums(across)].sort(([one, n], [other, m]) => m - n || -compare(one, other));
  const name = (value) => (value === null ? "none" : value === "true" ? "yes" : value === "false" ? "no" : String(value));
  const cells = new Map(rows.map((row) => [literal([row[down], row[across]]), row.n]));
  const lines = [...sums(down)].map(([value, n]) => ({ value, n }));
  lines.sort((a, b) => b.n - a.n);
  return {
    columns: [{ name: down, kind: kinds[down] }, ...columns.map(([value]) => ({ name: `${across}=${name(value)}`, kind: "integer" })), { name: "n", kind: "integer" }],
    values: [
      lines.map((line) => line.value),
      ...columns.map(([value]) => lines.map((line) => cells.get(literal([line.value, value])) ?? 0)),
      lines.map((line) => line.n),
    ],
  };
}

export { heightOf };
