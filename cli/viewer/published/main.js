// The pages of a published bank: those of the explorer, over its files and DuckDB.
import { open } from "viewer/app.js";
import { shell } from "viewer/commands.js";
import { Places } from "viewer/places.js";
import { Published } from "./connector.js";

const status = document.getElementById("status");
const bar = document.getElementById("bar");
const home = new URL(".", location.href.split("#")[0]).href;
const pages = new URL(document.documentElement.dataset.pages, home).href;

function tell(text, share = null) {
  status.textContent = text;
  bar.hidden = share === null;
  bar.value = share ?? 0;
}

document.getElementById("anywhere").textContent = `attnbank -b ${shell(`${home}bank.duckdb`)} info`;
const connector = new Published(home, pages, tell);
window.attnbank = connector; // for who looks at it in the console
open(connector, new Places("#"));
