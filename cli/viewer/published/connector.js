// What the pages of a published bank read: its files, and the bank itself once DuckDB runs here. The
// methods are those of cli/viewer/page/rest.js.
import { frameOf, isP, rowsOf } from "viewer/cells.js";
import { literal, quoted } from "viewer/commands.js";
import { runNamed } from "viewer/context.js";
import { Fault } from "viewer/fault.js";
import { decoded, runIn, shown, withNotes, withQuery } from "viewer/rest.js";
import { Compiler } from "./compiler.js";
import { Database } from "./database.js";
import { shownRecord } from "./shown.js";

const IN_A_FILE = 4; // sentences; that of cli/viewer/publishing.py
const MOST_ROWS = 10_000; // of a statement

export class Published {
  #answers = new Map();
  #pairs = null; // the table of the pairs of scored requests, once there is one
  #requests = 0; // that were scored
  isServer = false;
  trustsAddresses = false;

  constructor({ home, pages, file, tell }) {
    Object.assign(this, { home, pages, file, tell });
  }

  // Whether DuckDB runs here already: it is 9 MB, which nobody asked for.
  get isLive() {
    return this.database?.connection !== undefined;
  }

  open() {
    return this.database.open();
  }

  async bank() {
    this.manifest = await this.file("bank.json");
    const address = `${this.home}bank.duckdb`;
    this.database = new Database(this.pages, address, this.manifest, this.tell);
    this.compiler = new Compiler(this.pages, this.manifest, this.tell);
    return { ...this.manifest, address };
  }

  async catalogue() {
    this.listed = await this.file("analyses.json");
    return this.listed;
  }

  contents() {
    return this.file("answers/contents.json");
  }

