// The page of a published bank: it fills the explorer's templates, view by view, as the address
// after the # says.
import { Atlas } from "viewer/atlas.js";
import { Fault } from "viewer/fault.js";
import nunjucks from "nunjucks/browser/nunjucks-slim.js";
import { RequestContext, here, link } from "./addresses.js";
import { csv } from "./cells.js";
import { Compiler } from "./compiler.js";
import { places, Published } from "./connector.js";
import { Database } from "./database.js";
import { find } from "./requests.js";
import { sentence } from "./sentence.js";
import { FILTERS } from "./templates-filters.js";
import * as views from "./views.js";

const VIEWS = [
  [/^\/heads$/, views.heads, "heads.html", "Heads"],
  [/^\/map$/, views.map, "map.html", "Map of the heads"],
  [/^\/overview$/, views.overview, "overview.html", "Overview"],
  [/^\/head\/[^/]+$/, views.head, "head.html", "Head"],
  [/^\/sentences$/, find, "sentences.html", "Sentences"],
  [/^\/sentence$/, sentence, "sentence.html", "Sentence"],
  [/^\/compare$/, views.compare, "compare.html", "Compare two runs"],
  [/^\/tables$/, views.tables, "tables.html", "Tables and figures"],
  [/^\/tables\/[^/]+$/, views.analysis, "analysis.html", "Analysis"],
  [/^\/sql$/, views.statement, "statement.html", "SQL"],
  [/^\/bank$/, views.contents, "contents.html", "Contents of the bank"],
];

class App {
  constructor() {
    this.home = new URL(".", location.href.split("#")[0]).href;
    this.pages = new URL(document.documentElement.dataset.pages, this.home).href;
    this.bankUrl = `${this.home}bank.duckdb`;
    this.files = new Map();
    this.title = document.title;
    this.main = document.getElementById("content");
    this.status = document.getElementById("status");
    this.bar = document.getElementById("bar");
    this.shownAt = 0;
    this.statements = new Set([views.EXAMPLE]); // that may run: a link's are somebody else's words
  }

