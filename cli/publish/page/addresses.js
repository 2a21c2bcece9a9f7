// The addresses of the page: those of the explorer, after the #. #/head/3-1?relation=obj
import { Fault } from "viewer/fault.js";

export function link(path, values = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (name === "__keywords" || value === null || value === undefined || value === false || value === "") continue;
    parameters.append(name, value === true ? "1" : String(value));
  }
  const query = parameters.toString();
  return `#${path.split("/").map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

// The path and the parameters of the address that is shown.
export function here() {
  const [path, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const given = Object.create(null);
  for (const [name, value] of new URLSearchParams(query)) if (value) given[name] = value;
  let decoded = path || "/";
  try {
    decoded = decodeURIComponent(decoded);
  } catch {
    // a % that begins no character stays as it is
  }
  return { path: decoded, given };
}

const LONGEST = 20000;
export const ROWS = 500;

// A request for a view: the parameters of the address, paging, notes and commands.
export class RequestContext {
  constructor(app, path, given) {
    Object.assign(this, { app, path, given });
    this.notes = [];
    this.frame = null; // the one that Download CSV gives
    this.command = "";
    this.plotCommand = "";
  }

  get run() {
    return this.given.run ?? null;
  }

  text(name, usual = "") {
    const value = this.given[name] ?? usual;
    if (value.length > LONGEST) throw new Fault(`${name} has ${value.length} characters.`, `Give at most ${LONGEST}.`);
    return value;
  }

  chosen(name, choices) {
    const choice = this.text(name, choices[0]);
    if (!choices.includes(choice)) throw new Fault(`${name} cannot be ${choice}.`, `Use one of: ${choices.join(", ")}.`);
    return choice;
  }

  number(name, usual, least, most) {
    const text = this.text(name, String(usual));
    if (!/^\d{1,9}$/.test(text) || Number(text) < least || Number(text) > most) {
      throw new Fault(`${name} cannot be ${text}.`, `Give a number from ${least} to ${most}.`);
    }
    return Number(text);
  }

  flag(name) {
    return !["", "0", "no", "false"].includes(this.given[name] ?? "");
  }

  note(text) {
    if (text && !this.notes.includes(text)) this.notes.push(text);
  }

  paging(total, { size = ROWS, name = "page", more = false } = {}) {
    const page = this.number(name, 1, 1, 1000000);
    const pages = Math.max(1, Math.ceil(total / size));
    if (page > pages) {
      throw new Fault(`${name} cannot be ${page}.`, pages === 1 ? "There is one page." : `There are ${pages} pages.`);
    }
    const to = (number) => (number >= 1 && number <= pages
      ? link(this.path, { ...this.given, [name]: number > 1 ? number : null }) : null);
    return {
      first: total ? (page - 1) * size + 1 : 0, last: Math.min(page * size, total), total, has_more: more,
      previous: to(page - 1), next: to(page + 1),
    };
  }
}
