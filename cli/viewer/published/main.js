// The pages of a published bank: those of the explorer, over its files and DuckDB.
import { open } from "viewer/app.js";
import { Fault } from "viewer/fault.js";
import { shell } from "viewer/commands.js";
import { places, Published } from "./connector.js";

const status = document.getElementById("status");
const bar = document.getElementById("bar");
const home = new URL(".", location.href.split("#")[0]).href;
const pages = new URL(document.documentElement.dataset.pages, home).href;

function tell(text, share = null) {
  status.textContent = text;
  bar.hidden = share === null;
  if (share !== null) bar.value = share;
}

// A file beside the page as JSON; null where the host has none.
const files = new Map();
function file(name) {
  if (!files.has(name)) {
    const pending = fetch(`${home}${name}`).then(async (answer) => {
      if (answer.status === 404 || answer.status === 403) return null;
      if (!answer.ok) throw new Fault(`The host did not return ${name}: ${answer.status}.`, "Try again later.");
      return answer.json();
    });
    pending.catch(() => files.delete(name));
    files.set(name, pending);
  }
  return files.get(name);
}

document.getElementById("anywhere").textContent = `attnbank -b ${shell(`${home}bank.duckdb`)} info`;
const connector = new Published({ home, pages, file, tell });
window.attnbank = connector; // for who looks at it in the console
open(connector, places);