  async start() {
    [this.manifest, { analyses: this.analyses, measures: this.measures }] = await Promise.all([
      this.file("bank.json"), this.file("analyses.json"),
    ]);
    const tell = (text, share = null) => this.tell(text, share);
    this.database = new Database(this.pages, this.bankUrl, this.manifest, tell);
    this.compiler = new Compiler(this.pages, this.manifest, tell);
    this.templates = new nunjucks.Environment([], { autoescape: true, trimBlocks: true, lstripBlocks: true });
    for (const [name, filter] of Object.entries(FILTERS)) this.templates.addFilter(name, filter);
    const globals = { layout: "fragment.html", link, directions: this.manifest.directions, step: views.step, bank_name: this.manifest.name, is_live: false };
    for (const [name, value] of Object.entries(globals)) this.templates.addGlobal(name, value);
    document.getElementById("anywhere").textContent = `attnbank -b ${this.shell(this.bankUrl)} info`;
    addEventListener("hashchange", () => this.show());
    this.main.addEventListener("submit", (event) => this.#submit(event));
    await this.show();
  }

  tell(text, share = null) {
    this.status.textContent = text;
    this.bar.hidden = share === null;
    if (share !== null) this.bar.value = share;
  }

  // A file beside the page as JSON; null where the host has none.
  file(name) {
    if (!this.files.has(name)) {
      const pending = fetch(`${this.home}${name}`).then(async (answer) => {
        if (answer.status === 404 || answer.status === 403) return null;
        if (!answer.ok) throw new Fault(`The host did not return ${name}: ${answer.status}.`, "Try again later.");
        return answer.json();
      });
      pending.catch(() => this.files.delete(name));
      this.files.set(name, pending);
    }
    return this.files.get(name);
  }

  runOf(name) {
    const result = this.manifest.runs.find((run) => run.name === name) ?? this.manifest.runs.find((run) => String(run.id) === name);
    if (!result) throw new Fault(`There is no run ${name} in ${this.manifest.name}.`, `It has: ${this.manifest.runs.map((run) => run.name).join(", ")}.`);
    return result;
  }

  // The run that shows sentences: the one that is named, else the one that answers.
  shownRun(name) {
    return name ? this.runOf(name) : this.manifest.runs.find((run) => run.id === this.manifest.shown) ?? null;
  }

  async names(run) {
    const names = await this.file(`sheets/${run.id}/names.json`);
    if (names === null) throw new Fault(`The sentences of the run ${run.name} were not published.`);
    return names;
  }

  relations() {
    return this.manifest.relations;
  }

  // Whether somebody has sent this statement off here.
  wasGiven(statement) {
    return this.statements.has(statement);
  }

  // A word as a shell takes it.
  shell(text) {
    return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${String(text).replaceAll("'", "'\"'\"'")}'`;
  }

  async show() {
    const turn = ++this.shownAt;
    const address = location.hash;
    const { path, given } = here();
    if (path === "/") {
      await this.#showAtlas(turn, address);
      return;
    }
    const [, view, template, title] = VIEWS.find(([pattern]) => pattern.test(path)) ?? [];
    const context = new RequestContext(this, path, given);
    this.main.setAttribute("aria-busy", "true");
    this.tell("Loading…");
    const variables = { title, given, run: context.run ?? "", runs: () => this.manifest.choices, relations: () => this.relations(), path };
    let name = template;
    try {
      if (!view) throw new Fault("There is no such page.");
      Object.assign(variables, await view(context));
    } catch (error) {
      if (turn !== this.shownAt) return;
      if (!(error instanceof Fault)) console.error(error);
      const fault = error instanceof Fault ? error : new Fault(`unexpected ${error.name}: ${error.message}`);
      Object.assign(variables, { title: title ?? "Page not found", error: fault });
      name = "fragment.html";
    }
    if (turn !== this.shownAt) return; // somebody went on meanwhile
    variables.notes = context.notes;
    variables.command = context.command;
    variables.plot_command = context.plotCommand;
    variables.has_rows = context.frame !== null;
    const answered = variables.answered ?? variables.grid?.run;
    if (answered && /^\/(map|overview|sentence|head\/[^/]+)?$/.test(path)) variables.permalink = link(path, { ...given, run: answered });
    if (variables.drawn) variables.drawn = new nunjucks.runtime.SafeString(variables.drawn);
    this.#fill(this.templates.render(name, variables), variables.title, context);
    this.main.dataset.address = address;
  }

  // The atlas draws itself, and follows the address while it is shown.
  async #showAtlas(turn, address) {
    this.#name("Atlas of heads", "/", here().given.run);
    if (!this.atlas?.container.isConnected) {
      const heading = Object.assign(document.createElement("h1"), { textContent: "Atlas of heads" });
      const container = Object.assign(document.createElement("div"), { id: "atlas" });
      this.main.replaceChildren(heading, container);
      this.tell("");
      this.atlas = new Atlas(container, new Published(this), places);
      await this.atlas.start().catch((error) => {
        if (!(error instanceof Fault)) throw error;
        this.atlas.fail(error);
      });
    }
    if (turn !== this.shownAt) return;
    this.main.removeAttribute("aria-busy");
    this.main.dataset.address = address;
  }

  #fill(html, title, context) {
    this.tell("");
    this.main.innerHTML = html;
    this.main.removeAttribute("aria-busy");
    this.#name(title, context.path, context.run);
    for (const anchor of this.main.querySelectorAll('a[href^="/"]')) anchor.setAttribute("href", `#${anchor.getAttribute("href")}`);
    this.main.querySelector("[data-save=csv]")?.addEventListener("click", () => save(csv(context.frame), `${title.replaceAll(/[^\w.-]+/g, "_")}.csv`, "text/csv"));
    document.dispatchEvent(new Event("attnbank:filled"));
  }

  // The title of the window, and the place in the menu.
  #name(title, path, run) {
    document.title = `${title} · ${this.title}`;
    for (const anchor of document.querySelectorAll("nav[aria-label=Views] a")) {
      const address = anchor.dataset.path;
      const isHere = path === address || (address !== "/" && path.startsWith(`${address}/`));
      if (isHere) anchor.setAttribute("aria-current", "page");
      else anchor.removeAttribute("aria-current");
      anchor.setAttribute("href", link(address, { run }));
    }
  }

  #submit(event) {
    if (event.defaultPrevented) return; // a form of the atlas
    event.preventDefault();
    const values = Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value !== ""));
    if (values.statement) this.statements.add(views.bare(values.statement));
    const address = link(here().path, values);
    if (address === location.hash) this.show();
    else location.hash = address;
  }
}

function save(text, name, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = Object.assign(document.createElement("a"), { href: url, download: name });
  anchor.click();
  URL.revokeObjectURL(url);
}

const app = new App();
window.attnbank = app;
app.start().catch((error) => {
  app.tell("");
  app.main.textContent = `This page cannot be shown: ${error.fact ?? error.message}`;
});
