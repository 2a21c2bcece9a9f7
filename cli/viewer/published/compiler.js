// Requests in Grew's language: those of the bank were compiled when it was published; others are
// compiled here by the same compiler, in Python, which is loaded when somebody types one.
import { Fault } from "viewer/fault.js";

export class Compiler {
  constructor(pages, manifest, tell) {
    Object.assign(this, { pages, manifest, tell });
    this.python = null;
  }

  // { statement, nodes, keys, by_interval, run } of a request, or the statement for the pairs of two of
  // its nodes, with is_circular and is_selected. Rejects with a Fault.
  async compiled(request) {
    const known = this.manifest.requests.find((compiled) => compiled.request === request.request
      && !request.by && !request.corpus && !request.run && !request.sample && !request.dependent);
    const result = known ? known.compiled : await this.#compile(request);
    if (result.error) throw new Fault(result.error.fact, result.error.remedy);
    return result;
  }

  async #compile(request) {
    this.python ??= this.#load().catch((error) => {
      this.python = null;
      this.tell("");
      throw error instanceof Fault ? error : new Fault(`The compiler of requests cannot be loaded: ${error.message}`, "Reload the page, or choose a request from the list.");
    });
    const compile = await this.python;
    return JSON.parse(compile(JSON.stringify({ ...request, bank: this.manifest.name, runs: this.manifest.runs, usual: this.manifest.usual })));
  }

  async #load() {
    this.tell("Loading the query engine…");
    const home = `${this.pages}pyodide/`;
    const { loadPyodide } = await import(`${home}pyodide.mjs`);
    const python = await loadPyodide({ indexURL: home });
    for (const name of ["lark.zip", "attnbank.zip"]) {
      const answer = await fetch(`${home}${name}`);
      if (!answer.ok) throw new Fault(`The host did not return ${name}: ${answer.status}.`);
      python.unpackArchive(await answer.arrayBuffer(), "zip", { extractDir: "/attnbank" });
    }
    python.runPython("import sys; sys.path.insert(0, '/attnbank')");
    const compile = python.pyimport("attnbank.cli.viewer.in_browser").compiled;
    this.tell("");
    return compile;
  }
}
