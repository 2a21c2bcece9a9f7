// What pages read, from the server of attnbank explore: the addresses of cli/viewer/records.py. A
// published page has a connector with the same methods (cli/viewer/published/connector.js).
import { rowsOf } from "./cells.js";
import { Fault } from "./fault.js";

export class Rest {
  #answers = new Map();
  isLive = true; // anything can be asked, and not only what was asked when a bank was published
  isServer = true; // there is a model, and Python
  trustsAddresses = true; // nobody else can make one that the server answers

  bank() {
    return this.#get("/bank.json");
  }

  catalogue() {
    return this.#get("/analyses.json");
  }

  // The contents of the bank.
  async contents() {
    return this.#get("/contents.json");
  }

  // The rows of an analysis as a frame: columns, values, notes, and the run that answered.
  async frame(name, parameters) {
    const frame = await this.#get(`/answers/any/${name}.json`, parameters);
    return { ...frame, run: runIn(frame), isCut: frame.is_cut };
  }

  // The addresses of the rows of an analysis and of its picture, as files.
  files(name, parameters, options = {}) {
    const address = (kind) => withQuery(`/answers/any/${name}.${kind}`, { ...parameters, ...(kind === "csv" ? {} : options) });
    return { csv: address("csv"), svg: address("svg"), pdf: address("pdf"), png: address("png") };
  }

  // The picture of an analysis on a light and a dark screen.
  picture(name, parameters) {
    const address = (theme) => withQuery(`/answers/any/${name}.svg`, { ...parameters, theme });
    return { light: address("light"), dark: address("dark") };
  }

  // The rows of a statement; the first page asks it anew.
  async statement(statement, isFirst) {
    const frame = await read(withQuery("/statement.json", { statement, fresh: isFirst ? 1 : null }));
    return { ...frame, isCut: frame.is_cut };
  }

  // The hits of a request, with its nodes and the sentences that the run has not read.
  async hits(options) {
    const { is_of_heads: isOfHeads, ...hits } = await this.#get("/hits.json", options);
    return { ...hits, isOfHeads };
  }

  counts(options) {
    return this.#get("/counts.json", options);
  }

  // The tokens of sentences, as they are written.
  words(sentences) {
    return this.#get("/words.json", { sentences: sentences.join(",") });
  }

  // One sentence as it is drawn.
  async show(options) {
    return shown(await this.#get("/shown.json", options));
  }

  sentenceFiles(options) {
    return Object.fromEntries(["svg", "pdf", "png"].map((kind) => [kind, withQuery(`/shown.${kind}`, options)]));
  }

  // One head as a picture.
  cardFiles(run, head, relation) {
    return Object.fromEntries(["svg", "pdf", "png"].map((kind) => [kind, withQuery(`/cards/${run}/${head}.${kind}`, { relation })]));
  }

  model(options) {
    return this.#get("/model.json", options);
  }

  async typed(options) {
    const { typed, beside, ...answer } = await this.#get("/typed.json", options);
    return { ...answer, typed: typed && shown(typed), beside: beside && shown(beside) };
  }

  typedFiles(options) {
    return Object.fromEntries(["svg", "pdf", "png"].map((kind) => [kind, withQuery(`/typed.${kind}`, options)]));
  }

  // The heads in the plane of figure 6, as marks.
  map(run) {
    return this.#get("/map.json", { run });
  }

  // The heads nearest to each head.
  nearest(run) {
    return this.#get(`/nearest/${run}.json`);
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

  // How often a head is right, by what the dependent is.
  dependents(run, head, parameters) {
    return this.#get(`/examples/${run}/${head}/dependents.json`, parameters);
  }

  // Dependents that a head of one run finds and a head of another misses.
  changes(run, other, parameters) {
    return this.#get(`/changes/${run}/${other}.json`, parameters);
  }

  // A page of all examples of one kind.
  examplePage(run, head, parameters) {
    return this.#get(`/examples/${run}/${head}/page.json`, parameters);
  }

  // A sentence in the input of a run, with the maps and peaks of a head.
  sentence(run, id, head) {
    return this.#get(`/sentences/${run}/${id}.json`, { heads: head });
  }

  // An answer is asked for once, unless it failed.
  #get(path, parameters = {}) {
    const address = withQuery(path, parameters);
    if (!this.#answers.has(address)) {
      const pending = read(address);
      pending.catch(() => this.#answers.delete(address));
      this.#answers.set(address, pending);
    }
    return this.#answers.get(address);
  }
}

export function withQuery(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== false && value !== "") query.append(name, value === true ? "1" : String(value));
  }
  return query.size ? `${path}?${query}` : path;
}

// The run that answered: the one in the first row.
export function runIn({ columns, values }) {
  const at = columns.findIndex((column) => column.name === "run");
  return at >= 0 && values[at].length ? values[at][0] : null;
}

// A sentence as it is drawn, with its words as objects.
export function shown(record) {
  if (!record.words) return record;
  const words = record.words.map(([position, text, index, is_special, is_matched]) => ({ position, text, index, is_special, is_matched }));
  return { ...record, words };
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
  frame.rows ??= Object.assign(rowsOf(frame), { notes: frame.notes ?? [], columns: frame.columns });
  return frame.rows;
}

// Where the reader is: the path and the query of the address.
const listeners = [];
const notify = () => listeners.forEach((listener) => listener());

export const places = {
  address: () => location.pathname + location.search,

  here() {
    const given = Object.create(null);
    for (const [name, value] of new URLSearchParams(location.search)) if (value) given[name] = value;
    return { path: decoded(location.pathname), given };
  },

  link(path, values = {}) {
    return withQuery(path.split("/").map(encodeURIComponent).join("/"), values instanceof URLSearchParams ? Object.fromEntries(values) : values);
  },

  // Go to an address, and notify the listeners; push only changes the address.
  go(address) {
    history.pushState(null, "", address);
    notify();
  },

  push(address) {
    history.pushState(null, "", address);
  },

  // Show what is typed, in place of what was typed before.
  replace(address) {
    history.replaceState(null, "", address);
    notify();
  },

  // Call a function at each new address. Links to views do not load the page anew.
  watch(listener) {
    listeners.push(listener);
    addEventListener("popstate", listener);
    document.addEventListener("click", (event) => {
      const anchor = event.target.closest?.("a[href]");
      const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
      const href = anchor?.getAttribute("href") ?? "";
      if (event.defaultPrevented || !isPlain || !href.startsWith("/") || anchor.hasAttribute("download")) return;
      event.preventDefault();
      places.go(href);
    });
  },
};

export function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // a % that begins no character
  }
}
