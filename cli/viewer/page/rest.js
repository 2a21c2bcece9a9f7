// What pages read, from the server of attnbank explore: the addresses of cli/viewer/records.py. A
// published page has a connector with the same methods (cli/publish/page/connector.js).
import { Fault } from "./fault.js";

export class Rest {
  #answers = new Map();
  isLive = true; // anything can be asked, and not only what was asked when a bank was published
  canScore = true; // a request
  hasExamples = true; // pages with all examples of a head

  bank() {
    return this.#get("/bank.json");
  }

  catalogue() {
    return this.#get("/analyses.json");
  }

  // The rows of an analysis as objects, for a run by its id; their `notes` are what it warns of.
  async answer(run, name, parameters = {}) {
    return withNotes(await this.#get(`/answers/${run}/${name}.json`, parameters));
  }

  // The score of every head on the pairs of words that a request finds.
  async scores(run, parameters) {
    return withNotes(await this.#get(`/scores/${run}.json`, parameters));
  }

  // The relations of each head, by their gain over the best fixed offset.
  async profile(run) {
    return withNotes(await this.#get(`/profiles/${run}.json`));
  }

  // Examples of what a head gets right and wrong, and its errors by their properties.
  examples(run, head, parameters) {
    return this.#get(`/examples/${run}/${head}.json`, parameters);
  }

  // A sentence in the input of a run, with the maps and peaks of a head.
  sentence(run, id, head) {
    return this.#get(`/sentences/${run}/${id}.json`, { heads: head });
  }

  // An answer is asked for once, unless it failed.
  #get(path, parameters = {}) {
    const query = new URLSearchParams(parameters).toString();
    const address = query ? `${path}?${query}` : path;
    if (!this.#answers.has(address)) {
      const pending = read(address);
      pending.catch(() => this.#answers.delete(address));
      this.#answers.set(address, pending);
    }
    return this.#answers.get(address);
  }
}

async function read(address) {
  let response;
  try {
    response = await fetch(address);
  } catch {
    throw new Fault("The explorer does not answer.", "Is attnbank explore still running? Start it again, and open the address that it prints.");
  }
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  const body = isJson ? await response.json() : null;
  if (response.ok && body && !body.error) return body;
  if (body?.error) throw new Fault(body.error.fact, body.error.remedy);
  throw new Fault(`The explorer answered with status ${response.status}.`, "Reload the page.");
}

export function withNotes(frame) {
  frame.rows ??= Object.assign(rowsOf(frame), { notes: frame.notes ?? [] });
  return frame.rows;
}

function rowsOf({ columns, values }) {
  const height = values.length ? values[0].length : 0;
  return Array.from({ length: height }, (_, at) => {
    const row = Object.create(null);
    columns.forEach(({ name }, column) => { row[name] = values[column][at]; });
    return row;
  });
}

// Where the reader is: in the explorer the path and the query of the address.
export const places = {
  parameters: () => new URLSearchParams(location.search),
  link: (path, parameters) => `${path}?${parameters}`,
};
