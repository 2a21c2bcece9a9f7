// What the pages of a published bank read: its files, and the bank itself once DuckDB runs here.
import { compared, Frame, isP } from "viewer/cells.js";
import { literal, quoted } from "viewer/commands.js";
import { Connector } from "viewer/connector.js";
import { runNamed } from "viewer/context.js";
import { attempt, Fault } from "viewer/fault.js";
import { checkHead, headName, headOf, pairOf } from "viewer/measures.js";
import { loadCompiler } from "./compiler.js";
import { Database } from "./database.js";

const IN_A_FILE = 4; // sentences; that of cli/viewer/publishing.py
const MOST_ROWS = 10_000; // of a statement
const MOST_HEADS = 16; // of a sentence
const AROUND = 10; // words left and right of a hit; CONTEXT of queries/options.py
const MOST_HITS = 1000; // among which is the sentence that a request shows
// The word that each word attends to most: the columns of a table below a sentence.
const PREDICTION = [
  ["sent_id", "text"], ["layer", "integer"], ["head", "integer"], ["position", "integer"],
  ["index", "integer"], ["dependent", "text"], ["found_position", "integer"], ["found", "text"],
  ["weight", "float"], ["gold_head", "text"], ["relation", "text"], ["correct", "boolean"],
  ["special", "float"], ["run", "text"],
];
const NOT_HERE = {
  model: "A published bank does not show all heads on one sentence.",
  typed: "A published bank has no model to read a sentence.",
};

export class Published extends Connector {
  isServer = false;
  trustsAddresses = false;
  scored = 0; // requests

  constructor(home, pages, tell) {
    super();
    Object.assign(this, { home, pages, tell });
  }

  // Whether DuckDB runs here already: it is 9 MB, which nobody asked for.
  get isLive() {
    return this.database?.connection !== undefined;
  }

  open() {
    return this.database.open();
  }

  // Each kind of address that is more than a file has a method of its name.
  read(path, parameters, options) {
    const [kind, ...parts] = path.slice(1, -".json".length).split("/");
    const explored = `attnbank -b ${this.home}bank.duckdb explore`;
    if (kind in NOT_HERE) throw new Fault(NOT_HERE[kind], `Type: ${explored}`);
    return this[kind] ? this[kind](parts, parameters, options) : this.#published(path.slice(1));
  }

  // A file beside the page as JSON; null where the host has none.
  file(name) {
    return this.once(`file ${name}`, async () => {
      const answer = await fetch(`${this.home}${name}`);
      if (answer.status === 404 || answer.status === 403) return null;
      if (answer.ok) return answer.json();
      throw new Fault(`The host did not return ${name}: ${answer.status}.`, "Try again later.");
    });
  }

