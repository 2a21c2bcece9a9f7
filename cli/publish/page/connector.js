// What the atlas reads, from the files of a publication, and from the bank itself once DuckDB runs
// here: the methods of cli/viewer/page/rest.js.
import { Fault } from "viewer/fault.js";
import { withNotes } from "viewer/rest.js";
import { rowsOf } from "./cells.js";
import { here, RequestContext } from "./addresses.js";
import { ask } from "./views.js";

const IN_A_FILE = 4; // sentences; that of cli/publish/sheets.py

export class Published {
  #answers = new Map();
  canScore = false;
  hasExamples = false;

  constructor(app) {
    this.app = app;
  }

  get isLive() {
    return this.app.database.connection !== undefined;
  }

  open() {
    return this.app.database.open();
  }

  bank() {
    return this.app.file("bank.json");
  }

  catalogue() {
    return this.app.file("analyses.json");
  }

  #nameOf(id) {
    return this.app.manifest.runs.find((run) => run.id === id).name;
  }

  // From a file where it has the rows: all of them, or those with these values in its columns.
  async answer(run, name, parameters = {}) {
    const answer = await this.app.file(`answers/${run}/${name}.json`);
    if (answer?.error) throw new Fault(answer.error.fact, answer.error.remedy);
    if (answer) {
      const all = withNotes(answer);
      const rows = all.filter((row) => Object.entries(parameters).every(([key, value]) => row[key] === value));
      if (rows.length || !Object.keys(parameters).length) return Object.assign(rows, { notes: all.notes });
    }
    if (!this.isLive) throw new Fault(`The rows of ${name} were not published.`, "Show sentences, which loads DuckDB.");
    const key = JSON.stringify([run, name, parameters]);
    if (!this.#answers.has(key)) {
      const given = run === "any" ? parameters : { run: this.#nameOf(run), ...parameters };
      const context = new RequestContext(this.app, "/", {});
      const pending = ask(context, name, given).then((frame) => Object.assign(rowsOf(frame), { notes: context.notes }));
      pending.catch(() => this.#answers.delete(key));
      this.#answers.set(key, pending);
    }
    return this.#answers.get(key);
  }

  async profile(run) {
    const answer = await this.app.file(`answers/${run}/profile.json`);
    if (!answer || answer.error) throw new Fault(answer?.error.fact ?? "The profiles were not published.", answer?.error.remedy ?? "");
    return withNotes(answer);
  }

  examples(run, head, { relation, direction, most }) {
    const [layer, number] = head.split("-").map(Number);
    const values = { run: this.#nameOf(run), relation, direction, most, layer, head: number };
    return this.app.database.rows(this.app.manifest.statements["examples/head_examples"], values);
  }

  async sentence(run, id, head) {
    const { database, manifest } = this.app;
    const sheet = (await this.app.file(`sheets/${run}/${Math.floor(id / IN_A_FILE)}.json`))?.[id];
    if (!sheet) throw new Fault("The sentence was not published.");
    const values = { sequence: sheet.sequence, heads: [head] };
    const maps = await database.rows(manifest.statements["sentences/maps"], values);
    const peaks = await database.rows(manifest.statements["sentences/peaks"], values);
    return { ...sheet, maps, peaks };
  }
}

// Where the reader is: in a published page the path and the query stand after the #.
export const places = {
  parameters: () => new URLSearchParams(here().given),
  link: (path, parameters) => `#${path}?${parameters}`,
};