  #run(id) {
    return this.manifest.runs.find((run) => run.id === id);
  }

  // The rows of an analysis. With no more than a run they were written when the bank was published;
  // others are asked of the bank.
  async frame(name, parameters) {
    const analysis = this.listed.analyses[name];
    if (Object.keys(parameters).every((key) => key === "run")) {
      const run = this.#folder(name, parameters.run);
      const { fact, remedy } = this.manifest.unanswered[name] ?? {};
      if (run === null && fact) throw new Fault(fact, remedy);
      const answer = run === null ? null : await this.file(`answers/${run}/${name}.json`);
      if (answer?.error) throw new Fault(answer.error.fact, answer.error.remedy);
      if (answer) return { ...answer, run: runIn(answer) };
    }
    const values = analysis.parameters.filter((parameter) => parameter.name in parameters)
      .map((parameter) => `${quoted(parameter.name)} := ${typed(parameter, parameters[parameter.name])}`);
    let frame = await this.database.frame(`select * from ${analysis.schema ?? "main"}.${quoted(name)}(${values.join(", ")})`);
    const saved = this.manifest.saved.find((relation) => relation.name === parameters.relation);
    if (saved?.is_circular) frame = withoutP(frame);
    return { ...frame, run: runIn(frame), notes: saved?.warning ? [saved.warning] : [] };
  }

  files() {
    return undefined; // they are made in the browser
  }

  sentenceFiles() {
    return undefined;
  }

  cardFiles() {
    return undefined;
  }

  async model() {
    throw new Fault("A published bank does not show all heads on one sentence.", `Type: attnbank -b ${this.home}bank.duckdb explore`);
  }

  async typed() {
    throw new Fault("A published bank has no model to read a sentence.", `Type: attnbank -b ${this.home}bank.duckdb explore`);
  }

  // Those with no more than a run were drawn when the bank was published.
  picture(name, parameters) {
    const file = Object.keys(parameters).every((key) => key === "run") ? this.#folder(name, parameters.run) : null;
    if (!this.manifest.pictures.includes(`${file}/${name}`)) return null;
    return { light: `answers/${file}/${name}.light.svg`, dark: `answers/${file}/${name}.dark.svg` };
  }

  // The folder with the answers of an analysis: of the run that is named, or of its default one.
  #folder(name, run) {
    const takesRun = this.listed.analyses[name].parameters.some((parameter) => parameter.name === "run");
    if (!takesRun) return "any";
    return run ? runNamed(this.manifest, run).id : this.manifest.defaults[name];
  }

  async statement(statement) {
    const frame = await this.database.frame(statement, MOST_ROWS + 1);
    const isCut = frame.values.some((values) => values.length > MOST_ROWS);
    return { ...frame, values: frame.values.map((values) => values.slice(0, MOST_ROWS)), isCut };
  }

  // From a file where it has the rows: all of them, or those with these values in its columns.
  async answer(run, name, parameters = {}, { mayLoad = false } = {}) {
    const answer = await this.file(`answers/${run}/${name}.json`);
    if (answer?.error) throw new Fault(answer.error.fact, answer.error.remedy);
    if (answer) {
      const all = withNotes(answer);
      const rows = all.filter((row) => Object.entries(parameters).every(([key, value]) => row[key] === value));
      if (rows.length || !Object.keys(parameters).length) return Object.assign(rows, { notes: all.notes, columns: all.columns });
    }
    if (!this.isLive && !mayLoad) throw new Fault(`The rows of ${name} were not published.`, "Show sentences, which loads DuckDB.");
    return this.#once([run, name, parameters], async () => withNotes(await this.frame(name, run === "any" ? parameters : { run: this.#run(run).name, ...parameters })));
  }

  #once(key, make) {
    const text = JSON.stringify(key);
    if (!this.#answers.has(text)) {
      const pending = make();
      pending.catch(() => this.#answers.delete(text));
      this.#answers.set(text, pending);
    }
    return this.#answers.get(text);
  }

  async #record(run, name, what) {
    const record = await this.file(`answers/${run}/${name}.json`);
    if (!record || record.error) throw new Fault(record?.error.fact ?? `${what} were not published.`, record?.error.remedy ?? "");
    return record;
  }

  async profile(run) {
    return withNotes(await this.#record(run, "profile", "The profiles"));
  }

  nearest(run) {
    return this.#record(run, "nearest", "The nearest heads");
  }

  map(run) {
    return this.#record(run ? runNamed(this.manifest, run).id : this.manifest.defaults.figure_6, "map", "The places of the heads");
  }

  examples(run, head, { relation, direction, most }) {
    this.#checkRelation(relation);
    return this.database.rows(this.manifest.statements["examples/head_examples"], this.#ofHead(run, head, { relation, direction, most }));
  }

  dependents(run, head, { relation, direction }) {
    return this.database.rows(this.manifest.statements["examples/by_dependent"], this.#ofHead(run, head, { relation, direction }));
  }

  changes(run, other, { relation, most, head_a: a, head_b: b, direction_a, direction_b }) {
    this.#checkRelation(relation);
    const [[layer_a, head_a], [layer_b, head_b]] = [a, b].map((head) => head.split("-").map(Number));
    return this.database.rows(this.manifest.statements["examples/changed_words"], {
      relation, most, run_a: this.#run(run).name, run_b: this.#run(other).name, layer_a, head_a, direction_a, layer_b, head_b, direction_b,
    });
  }

  async examplePage(run, head, { relation, direction, breakdown, value, most, page }) {
    this.#checkRelation(relation);
    const values = this.#ofHead(run, head, { relation, direction, breakdown, value, most, skipped: (page - 1) * most });
    const rows = await this.database.rows(this.manifest.statements["examples/example_page"], values);
    const kinds = { sent_id: "text", value: "text", is_right: "boolean" };
    return frameOf(rows, ["sent_id", "sentence", "dependent", "gold", "target", "value", "is_right", "total"].map((name) => [name, kinds[name] ?? "integer"]));
  }

  #ofHead(run, head, parameters) {
    const [layer, number] = head.split("-").map(Number);
    return { run: this.#run(run).name, layer, head: number, ...parameters };
  }

  #checkRelation(relation) {
    const { relations, name } = this.manifest;
    if (relations.includes(relation) || relations.includes(relation.split(/[:$@]/)[0])) return;
    throw new Fault(`No corpus of ${name} has the relation ${relation}.`, `They have: ${relations.join(", ")}.`);
  }

  async #sheet(run, id) {
    const sheet = (await this.file(`sheets/${run}/${Math.floor(id / IN_A_FILE)}.json`))?.[id];
    if (!sheet) throw new Fault("The sentence was not published.");
    return sheet;
  }

  // What some heads (3-1) attend to in an input.
  async #attention(sheet, heads) {
    const values = { sequence: sheet.sequence, heads };
    const maps = await this.database.rows(this.manifest.statements["sentences/maps"], values);
    const peaks = await this.database.rows(this.manifest.statements["sentences/peaks"], values);
    return { maps, peaks };
  }

  async sentence(run, id, head) {
    const sheet = await this.#sheet(run, id);
    return { ...sheet, ...await this.#attention(sheet, [head]) };
  }

  words(sentences) {
    return this.database.rows(this.manifest.statements["patterns/surface_tokens"], { sentences });
  }

  async hits({ request, corpus, run, sample, most }) {
    const compiled = await this.compiler.compiled({ request, by: null, corpus, run, limit: sample ? null : most, sample });
    const rows = await this.database.rows(compiled.statement);
    if (sample) rows.sort((a, b) => a.sentence - b.sentence);
    const names = rows.length ? Object.keys(rows[0]) : ["sent_id", "sentence"];
    const frame = frameOf(rows, names.map((name) => [name, typeof rows[0]?.[name] === "number" ? "integer" : "text"]));
    const reading = run ? runNamed(this.manifest, run) : this.#run(this.manifest.shown);
    const read = reading && new Set((await this.#names(reading)).map(([number]) => number));
    const unread = read ? [...new Set(rows.map((row) => row.sentence))].filter((sentence) => !read.has(sentence)) : [];
    return { ...frame, nodes: compiled.nodes, run: compiled.run, isOfHeads: false, shown: reading?.name, unread };
  }

  async counts({ request, by, corpus, run }) {
    const compiled = await this.compiler.compiled({ request, by, corpus, run, limit: null, sample: null });
    const frame = await this.database.frame(compiled.statement);
    const rows = rowsOf(frame).map((row) => ({ ...row, n: Number(row.n) }));
    const [first, ...others] = compiled.keys;
    const kind = frame.columns.find(({ name }) => name === first)?.kind;
    if (kind === "integer" || kind === "float" || compiled.by_interval) {
      rows.sort((a, b) => number(a[first]) - number(b[first]) || others.reduce((order, key) => order || compare(a[key], b[key]), 0));
    }
    return { ...frameOf(rows, frame.columns.map(({ name, kind: own }) => [name, name === "n" ? "integer" : own])), run: compiled.run };
  }

  // The pairs of words that a request finds are a relation of this page's own, beside the saved ones.
  scores(run, { request, dependent, head }) {
    return this.#once(["scores", run, request, dependent, head], async () => {
      const { name } = this.#run(run);
      const { statement, is_circular, is_selected } = await this.compiler.compiled({ request, by: null, corpus: null, run: name, limit: null, sample: null, dependent, head });
      this.#pairs ??= this.database.rows("create or replace temp table saved_pair as from bank.saved_pair");
      await this.#pairs.catch((error) => {
        this.#pairs = null;
        throw error;
      });
      const relation = `(request ${this.#requests += 1})`;
      await this.database.rows(`insert into temp.saved_pair by name select distinct ${literal(relation)} as relation, word, head_word from (${statement})`);
      const frame = await this.database.frame(`select * from head_score(relation := ${literal(relation)}, run := ${literal(name)})`);
      const warning = is_circular ? this.manifest.warnings.circular : is_selected ? this.manifest.warnings.selected : null;
      return withNotes({ ...is_circular ? withoutP(frame) : frame, notes: warning ? [warning] : [] });
    });
  }

  async #names(run) {
    const names = await this.file(`sheets/${run.id}/names.json`);
    if (names === null) throw new Fault(`The sentences of the run ${run.name} were not published.`);
    return names;
  }

  // One sentence as it is drawn; attnbank explore shows more of it.
  async show(options) {
    const { sentence: name, relation, hit } = options;
    const run = options.run ? runNamed(this.manifest, options.run) : this.#run(this.manifest.shown);
    if (!run) throw new Fault("No run of this bank shows sentences.");
    if (relation) this.#checkRelation(relation);
    const names = await this.#names(run);
    const at = await this.#placeOf(names, name, run);
    const [id] = names[at];
    const sheet = await this.#sheet(run.id, id);
    const heads = headsOf(options.head || await this.#bestHead(run, relation), run);
    const attention = await this.#attention(sheet, heads.map((head) => head.join("-")));
    const isSaved = this.manifest.saved.some((row) => row.name === relation);
    const saved = isSaved ? await this.database.rows(this.manifest.statements["sentences/saved_pairs"], { relation, sentences: [id] }) : null;
    const around = [names[at - 1], names[at + 1]].map((neighbour) => neighbour?.[0] ?? null);
    return shown({ ...shownRecord({ ...options, id, sheet, run, heads, saved, marked: markedIn(hit, id) }, attention), around, notes: [] });
  }

  async #placeOf(names, name, run) {
    if (/^\s*pattern|\{/.test(name)) {
      const made = await this.compiler.compiled({ request: name, by: null, corpus: run.corpus_name, run: null, limit: 1000, sample: null });
      const places = new Map(names.map(([id], at) => [id, at]));
      const row = (await this.database.rows(made.statement)).find((hit) => places.has(hit.sentence));
      if (!row) throw new Fault(`The request matches nothing in the run ${run.name}.`);
      return places.get(row.sentence);
    }
    const byId = /^\d+$/.test(name) ? names.findIndex(([id]) => id === Number(name)) : -1;
    if (byId >= 0) return byId;
    const called = names.flatMap(([id, own], at) => (own === name ? [[id, at]] : []));
    if (called.length > 1) throw new Fault(`${called.length} sentences are called ${name}.`, `Give its number: ${called.map(([id]) => id).join(", ")}.`);
    if (!called.length) throw new Fault(`The run ${run.name} has no sentence ${[...name].slice(0, 80).join("")}.`, "Give a sent_id, a number, or a request.");
    return called[0][1];
  }

  async #bestHead(run, relation) {
    try {
      const best = (await this.answer(run.id, "best_head")).find((row) => row.relation === (relation || "all"));
      return best ? `${best.layer}-${best.head}` : "1-1";
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return "1-1";
    }
  }
}