  async #published(name) {
    const record = checked(await this.file(name));
    if (!record) throw new Fault(`The file ${name} was not published.`);
    return record;
  }

  async bank() {
    this.manifest = await this.#published("bank.json");
    const address = `${this.home}bank.duckdb`;
    this.database = new Database(this.pages, address, this.manifest, this.tell);
    return { ...this.manifest, address };
  }

  async analyses() {
    this.catalogue = await this.#published("analyses.json");
    return this.catalogue;
  }

  // They are made in the browser.
  files() {
    return {};
  }

  // Those with no more than a run were drawn when the bank was published.
  picture(name, { run, ...others }) {
    const file = Object.keys(others).length ? null : `${this.#folder(name, run)}/${name}`;
    const address = (theme) => `answers/${file}.${theme}.svg`;
    return this.manifest.pictures.includes(file) ? { light: address("light"), dark: address("dark") } : null;
  }

  // The folder with the answers of an analysis: of the run that is named, or of its default one.
  #folder(name, run) {
    const takesRun = this.catalogue.analyses[name].parameters.some((parameter) => parameter.name === "run");
    if (!takesRun) return "any";
    return run ? runNamed(this.manifest, run).id : this.manifest.defaults[name];
  }

  #run(id) {
    return this.manifest.runs.find((run) => String(run.id) === String(id));
  }

  // The rows of an analysis. With no more than a run they were written when the bank was published, and
  // those of a run are looked for there; others are asked of the bank.
  async answers([id, name], parameters, { mayLoad }) {
    const { run, ...others } = parameters;
    const isWhole = !Object.keys(others).length;
    if (isWhole || id !== "any") {
      const folder = id === "any" ? this.#folder(name, run) : id;
      const { fact, remedy } = (folder === null && this.manifest.unanswered[name]) || {};
      if (fact) throw new Fault(fact, remedy);
      const record = checked(await this.file(`answers/${folder}/${name}.json`));
      if (record && isWhole) return record;
      const isWanted = (row) => Object.entries(others).every(([key, value]) => row[key] === value);
      const rows = record && new Frame(record).where(isWanted);
      if (rows?.height) return rows;
    }
    if (!this.isLive && !mayLoad) {
      throw new Fault(`The rows of ${name} were not published.`, "Show sentences, which loads DuckDB.");
    }
    const given = id === "any" ? parameters : { run: this.#run(id).name, ...parameters };
    const analysis = this.catalogue.analyses[name];
    const values = analysis.parameters.filter((parameter) => parameter.name in given)
      .map((parameter) => `${quoted(parameter.name)} := ${typed(parameter, given[parameter.name])}`);
    const macro = `${analysis.schema}.${quoted(name)}`;
    const frame = await this.database.frame(`select * from ${macro}(${values.join(", ")})`);
    const saved = this.manifest.saved.find((relation) => relation.name === given.relation);
    return withNotes(frame, saved?.is_circular, saved?.warning);
  }

  async statement(_, { statement }) {
    const frame = new Frame(await this.database.frame(statement, MOST_ROWS + 1));
    return Object.assign(frame.slice(0, MOST_ROWS), { is_cut: frame.height > MOST_ROWS });
  }

  // The rows of a statement of the package, with values for its parameters.
  #ask(name, values) {
    const key = `${name} ${JSON.stringify(values)}`;
    return this.once(key, () => this.database.rows(this.manifest.statements[name], values));
  }

  async examples([id, head, part], { page = 1, most, ...of }) {
    this.#checkRelation(of.relation);
    if (!part && !this.isLive) {
      const name = `${of.relation} ${of.direction}`;
      if (this.manifest.judged?.[id]?.[head]?.includes(name)) {
        return (await this.file(`examples/${id}/${head}.json`)).of[name];
      }
      throw new Fault("These examples were not published.", "Show sentences, which loads DuckDB.");
    }
    const skipped = (page - 1) * most;
    return this.#askOfHead(part ? "example_page" : "head_examples", [id, head], { most, skipped, ...of });
  }

  strongest(parts, { measure, most }) {
    return this.#askOfHead("strongest", parts, { target: this.catalogue.strongest[measure], most });
  }

  antecedents(parts, values) {
    return this.#askOfHead("coreference_examples", parts, values);
  }

  #askOfHead(name, [id, head], values) {
    const [layer, number] = pairOf(head);
    return this.#ask(`examples/${name}`, { run: this.#run(id).name, layer, head: number, ...values });
  }

  changes([a, b], { head_a: first, head_b: second, ...of }) {
    this.#checkRelation(of.relation);
    const [[layer_a, head_a], [layer_b, head_b]] = [first, second].map(pairOf);
    const [run_a, run_b] = [a, b].map((id) => this.#run(id).name);
    return this.#ask("examples/changed_words", { run_a, run_b, layer_a, head_a, layer_b, head_b, ...of });
  }

  #checkRelation(relation) {
    const { relations, name } = this.manifest;
    const names = relations.map((known) => known.name);
    if (names.includes(relation) || names.includes(relation.split(/[:$@]/)[0])) return;
    throw new Fault(`No corpus of ${name} has the relation ${relation}.`, `They have: ${names.join(", ")}.`);
  }

  // Sentences with what a head (3-1) attends to in their inputs.
  async sentences([run, head], { sentences }) {
    const ids = sentences.split(",");
    const sheets = await Promise.all(ids.map((id) => this.#sheet(run, id)));
    if (!this.isLive) {
      const isKnown = this.manifest.judged?.[run]?.[head];
      const known = isKnown ? (await this.file(`examples/${run}/${head}.json`)).sentences : {};
      return sheets.map((sheet, at) => ({ ...sheet, maps: [], peaks: [], ...known[ids[at]] }));
    }
    // One by one: of several inputs DuckDB reads all rows between them.
    return Promise.all(sheets.map(async (sheet) => {
      const values = { sequences: [sheet.sequence], heads: [head] };
      const maps = await this.#ask("sentences/maps", values);
      return { ...sheet, maps, peaks: await this.#ask("sentences/peaks", values) };
    }));
  }

  async #sheet(run, id) {
    const sheet = (await this.file(`sheets/${run}/${Math.floor(id / IN_A_FILE)}.json`))?.[id];
    if (!sheet) throw new Fault("The sentence was not published.");
    return sheet;
  }

  // [id, name] of the sentences of a run, in the order of the text.
  #names(run) {
    return this.#published(`sheets/${run.id}/names.json`);
  }

  // A request as SQL: { statement, nodes, keys, by_interval, run }, or the statement for the pairs of two
  // of its nodes, with is_circular and is_selected.
  async #compiled(request) {
    const { requests, name, runs, usual } = this.manifest;
    const known = Object.hasOwn(requests, request.request) && requests[request.request];
    const others = ["by", "corpus", "sample", "dependent", known.run && "run"];
    if (known && others.every((key) => !request[key])) return known;
    const compile = await this.once("compiler", () => loadCompiler(this.pages, this.tell));
    return checked(JSON.parse(compile(JSON.stringify({ ...request, bank: name, runs, usual }))));
  }

  async hits(_, { request, corpus, run, sample, most }) {
    const limit = sample ? null : most;
    const compiled = await this.#compiled({ request, corpus, run, limit, sample });
    const rows = await this.database.rows(compiled.statement);
    if (sample) rows.sort((a, b) => a.sentence - b.sentence);
    const names = Object.keys(rows[0] ?? { sent_id: null, sentence: null });
    const isNumber = (name) => typeof rows[0]?.[name] === "number";
    const shown = run ? runNamed(this.manifest, run) : this.#run(this.manifest.shown);
    const read = shown && new Set((await this.#names(shown)).map(([id]) => id));
    return {
      ...Frame.of(rows, names.map((name) => [name, isNumber(name) ? "integer" : "text"])),
      ...compiled, shown: shown?.name,
      unread: read ? rows.map((row) => row.sentence).filter((id) => !read.has(id)) : [],
    };
  }

  // Some of the hits as they stand in the text.
  async concordance(_, { from, to, ...question }) {
    const { nodes, ...record } = await this.get("/hits.json", question);
    const { rows } = new Frame(record).slice(from, to);
    return this.#ask("patterns/concordance", {
      hits: [...rows.keys()], sentences: rows.map((row) => row.sentence),
      words: rows.map((row) => nodes.map((node) => row[node] ?? 0)), context: AROUND,
    });
  }

  async counts(_, { request, by, corpus, run }) {
    const compiled = await this.#compiled({ request, by, corpus, run });
    const { columns, rows } = new Frame(await this.database.frame(compiled.statement));
    const [first, ...others] = compiled.keys;
    const isNumber = ["integer", "float"].includes(columns.find(({ name }) => name === first)?.kind);
    if (isNumber || compiled.by_interval) {
      rows.sort((a, b) => number(a[first]) - number(b[first])
        || others.reduce((order, key) => order || compared(a[key], b[key]), 0));
    }
    return { ...Frame.of(rows, columns.map(({ name, kind }) => [name, kind])), run: compiled.run };
  }

  // Example requests were scored when the bank was published. The pairs of words that others find are a
  // relation of this page's own, beside the saved ones.
  async scores([id, part = "every"], { request, dependent, head }, { mayLoad = true }) {
    const file = this.manifest.scored?.[`${id} ${dependent} ${head} ${request}`];
    if (file) return (await this.file(file))[part];
    if (!mayLoad) throw new Fault("The scores of this request were not published.");
    const { name: run, control } = this.#run(id);
    const { relation, ...is } = await this.once(JSON.stringify([request, dependent, head, run]), async () => {
      const { statement, ...facts } = await this.#compiled({ request, run, dependent, head });
      await this.database.rows("create temp table if not exists saved_pair as from bank.saved_pair");
      const name = literal(`(request ${this.scored += 1})`);
      await this.database.rows(`insert into temp.saved_pair by name
        select distinct ${name} as relation, word, head_word from (${statement})`);
      return { ...facts, relation: name };
    });
    const of = (analysis, name) => `from ${analysis}(relation := ${relation}, run := ${literal(name)})`;
    const { circular, selected } = this.manifest.warnings;
    const warning = is.is_circular ? circular : is.is_selected ? selected : null;
    if (part === "every") return withNotes(await this.database.frame(of("head_score", run)), is.is_circular, warning);
    const best = [run, control && this.#run(control).name].filter(Boolean).map((name) => of("best_head_test", name));
    return withNotes(await this.database.frame(best.join(" union all ")), is.is_circular, warning);
  }

  // One sentence as it is drawn; attnbank explore shows more of it.
  async shown(_, options) {
    const { sentence, relation, head, hit } = options;
    const run = options.run ? runNamed(this.manifest, options.run) : this.#run(this.manifest.shown);
    if (!run) throw new Fault("No run of this bank shows sentences.");
    if (relation) this.#checkRelation(relation);
    const names = await this.#names(run);
    const at = await this.#placeOf(names, sentence, run);
    const [id] = names[at];
    const sheet = await this.#sheet(run.id, id);
    const heads = parts(head ?? await this.#bestHead(run, relation)).slice(0, MOST_HEADS).map(pairOf);
    heads.forEach((pair) => checkHead(run, pair));
    const marked = markedIn(hit, id);
    const record = await this.#drawn(sheet, heads, { ...options, id, run, marked });
    const around = [names[at - 1], names[at + 1]].map((neighbour) => neighbour?.[0] ?? null);
    return { ...record, id, run: run.name, around, notes: [] };
  }

  // What is drawn of a sentence, as shown_record of cli/viewer/records.py has it.
  async #drawn(sheet, heads, { id, run, marked, relation, direction, coreference, tree, mean = false }) {
    const { name, sequence, written, mentions } = sheet;
    const { rows: positions } = new Frame(sheet.positions);
    const matched = new Set(positions.filter((row) => row.sentence === id && marked.includes(row.index))
      .map((row) => row.position));
    const words = positions.filter((row) => row.is_shown).map(({ position, text, index, is_special, surprisal }) => (
      { position, text, index, is_special, surprisal, is_matched: matched.has(position) }));
    const names = heads.map((pair) => headName(...pair));
    const isSaved = this.manifest.saved.some((saved) => saved.name === relation);
    const values = { sequence, heads: names, mean, shown: words.map((word) => word.position) };
    const ofGold = { ...values, direction, saved: isSaved ? relation : null };
    const weights = await this.#ask("sentences/weights", values);
    const isWhole = weights.every((row) => row.is_whole);
    if (mean && !isWhole) {
      throw new Fault(
        "A mean of heads needs every weight, and the run does not keep them all.",
        "Choose a run that keeps its weights, or no mean.",
      );
    }
    const predictions = await this.#ask("sentences/predictions", { ...ofGold, sentence: id });
    const gold = relation ? await this.#ask("sentences/gold_arcs", { ...ofGold, relation }) : [];
    const panels = mean ? [[null, null]] : heads; // the mean has neither layer nor head
    const ofPanel = (rows, pair) => rows.filter((row) => headOf(row) === headName(...pair));
    const rows = Frame.of(panels.flatMap((pair) => ofPanel(predictions, pair))
      .map((row) => ({ ...row, sent_id: name, run: run.name })), PREDICTION);
    const looks = direction === "head_to_dependent" ? "looked_at_by" : "looks_at";
    for (const column of rows.columns) column.name = column.name.replace(/^found/, looks);
    return {
      name, written, marked, words, heads: names.join(","), norms: run.measure.endsWith("norms"),
      mentions: coreference ? mentions ?? [] : [],
      trees: sheet.tree ? [{ ...sheet.tree, isGold: true, isWanted: Boolean(tree) }] : [],
      facts: [
        ...run.notes, relation && run.notes_of_arcs,
        coreference && (mentions ? run.notes_of_mentions : "No entity is mentioned twice here."),
        matched.size && "Matched words are highlighted.", ...sheet.notes, !isWhole && run.note_of_rest,
      ].filter(Boolean),
      panels: panels.map(([layer, head]) => ({
        name: mean ? `mean of ${names.join(", ")}` : `head ${headName(layer, head)}`, layer, head,
        weights: ofPanel(weights, [layer, head]).map((row) => [row.from_position, row.to_position, row.weight]),
        gold: ofPanel(gold, [layer, head]).map((row) => [row.from_position, row.to_position, row.is_found]),
      })),
      rows,
    };
  }

  // Where a sentence stands among those of a run: by its id, its name, or a request that it matches.
  async #placeOf(names, name, run) {
    if (/^\s*pattern|\{/.test(name)) {
      const compiled = await this.#compiled({ request: name, corpus: run.corpus_name, limit: MOST_HITS });
      const places = new Map(names.map(([id], at) => [id, at]));
      const row = (await this.database.rows(compiled.statement)).find((hit) => places.has(hit.sentence));
      if (!row) throw new Fault(`The request matches nothing in the run ${run.name}.`);
      return places.get(row.sentence);
    }
    const placesWhere = (condition) => [...names.keys()].filter((at) => condition(names[at]));
    const [byId] = placesWhere(([id]) => String(id) === name);
    const called = byId === undefined ? placesWhere(([, own]) => own === name) : [byId];
    if (called.length === 1) return called[0];
    if (called.length) {
      const ids = called.map((at) => names[at][0]).join(", ");
      throw new Fault(`${called.length} sentences are called ${name}.`, `Give its number: ${ids}.`);
    }
    const fact = `The run ${run.name} has no sentence ${[...name].slice(0, 80).join("")}.`;
    throw new Fault(fact, "Give a sent_id, a number, or a request.");
  }

  async #bestHead(run, relation = "all") {
    const [frame] = await attempt(() => this.answer(run.id, "best_head"));
    const best = frame?.rows.find((row) => row.relation === relation);
    return best ? headOf(best) : "1-1";
  }
}

