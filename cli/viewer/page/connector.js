// How pages read the records of a bank: by their addresses (cli/viewer/records.py), each once. The
// explorer's server (main.js) and a published page (published/connector.js) answer them.
import { Frame } from "./cells.js";

export class Connector {
  #answers = new Map();
  #frames = new WeakMap(); // of records: the rows of an answer are made once

  // The record at an address.
  get(path, given = {}, options = {}) {
    const parameters = filled(given);
    const address = withQuery(path, parameters);
    if (parameters.fresh) this.#answers.delete(address);
    return this.once(address, () => this.read(path, parameters, options));
  }

  async frame(path, parameters, options) {
    const record = await this.get(path, parameters, options);
    if (!this.#frames.has(record)) this.#frames.set(record, new Frame(record));
    return this.#frames.get(record);
  }

  // The rows of an analysis, for a run by its id; "any" is for the run in the parameters.
  answer(run, name, parameters, options) {
    return this.frame(`/answers/${run}/${name}.json`, parameters, options);
  }

  // What a function gives for a key: it is called once, unless it fails.
  once(key, make) {
    if (!this.#answers.has(key)) {
      const pending = make();
      pending.catch(() => this.#answers.delete(key));
      this.#answers.set(key, pending);
    }
    return this.#answers.get(key);
  }
}

// Without what is empty.
const filled = (values) => Object.fromEntries(Object.entries(values)
  .filter(([, value]) => value !== null && value !== undefined && value !== false && value !== ""));

export function withQuery(path, parameters) {
  const query = new URLSearchParams(Object.entries(filled(parameters))
    .map(([name, value]) => [name, value === true ? "1" : value])).toString();
  return query ? `${path}?${query}` : path;
}
