// Requests in Grew's language: those of the bank were compiled when it was published; others are
// compiled here by the same compiler, in Python, which is loaded when somebody types one.
import { Fault } from "viewer/fault.js";

// Load the compiler: a function from JSON to JSON (cli/viewer/in_browser.py).
export async function loadCompiler(pages, tell) {
  tell("Loading the query engine…");
  try {
    return await compilerIn(`${pages}pyodide/`);
  } catch (error) {
    if (error instanceof Fault) throw error;
    const fact = `The compiler of requests cannot be loaded: ${error.message}`;
    throw new Fault(fact, "Reload the page, or choose a request from the list.");
  } finally {
    tell("");
  }
}

async function compilerIn(home) {
  const { loadPyodide } = await import(`${home}pyodide.mjs`);
  const python = await loadPyodide({ indexURL: home });
  for (const name of ["lark.zip", "attnbank.zip"]) {
    const answer = await fetch(`${home}${name}`);
    if (!answer.ok) throw new Fault(`The host did not return ${name}: ${answer.status}.`);
    python.unpackArchive(await answer.arrayBuffer(), "zip", { extractDir: "/attnbank" });
  }
  python.runPython("import sys; sys.path.insert(0, '/attnbank')");
  return python.pyimport("attnbank.cli.viewer.in_browser").compiled;
}
