// The pages of a bank: an address names a view, whose records a connector reads.
import { Atlas } from "./atlas.js";
import { compareView } from "./compare.js";
import { Context } from "./context.js";
import { html, render } from "./dom.js";
import { examplesView } from "./examples.js";
import { attempt, Fault } from "./fault.js";
import { findView } from "./find.js";
import { faultBox, hint, note } from "./forms.js";
import { mapView } from "./map.js";
import { modelView, sentenceView, typedView } from "./sentence.js";
import { analysisView, bare, contentsView, EXAMPLE, statementView, tablesView } from "./tables.js";
import { tools } from "./tools.js";

const VIEWS = [
  [/^\/map$/, mapView, "Map of the heads"],
  [/^\/head\/[^/]+\/examples$/, examplesView, "Examples"],
  [/^\/sentences$/, findView, "Sentences"],
  [/^\/sentence$/, sentenceView, "Sentence"],
  [/^\/model$/, modelView, "All heads on one sentence"],
  [/^\/typed$/, typedView, "A sentence of your own"],
  [/^\/compare$/, compareView, "Compare two runs"],
  [/^\/tables$/, tablesView, "Tables and figures"],
  [/^\/tables\/[^/]+$/, analysisView, "Analysis"],
  [/^\/sql$/, statementView, "SQL"],
  [/^\/bank$/, contentsView, "Contents of the bank"],
];

class App {
  name = document.title;
  statements = new Set([EXAMPLE]);
  turn = 0;
  lost = null; // why DuckDB could not be loaded

  // `places` reads and makes addresses, and tells of new ones.
  constructor(main, connector, places) {
    Object.assign(this, { main, connector, places });
  }

  async start() {
    const { connector } = this;
    const records = ["/bank.json", "/analyses.json"].map((path) => connector.get(path));
    const [bank, catalogue] = await Promise.all(records);
    const measures = new Map(catalogue.measures.map((measure) => [measure.key, measure]));
    if (!bank.runs.some((run) => run.ablation)) measures.delete("ablation");
    this.bank = { ...bank, ...catalogue, measures, connector };
    this.main.replaceChildren();
    this.main.addEventListener("submit", (event) => this.#submit(event));
    this.main.addEventListener("change", ({ target }) => {
      // What is chosen or ticked is shown at once; the menus of the atlas have their own ways.
      const isAtOnce = target.matches("form:not(.atlas-controls) :is(select, [type=checkbox])");
      if (isAtOnce) target.form.requestSubmit();
    });
    this.places.watch(() => this.show());
    await this.show();
  }

  // Show the view of the address.
  async show() {
    const turn = ++this.turn;
    const address = this.places.address();
    const { path, given } = this.places.here();
    if (path !== this.path) scrollTo(0, 0);
    this.path = path;
    const isAtlas = /^\/(head\/[^/]+)?$/.test(path);
    const view = isAtlas ? await this.#showAtlas(path, given.run) : await this.#showView(path, given, turn);
    if (turn !== this.turn) return; // somebody went on meanwhile
    this.main.removeAttribute("aria-busy");
    await view?.after?.(this.main);
    if (turn === this.turn) this.main.dataset.address = address;
  }

  // All heads, or the page of one.
  async #showAtlas(path, run) {
    const title = path === "/" ? "Atlas of heads" : `Head ${path.split("/")[2]}`;
    if (this.atlas?.path !== path) {
      this.main.replaceChildren();
      render(html`<h1>${title}</h1><div id="atlas"></div>`, this.main);
      this.atlas = new Atlas(this, this.main.querySelector("#atlas"), path);
    }
    this.main.removeAttribute("aria-busy");
    this.#name(title, { run });
    await this.atlas.read();
  }

  async #showView(path, given, turn) {
    this.atlas = null;
    this.main.setAttribute("aria-busy", "true");
    const [, make, title] = VIEWS.find(([pattern]) => pattern.test(path)) ?? [];
    const isEmpty = !this.main.children.length;
    if (isEmpty) render(html`<h1>${title ?? ""}</h1>${hint("Loading…")}`, this.main);
    const context = new Context(this, path, given);
    const [made, fault] = await attemptAll(() => {
      if (!make) throw new Fault("There is no such page.");
      return make(context);
    });
    const view = made ? { title, ...made } : { title: title ?? "Page not found", content: faultBox(fault) };
    if (turn !== this.turn) return null;
    const resume = focusIn(this.main);
    this.main.replaceChildren();
    render(html`<h1>${view.heading ?? view.title}</h1>
      ${context.notes.map(note)}
      ${view.content}
      ${tools(context, view)}`, this.main);
    resume();
    document.dispatchEvent(new Event("attnbank:filled"));
    this.#name(view.title, given);
    return view;
  }

  // The title of the window, and the place in the menu.
  #name(title, given) {
    document.title = `${title} · ${this.name}`;
    this.linkViews(given);
  }

  // The menu: what was chosen goes along to the other views.
  linkViews({ run, relation, direction, head }) {
    for (const anchor of document.querySelectorAll("nav[aria-label=Views] a")) {
      const address = anchor.dataset.path;
      anchor.setAttribute("href", this.places.link(address, { run, relation, direction, head }));
      const isHere = this.path === address || (address !== "/" && this.path.startsWith(`${address}/`));
      if (isHere) anchor.setAttribute("aria-current", "page");
      else anchor.removeAttribute("aria-current");
    }
  }

  // Load what a published bank is asked with, then show the view again with what needed it.
  async loadBank() {
    this.main.setAttribute("aria-busy", "true");
    [, this.lost] = await attempt(() => this.connector.open());
    await this.show();
  }

  // Whether a statement runs: an address with one may be somebody else's.
  runs(statement) {
    return this.connector.trustsAddresses || this.statements.has(statement);
  }

  #submit(event) {
    event.preventDefault();
    const values = Object.fromEntries(new FormData(event.target));
    if (values.statement) this.statements.add(bare(values.statement));
    this.places.go(this.places.link(this.path, values));
  }
}

// What brings the focus back to a field that is shown again, with what has been typed since.
function focusIn(main) {
  const field = document.activeElement;
  if (!main.contains(field) || !field.name) return () => {};
  return () => {
    const again = main.querySelector(`[name="${CSS.escape(field.name)}"]`);
    again?.focus({ preventScroll: true });
    if (!again || field.selectionStart === undefined || field.selectionStart === null) return;
    again.value = field.value;
    again.setSelectionRange(field.selectionStart, field.selectionEnd);
  };
}

// As `attempt`; an error that nobody foresaw is shown to the reader, too.
const attemptAll = (make) => attempt(make).catch((error) => {
  console.error(error);
  return [null, new Fault(`unexpected ${error.name}: ${error.message}`)];
});

// Show the pages of a bank, or why they cannot be shown.
export async function open(connector, places) {
  const main = document.getElementById("content");
  const app = new App(main, connector, places);
  const [, fault] = await attemptAll(() => app.start());
  if (!fault) return;
  render(html`<h1>${app.name}</h1>${faultBox(fault)}`, main);
  main.removeAttribute("aria-busy");
}
