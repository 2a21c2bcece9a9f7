// The pages of a bank: an address names a view, whose records a connector reads (rest.js from the
// server; a published page from its files and DuckDB).
import { Atlas } from "./atlas.js";
import { compareView } from "./compare.js";
import { Context } from "./context.js";
import { html, render } from "./dom.js";
import { Fault } from "./fault.js";
import { findView } from "./find.js";
import { faultBox } from "./forms.js";
import { examplesView, headView } from "./head.js";
import { mapView } from "./map.js";
import { modelView, sentenceView, typedView } from "./sentence.js";
import { analysisView, bare, contentsView, EXAMPLE, statementView, tablesView } from "./tables.js";
import { tools } from "./tools.js";

const VIEWS = [
  [/^\/map$/, mapView, "Map of the heads"],
  [/^\/head\/[^/]+$/, headView, "Head"],
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
  // `places` reads and makes addresses, and tells of new ones.
  constructor(main, connector, places) {
    Object.assign(this, { main, connector, places });
    this.name = document.title;
    this.statements = new Set([EXAMPLE]);
    this.turn = 0;
  }

  async start() {
    const [record, { analyses, measures }] = await Promise.all([this.connector.bank(), this.connector.catalogue()]);
    const { connector } = this;
    this.bank = { ...record, analyses, connector, measures: new Map(measures.map((measure) => [measure.key, measure])) };
    this.main.replaceChildren();
    this.main.addEventListener("submit", (event) => this.#submit(event));
    this.main.addEventListener("change", ({ target }) => {
      // What is chosen or ticked is shown at once; the atlas and text fields have their own ways.
      if (target.matches("form:not(.atlas-controls) :is(select, [type=checkbox])")) target.form.requestSubmit();
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
    let view = null;
    if (path === "/" || path === "/heads" || path === "/overview") {
      await this.#showAtlas();
    } else {
      this.atlas = null;
      this.main.setAttribute("aria-busy", "true");
      const title = VIEWS.find(([pattern]) => pattern.test(path))?.[2] ?? "";
      if (!this.main.children.length) render(html`<h1>${title}</h1><p class="hint">Loading…</p>`, this.main);
      view = await this.#showView(path, given, turn);
    }
    if (turn !== this.turn) return; // somebody went on meanwhile
    this.main.removeAttribute("aria-busy");
    await view?.after?.(this.main);
    if (turn !== this.turn) return;
    this.main.dataset.address = address;
  }

  async #showAtlas() {
    if (!this.atlas) {
      this.atlas = new Atlas(this);
      this.main.replaceChildren();
      render(html`<h1>Atlas of heads</h1><div id="atlas"></div>`, this.main);
      this.atlas.container = this.main.querySelector("#atlas");
    }
    this.main.removeAttribute("aria-busy");
    this.#name("Atlas of heads", "/", this.places.here().given.run);
    await this.atlas.read();
  }

  async #showView(path, given, turn) {
    const [, make, title] = VIEWS.find(([pattern]) => pattern.test(path)) ?? [];
    const context = new Context(this, path, given);
    let view;
    try {
      if (!make) throw new Fault("There is no such page.");
      view = { title, ...await make(context) };
    } catch (error) {
      if (!(error instanceof Fault)) console.error(error);
      const shown = error instanceof Fault ? error : new Fault(`unexpected ${error.name}: ${error.message}`);
      view = { title: title ?? "Page not found", content: faultBox(shown) };
    }
    if (turn !== this.turn) return null;
    const resume = focusIn(this.main);
    this.main.replaceChildren();
    render(html`<h1>${view.heading ?? view.title}</h1>
      ${context.notes.map((note) => html`<p class="note">${note}</p>`)}
      ${view.content}
      ${tools(context, view)}`, this.main);
    resume();
    document.dispatchEvent(new Event("attnbank:filled"));
    this.#name(view.title, path, given.run);
    return view;
  }

  // The title of the window, and the place in the menu.
  #name(title, path, run) {
    document.title = `${title} · ${this.name}`;
    for (const anchor of document.querySelectorAll("nav[aria-label=Views] a")) {
      const address = anchor.dataset.path;
      const isHere = path === address || (address !== "/" && path.startsWith(`${address}/`));
      if (isHere) anchor.setAttribute("aria-current", "page");
      else anchor.removeAttribute("aria-current");
      anchor.setAttribute("href", this.places.link(address, { run }));
    }
  }

  // Load what a published bank is asked with, then show the view again with what needed it.
  async loadBank() {
    this.main.setAttribute("aria-busy", "true");
    await this.connector.open().catch((error) => {
      if (!(error instanceof Fault)) throw error;
    });
    await this.show();
  }

  // Whether a statement runs: an address with one may be somebody else's.
  runs(statement) {
    return this.connector.trustsAddresses || this.statements.has(statement);
  }

  #submit(event) {
    if (event.defaultPrevented) return; // a form of the atlas
    event.preventDefault();
    const values = Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value !== ""));
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

// Show the pages of a bank, or why they cannot be shown.
export async function open(connector, places) {
  const main = document.getElementById("content");
  const app = new App(main, connector, places);
  try {
    await app.start();
  } catch (error) {
    if (!(error instanceof Fault)) console.error(error);
    const shown = error instanceof Fault ? error : new Fault(`This page cannot be shown: ${error.message}`);
    render(html`<h1>${app.name}</h1>${faultBox(shown)}`, main);
    main.removeAttribute("aria-busy");
  }
  return app;
}
