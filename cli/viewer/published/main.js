// The pages of a published bank: those of the explorer, over its files and DuckDB.
import { open } from "viewer/app.js";
import { shell } from "viewer/commands.js";
import { linkTo, viewAt } from "viewer/connector.js";
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

// Where the reader is: in a published page the path and the query stand after the #.
const places = {
  address: () => location.hash,
  link: (path, values) => `#${linkTo(path, values)}`,

  here() {
    const [path, query] = location.hash.slice(1).split(/\?(.*)/s);
    return viewAt(path || "/", query);
  },

  go(address) {
    if (address === location.hash) dispatchEvent(new Event("hashchange"));
    else location.hash = address;
  },

  // Only change the address.
  push(address) {
    history.pushState(null, "", address);
  },

  watch(listener) {
    addEventListener("hashchange", listener);
  },
};

document.getElementById("anywhere").textContent = `attnbank -b ${shell(`${home}bank.duckdb`)} info`;
const connector = new Published(home, pages, tell);
window.attnbank = connector; // for who looks at it in the console
open(connector, places);
