// What a view is given: the parameters of its address; and what it collects: warnings, and the
// addresses that it leads to.
import { Fault } from "./fault.js";

const LONGEST = 20_000; // characters of a parameter
const ROWS = 500; // of a table, on one page

export class Context {
  notes = [];

  constructor(app, path, given) {
    Object.assign(this, { app, path, given, bank: app.bank, connector: app.connector });
  }

  // The run in the address, by name or id.
  get run() {
    return this.given.run ?? null;
  }

  text(name, usual = "") {
    const value = this.given[name] ?? usual;
    if (value.length <= LONGEST) return value;
    const [size, most] = [value.length, LONGEST].map(thousands);
    throw new Fault(`${name} has ${size} characters.`, `Give at most ${most}.`);
  }

  choice(name, choices) {
    const choice = this.text(name, choices[0]);
    if (choices.includes(choice)) return choice;
    throw new Fault(`${name} cannot be ${choice}.`, `Use one of: ${choices.join(", ")}.`);
  }

  number(name, usual, least, most) {
    const text = this.text(name, String(usual));
    if (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
    throw new Fault(`${name} cannot be ${text}.`, `Give a number from ${least} to ${most}.`);
  }

  flag(name) {
    return !["", "0", "no", "false"].includes(this.given[name] ?? "");
  }

  note(text) {
    if (text && !this.notes.includes(text)) this.notes.push(text);
  }

  link(path, values) {
    return this.app.places.link(path, values);
  }

  // The rows of an analysis, whose warnings become those of the view.
  async query(name, parameters = {}) {
    const frame = await this.connector.answer("any", name, parameters, { mayLoad: true });
    frame.notes.forEach((note) => this.note(note));
    return frame;
  }

  // The page of `total` rows that the address asks for; `name` is its parameter.
  paging(total, { size = ROWS, name = "page", more = false } = {}) {
    const page = this.number(name, 1, 1, 1_000_000);
    const pages = Math.max(1, Math.ceil(total / size));
    if (page > pages) {
      const there = pages === 1 ? "There is one page." : `There are ${thousands(pages)} pages.`;
      throw new Fault(`${name} cannot be ${thousands(page)}.`, there);
    }
    const to = (number) => (number >= 1 && number <= pages
      ? this.link(this.path, { ...this.given, [name]: number > 1 ? number : null }) : null);
    return {
      from: (page - 1) * size, to: Math.min(page * size, total), total, more,
      previous: to(page - 1), next: to(page + 1),
    };
  }

  // The run of a name or an id; without one, the run that a default names.
  runOf(name, usual = null) {
    return name ? runNamed(this.bank, name) : this.bank.runs.find((run) => run.id === usual) ?? null;
  }
}

// The run of a bank by its name or id.
export function runNamed({ name: bank, runs }, name) {
  const run = runs.find((known) => known.name === name) ?? runs.find((known) => String(known.id) === name);
  if (run) return run;
  const names = runs.map((known) => known.name).join(", ");
  throw new Fault(`There is no run ${name} in ${bank}.`, `It has: ${names}.`);
}

// A number with commas. One formatter for all: toLocaleString makes one each time.
const { format: thousands } = new Intl.NumberFormat("en-US");
export { thousands };