// A frame without p values: a circular test has none.
const withoutP = (frame) => ({ ...frame, values: frame.values.map((column, at) => (isP(frame.columns[at].name) ? column.map(() => null) : column)) });

function typed({ type }, text) {
  const name = type.toLowerCase();
  if (!name.endsWith("[]")) return `cast(${literal(String(text))} as ${name})`;
  const parts = String(text).trim().replace(/^\[|\]$/g, "").split(",").map((part) => part.trim()).filter(Boolean);
  return `cast([${parts.map(literal).join(", ")}] as ${name})`;
}

// The start of a number or of an interval, to sort by.
function number(value) {
  if (value === null) return Infinity;
  const start = String(value).replace(/[[\]]/g, "").split(", ")[0];
  return start === "-∞" ? -Infinity : Number(start);
}

const compare = (one, other) => (one === other ? 0 : one === null ? 1 : other === null ? -1 : one < other ? -1 : 1);

const MOST_HEADS = 16;

function headsOf(text, run) {
  const heads = new Map();
  for (const name of text.split(",").map((part) => part.trim()).filter(Boolean).slice(0, MOST_HEADS)) {
    const pair = /^(\d{1,9})-(\d{1,9})$/.exec(name);
    if (!pair) throw new Fault(`${name.slice(0, 80)} is not a valid head.`, "Write a head as LAYER-HEAD: 3-1.");
    const [layer, head] = [Number(pair[1]), Number(pair[2])];
    if (!run.layer_numbers.includes(layer) || head < 1 || head > run.heads) {
      throw new Fault(`The model of the run ${run.name} has no head ${name}.`, `It has ${run.size}.`);
    }
    heads.set(`${layer}-${head}`, [layer, head]);
  }
  return [...heads.values()];
}

// The words that a hit marks (12:3,5), if they are of this sentence.
function markedIn(hit, id) {
  const match = /^(\d+):([\d,]+)$/.exec(hit);
  if (hit && !match) throw new Fault(`hit cannot be ${hit.slice(0, 40)}.`, "A hit is SENTENCE:WORDS, as in 12:3,5.");
  return match && Number(match[1]) === id ? match[2].split(",").map(Number) : [];
}

// Where the reader is: in a published page the path and the query stand after the #.
export const places = {
  address: () => location.hash,

  here() {
    const [path, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
    const given = Object.create(null);
    for (const [name, value] of new URLSearchParams(query)) if (value) given[name] = value;
    return { path: decoded(path || "/"), given };
  },

  link(path, values = {}) {
    return `#${withQuery(path.split("/").map(encodeURIComponent).join("/"), values)}`;
  },

  go(address) {
    if (address === location.hash) dispatchEvent(new Event("hashchange"));
    else location.hash = address;
  },

  push(address) {
    history.pushState(null, "", address);
  },

  watch(listener) {
    addEventListener("hashchange", listener);
  },
};