// A record, unless it says why there is none.
function checked(record) {
  if (record?.error) throw new Fault(record.error.fact, record.error.remedy);
  return record;
}

// A frame with its warning; a circular test has no p values.
function withNotes(frame, isCircular, warning) {
  const values = frame.values.map((column, at) => (
    isCircular && isP(frame.columns[at].name) ? column.map(() => null) : column));
  return { ...frame, values, notes: warning ? [warning] : [] };
}

// The parts of a list with commas, each once.
const parts = (text) => [...new Set(text.split(",").map((part) => part.trim()).filter(Boolean))];

function typed({ type }, value) {
  const text = String(value);
  const name = type.toLowerCase();
  if (!name.endsWith("[]")) return `cast(${literal(text)} as ${name})`;
  return `cast(${literal(parts(text.trim().replace(/^\[|\]$/g, "")))} as ${name})`;
}

// The start of a number or of an interval, to sort by.
function number(value) {
  if (value === null) return Infinity;
  const start = String(value).replace(/[[\]]/g, "").split(", ")[0];
  return start === "-∞" ? -Infinity : Number(start);
}

// The words that a hit marks (12:3,5), if they are of this sentence.
function markedIn(hit, id) {
  if (!hit) return [];
  const [, sentence, words] = /^(\d+):([\d,]+)$/.exec(hit) ?? [];
  if (!sentence) {
    throw new Fault(`hit cannot be ${hit.slice(0, 40)}.`, "A hit is SENTENCE:WORDS, as in 12:3,5.");
  }
  return Number(sentence) === id ? words.split(",").map(Number) : [];
}
