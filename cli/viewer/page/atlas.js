// The atlas: all heads as a grid, the chosen one as a profile, and sentences that it gets right and
// wrong. All three are linked: what is chosen in one changes the others, and stands in the address. The
// page of one head is the same without the grid.
import { brush } from "./brush.js";
import { command, commandsOf, shell } from "./commands.js";
import { Context, runNamed, thousands } from "./context.js";
import { html, render } from "./dom.js";
import {
  antecedentsOf, breakdownsOf, changesOf, exampleList, examplesOf, examplesOfBothKinds, strongestList, strongestOf,
} from "./examples.js";
import { attempt, Fault } from "./fault.js";
import { examplesOfRequest } from "./find.js";
import {
  button, choice, definitions, directionBox, faultBox, hint, note, relationBox, showSentences, tick,
} from "./forms.js";
import { gainPlot, historyOf, unfound } from "./gains.js";
import { gridOf, namesOf, smallGrids } from "./grids.js";
import { filesOfHead, tablesOfHead } from "./head.js";
import {
  addBestScore, checkHead, headName, highest, isSignificant, MENTIONS, pairOf, percent, stretched,
  valuesOf, written,
} from "./measures.js";
import {
  behavioursOf, besideOf, drawMeans, drawProfile, effectsOf, headline, lossOf, meanOf, profileData, profileOf,
  scoreOf, testedScores, verdict,
} from "./profile.js";
import { tools } from "./tools.js";

const EXAMPLES = { atlas: 3, head: 12 }; // of a kind
const PAUSE = 900; // milliseconds between two steps of a training that plays
const REQUEST = "pattern { V -[obj]-> O }";
// What an address may choose.
const CHOICES = [
  "run", "by", "relation", "direction", "kind", "stretch", "head", "beside", "request", "dependent", "governor",
];

// The grid before there are values.
const WAITING = {
  title: "Computing what each head finds…", remark: "", ends: [0, 1], isShare: true, values: new Map(), rows: new Map(),
};

const headAt = (element) => element?.closest("[data-head]");

// Enter asks; with Shift it begins a line.
function submitAtEnter(event) {
  if (event.key !== "Enter" || event.shiftKey) return;
  event.preventDefault();
  event.target.form.requestSubmit();
}

// Whether heads of a run may have values of a measure.
const hasValues = (bank, run, key) => bank.measures.has(key) && run.measures.includes(key);

export class Atlas {
  state = {};
  grid = null; // the values of the large grid
  data = null; // of the profiles of all heads
  small = []; // the values of the small grids
  missing = []; // titles of small grids that cannot be made, with the faults
  examples = null; // of the chosen head
  strongest = null; // sentences in which the chosen head does most of what the grid shows
  shared = null; // how many dependents the chosen head and the one beside it find, each and both
  history = []; // the best head of the relation at each step of a training
  fault = null; // why there is no grid
  faults = []; // what is wrong with the address
  lost = null; // why there are no sentences
  hovered = null; // the head under the pointer
  brushed = new Set(); // heads whose mean is shown
  isPlaying = false;
  templates = new Map(); // templates, with what they were made from
  ofRun = null; // the run whose profiles and small grids these promises are for:
  relations = null; // what its heads find
  rest = null; // where their attention goes, and the small grids

  // `path` is that of the page, /head/3-1 of one with a single head.
  constructor(app, container, path) {
    Object.assign(this, { app, container, path, bank: app.bank, connector: app.connector, places: app.places });
    this.name = path === "/" ? null : path.split("/")[2];
  }

  // Bring the grid, the profile and the sentences to what the address says; later calls overtake earlier ones.
  async read() {
    const turn = this.turn = Symbol("turn");
    const isCurrent = () => this.turn === turn;
    delete this.container.dataset.settled;
    this.container.dataset.stale = ""; // it shows what was chosen before
    const [state, fault] = await attempt(() => this.#stateOf(this.places.here().given));
    if (!isCurrent()) return;
    if (state) {
      const [, lost] = await attempt(() => this.#load(state, isCurrent));
      if (!isCurrent()) return;
      if (lost) this.#set({ lost });
      const { run, relation, direction, head } = state;
      this.app.linkViews({ run: run.name, relation, direction, head });
    } else {
      render(faultBox(fault), this.container);
    }
    delete this.container.dataset.stale;
    this.container.dataset.settled = "";
  }

  // The address of a view with what is chosen here.
  #link(path, changes = {}) {
    const values = { ...this.state, ...changes };
    return this.places.link(path, { ...values, run: values.run.name });
  }

  // The address of a view of the run with other values alone.
  #linkOfRun(path, values) {
    return this.places.link(path, { run: this.state.run.name, ...values });
  }

  // A state from an address; what that leaves out is chosen, and what is wrong in it is told and left out.
  async #stateOf(given) {
    const { bank } = this;
    if (!bank.runs.length) throw new Fault("The bank has no run.", "Type: attnbank ingest CORPUS -m MODEL");
    const context = new Context(this.app, this.path, given);
    const run = context.runOf(given.run, bank.defaults.best_head ?? bank.shown) ?? bank.runs[0];
    const state = Object.fromEntries(CHOICES.map((name) => [name, given[name]?.trim() ?? null]));
    Object.assign(state, { run, stretch: context.flag("stretch") });
    if (this.name) {
      checkHead(run, pairOf(this.name));
      state.head = this.name;
    }
    this.faults = [];
    const checks = {
      direction: (name) => context.choice(name, run.directions),
      kind: (name) => context.choice(name, MENTIONS.map(([kind]) => kind)),
      head: (name) => checkHead(run, pairOf(state[name])),
      beside: (name) => checkHead(run, pairOf(state[name])),
      by: (name) => context.choice(name, ["gain", "request", ...bank.measures.keys()]),
    };
    for (const [name, check] of Object.entries(checks)) {
      try {
        if (state[name]) check(name);
      } catch (fault) {
        this.faults.push(fault);
        state[name] = null;
      }
    }
    state.direction ??= bank.directions[0];
    if (!state.by || (state.by === "relation" && !state.relation)) {
      // While it is computed, the heads stand there without values.
      const waiting = { ...state, by: state.by ?? "relation", relation: state.relation ?? "all" };
      if (!this.grid) this.#set({ state: waiting });
      // The relation that some head, or that of the page, finds most above a fixed offset, if any; without trees, a
      // behaviour.
      const data = await this.#dataOf(run);
      const top = !this.name ? data.first : given.direction ? null : profileOf(data, this.name).relations[0];
      if (top && !state.relation) Object.assign(state, { relation: top.relation, direction: top.direction });
      state.by ??= data.relations.length || state.relation ? "relation" : "previous";
    }
    state.relation ??= "all";
    return state;
  }

  // What the heads of a run find, loaded once for a run, whatever is chosen meanwhile.
  #dataOf(run) {
    if (this.ofRun !== run) {
      Object.assign(this, { ofRun: run, data: null, small: [], missing: [], rest: null });
      this.relations = profileData(this.bank, run).then((data) => {
        if (this.ofRun === run) this.data = data;
        return data;
      });
    }
    return this.relations;
  }

  async #load(state, isCurrent) {
    const { run } = state;
    const heads = this.#dataOf(run);
    const [grid, fault] = await attempt(() => valuesOf(this.bank, run, state));
    if (!isCurrent()) return;
    state.head ??= (grid && highest(grid.values)) ?? this.state.head ?? headName(run.layer_numbers[0], 1);
    this.#set({ state, grid, fault, lost: null, examples: null, strongest: null, shared: null, history: [] });
    delete this.container.dataset.stale;
    const data = await heads;
    // A saved relation, one with a subtype, or all: it is tested by itself.
    const isTested = !this.#isOfRelation || data.scores.has(state.relation)
      || data.relations.some(({ relation }) => relation === state.relation);
    if (!isTested && !fault && this.connector.isLive) {
      data.scores.set(state.relation, await testedScores(this.connector, run, state.relation));
      if (isCurrent()) this.data = { ...this.data }; // what is drawn of it is drawn again
    }
    if (!isCurrent()) return;
    this.update();
    const loadDetails = async (detailsOf) => {
      const details = await detailsOf(this.bank, run);
      if (this.ofRun === run) this.#set({ data: { ...this.data, ...details } });
    };
    this.rest ??= Promise.all([
      ...[besideOf, behavioursOf, effectsOf].map(loadDetails), this.name ? this.#loadTables(run) : this.#loadSmall(run),
    ]);
    await Promise.all([this.#loadExamples(isCurrent), this.#loadHistory(isCurrent)]);
    await this.rest;
  }

  async #loadTables(run) {
    const tables = await tablesOfHead(new Context(this.app, this.path, this.places.here().given), run, this.name);
    if (this.ofRun === run) this.#set({ tables });
  }

  // The small grids, as their answers come.
  async #loadSmall(run) {
    const { bank } = this;
    const grids = bank.small_grids.filter(({ key }) => key === "gain" || hasValues(bank, run, key));
    await Promise.all(grids.map(async ({ key, title }, at) => {
      const of = { by: key, relation: "all", direction: bank.directions[0], isSmall: true };
      const [grid, fault] = await attempt(() => valuesOf(bank, run, of));
      if (this.ofRun !== run) return;
      if (fault) this.missing.push([title, fault.text]);
      if (!grid || [...grid.values.values()].every((value) => value === null)) return;
      this.#set({ small: [...this.small, { ...grid, key, title, at }].sort((a, b) => a.at - b.at) });
    }));
    this.update();
  }

  get #isOfRelation() {
    return Boolean(this.bank.measures.get(this.state.by)?.has_relation);
  }

  get #isNothingSignificant() {
    const { relations } = this.data ?? {};
    return this.#isOfRelation && relations?.length > 0 && !relations.some((row) => row.significant);
  }

  // The relation on which a head is judged: that of the grid, or of a grid of gains its best one.
  #judged(head = this.state.head) {
    const { by, relation, direction } = this.state;
    if (by !== "gain") return { relation, direction };
    return (this.data && profileOf(this.data, head).relations.find(isSignificant)) ?? null;
  }

  // Sentences that the chosen head gets right and wrong, and what it shares with the one beside it; or
  // those in which it does most of what the grid shows.
  async #loadExamples(isCurrent) {
    const { bank, connector, data, grid, state } = this;
    const { run, head, beside, by } = state;
    if (this.fault) return;
    const most = this.name && connector.isServer ? EXAMPLES.head : EXAMPLES.atlas;
    const row = grid.rows.get(head);
    if (by === "request") {
      const ofBest = addBestScore(bank, run, state, grid).then((isKnown) => isKnown && isCurrent() && this.update());
      const examples = row ? await examplesOfRequest(this, run, state, head, row) : { total: 0 };
      if (isCurrent()) this.#set({ examples });
      await ofBest;
      return;
    }
    if (by === "coreference") {
      const examples = connector.isLive && row ? await antecedentsOf(connector, run, head, row, most) : null;
      if (isCurrent()) this.#set({ examples });
      return;
    }
    if (!this.#isOfRelation && by !== "gain") {
      if (!connector.isLive || !Object.hasOwn(bank.strongest, by)) return;
      const strongest = await strongestOf(connector, run, head, by, 2 * EXAMPLES.atlas);
      if (isCurrent()) this.#set({ strongest });
      return;
    }
    const judged = this.#judged();
    if (!judged || !data.relations.length) return;
    const { relation, direction } = judged;
    const [examples, fault] = await attempt(() => examplesOf(connector, run, head, { relation, direction }, most));
    if (!isCurrent()) return;
    if (fault && connector.isLive) throw fault; // a published page has the examples of best heads
    this.#set({ examples });
    if (beside && beside !== head && connector.isLive) {
      // What a head finds of the relations of the other one.
      const [counted] = await attempt(() => connector.answer(run.id, "head_accuracy"));
      this.data.counted = counted?.rows;
      const sides = [["only_a", head], ["only_b", beside]].map(([kind, name]) => ({ kind, run, head: name, direction }));
      const { count, lines } = await changesOf(connector, relation, sides, EXAMPLES.atlas);
      const only = lines.map((own, at) => [sides[at].head, own.filter(({ breakdown }) => breakdown === "right")]);
      if (isCurrent()) this.#set({ shared: { relation, count, only } });
    }
  }

  // Change some of the state, by the address.
  go(changes) {
    this.brushed = new Set();
    return this.places.go(this.#link(this.path, this.name ? { ...changes, head: null } : changes));
  }

  hover(head) {
    if (head !== this.hovered) this.#set({ hovered: head });
  }

  #set(changes) {
    Object.assign(this, changes);
    this.update();
  }

  update() {
    render(this.#page(), this.container);
  }

  // A template is made again only if one of its sources has changed: the pointer moves over a
  // thousand heads without their grids being drawn again.
  #cached(name, sources, make) {
    const known = this.templates.get(name);
    if (known?.sources.every((source, at) => source === sources[at])) return known.template;
    const template = make();
    this.templates.set(name, { sources, template });
    return template;
  }

  #page() {
    if (this.name) return this.#pageOfHead();
    const { grid, state, data, examples, strongest, brushed, small, missing, faults } = this;
    return html`${this.#introduction()}
      ${grid?.frame.notes.map(note)}
      ${faults.map(faultBox)}
      <div class="atlas">
        <section class="atlas-heads" aria-label="All heads">${this.#controls()}
          ${this.fault ? faultBox(this.fault)
            : this.#cached("grid", [grid, state, brushed, data], () => this.#largeGrid())}
          ${this.#cached("small", [small, missing.length, state.by], () => this.#smallGrids())}</section>
        <section class="atlas-head" aria-label="One head">
          ${brushed.size ? this.#mean() : this.#head()}</section>
        <section class="atlas-sentences" aria-label="Sentences">${this.#cached(
          "sentences", [grid, state, data, examples, strongest, this.shared, this.lost, this.app.lost],
          () => this.#sentences(),
        )}</section>
        ${examples?.dependents ? html`<section class="atlas-breakdowns" aria-label="Where it is right and wrong">
          ${this.#cached("breakdowns", [state, data, examples], () => this.#breakdowns())}</section>` : null}
      </div>
      ${grid ? this.#cached("tools", [grid, state], () => this.#tools()) : null}`;
  }

  #pageOfHead() {
    const { grid, state, data, examples, faults, fault, tables } = this;
    const relation = this.#judged()?.relation ?? state.relation;
    const context = new Context(this.app, this.path, { ...state, head: null, run: state.run.name });
    return html`${this.#introduction()}${faults.map(faultBox)}${faultBox(fault)}
      ${this.#controls()}
      <div class="columns">
        <section class="atlas-head as-file">${this.#head()}
          ${examples?.dependents ? this.#breakdowns() : null}</section>
        <section class="atlas-sentences as-file">${this.#sentences()}</section>
        ${tables}</div>
      ${data ? tools(context, {
        answered: state.run.name, isDrawn: true,
        ...filesOfHead(context, state.run, this.name, relation),
      }) : null}`;
  }

  // The figures of the grid as files, and the commands that give them.
  #tools() {
    const { grid, state: { run, by, request, dependent, governor, stretch } } = this;
    const context = new Context(this.app, "/", { ...this.state, run: run.name });
    const view = { title: grid.title, frame: grid.frame, answered: run.name, isDrawn: true };
    if (by === "request") {
      const options = { from: dependent, to: governor, every: true, run: run.name };
      view.command = command(context, `score ${shell(request)}`, options);
    } else {
      const { analysis, parameters, columnValues, frame } = grid;
      Object.assign(view, commandsOf(context, analysis, parameters, frame, { columnValues, stretch }));
    }
    return tools(context, view);
  }

  // The steps of the training that the run is of; it plays from one to the next.
  #steps() {
    const { steps, name } = this.state.run;
    if (!steps || steps.length < 2) return null;
    const here = steps.findIndex(([, run]) => run === name);
    const to = (at) => this.go({ run: runNamed(this.bank, steps[at][1]) });
    return html`<nav class="steps" aria-label="Steps of the training">
      <p>Step <output class="step">${thousands(steps[here][0])}</output>
        ${button(this.isPlaying ? "Stop" : "Play", () => this.#play(here))}</p>
      <input class="step" type="range" min="0" max=${steps.length - 1} value=${here} .value=${String(here)}
        aria-label="Step" @change=${(event) => to(Number(event.target.value))}>
      ${historyOf(steps, here, this.history)}
      <p>${steps.map(([at, run]) => html`<a href=${this.#link(this.path, { run: { name: run } })}
        aria-current=${run === name ? "page" : null}>${thousands(at)}</a> `)}</p></nav>`;
  }

  async #loadHistory(isCurrent) {
    const { run, relation } = this.state;
    if (!this.#isOfRelation || !(run.steps?.length > 1) || !this.connector.isLive) return;
    const [frame] = await attempt(() => this.connector.answer(run.id, "relation_history", { relation }));
    if (isCurrent()) this.#set({ history: frame?.rows ?? [] });
  }

  async #play(from) {
    this.isPlaying = !this.isPlaying;
    const { steps } = this.state.run;
    let at = from === steps.length - 1 ? 0 : from + 1;
    for (; this.isPlaying && at < steps.length && this.container.isConnected; at++) {
      await this.go({ run: runNamed(this.bank, steps[at][1]) });
      await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
    }
    this.#set({ isPlaying: false });
  }

  // What the bank is, in two sentences.
  #introduction() {
    const { bank, state: { run } } = this;
    const control = bank.runs.find((other) => other.id === run.control);
    const size = `${run.layer_numbers.length} layers of ${run.heads} heads`;
    const names = bank.runs.map(({ name }) => name);
    const change = (name) => this.go({ run: runNamed(this.bank, name), head: this.name, beside: null });
    return html`<p class="lead">${run.model}, ${size}, over ${run.corpus_name}:
      ${thousands(run.sentences)} sentences, ${thousands(run.words)} words.
      ${control ? html`Beside it: the same model with random weights.` : null}
      ${names.length > 1 ? choice("Run", "run", names, run.name, { change }) : null}</p>`;
  }

  #controls() {
    const { bank, state } = this;
    const measures = [...bank.measures].filter(([key]) => key === state.by || hasValues(bank, state.run, key))
      .map(([key, { title, group }]) => [key, title, group]);
    measures.splice(1, 0, ["gain", "Best relation of each head", "Relations"]);
    if (state.request) measures.splice(2, 0, ["request", "Accuracy on a request", "Relations"]);
    const hasDirection = bank.measures.get(state.by)?.has_direction || state.by === "request";
    const change = (name) => ({ change: (value) => this.go({ [name]: value, head: this.name }) });
    return html`<form class="atlas-controls">
      ${choice("Measure", "measure", measures, state.by, change("by"))}
      <div class="of-measure">
        ${this.#isOfRelation ? relationBox(this, state.relation, {
          run: state.run, of: this.data?.relations, ...change("relation"),
        }) : null}
        ${state.by === "coreference" ? choice("Mentions", "kind", MENTIONS, state.kind ?? "all", change("kind")) : null}
        ${hasDirection ? directionBox(this, state.direction, { run: state.run, ...change("direction") }) : null}</div>
    </form>
    ${this.#steps()}
    ${this.name ? null : this.#request()}`;
  }

  #request() {
    const { by, request, dependent, governor, run } = this.state;
    return html`<details class="request" .open=${by === "request"}>
      <summary>Which head finds a request?</summary>
      <form class="atlas-controls"><input type="hidden" name="by" value="request">
        <input type="hidden" name="run" value=${run.name}>
        <label class="long">Request, in Grew's language <textarea name="request" rows="2" spellcheck="false"
          @keydown=${submitAtEnter} required .value=${request ?? REQUEST}></textarea></label>
        <label>From <input name="dependent" size="4" required .value=${dependent ?? "O"}></label>
        <label>To <input name="governor" size="4" required .value=${governor ?? "V"}></label>
        <button>Score all heads</button>
      </form></details>`;
  }

  #largeGrid() {
    const { run, by, head, beside, stretch } = this.state;
    const grid = this.grid ?? WAITING;
    const ends = stretch ? stretched([...grid.values.values()]) : grid.ends;
    const address = this.#link("/head/HEAD", { head: null, beside: null }); // of all heads at once
    const caption = [`${grid.title}.`, this.#highestInWords(), grid.remark].filter(Boolean).join(" ");
    return html`${gridOf(run, grid.values, {
      ends, caption, isShare: grid.isShare, labels: grid.labels, chosen: head, to: (name) => address.replace("HEAD", name),
      kinds: (name) => [name === beside && "held", this.brushed.has(name) && "brushed"],
      on: {
        click: (event) => this.#click(event), keydown: (event) => this.#move(event),
        pointerdown: (event) => this.#brush(event), pointerleave: () => this.hover(null),
        pointerover: ({ target, pointerType }) => {
          if (headAt(target) && pointerType !== "touch") this.hover(headAt(target).dataset.head);
        },
      },
    })}
      ${by === "gain" && this.grid ? this.#gains() : null}
      ${hint(tick("Rescale colours to these values", "stretch", stretch, ({ target }) => (
        this.go({ stretch: target.checked }))))}`;
  }

  // All heads by the gain of their best relation, and the relations that no head finds.
  #gains() {
    const missed = unfound(this.data?.unfound ?? []);
    return html`${gainPlot([...this.grid.rows.values()], this.state.head, {
      choose: (head) => this.go({ head }), hover: (head) => this.hover(head),
    })}
      <details class="hint"><summary>What does no head find? ${missed.length} relations</summary>
        ${definitions(missed)}</details>`;
  }

  #highestInWords() {
    if (!this.grid) return null;
    const { values, isShare, analysis } = this.grid;
    const best = highest(values);
    if (best === null) {
      const why = this.bank.analyses[analysis]?.empty;
      return `No head of this run has a value${why ? `: ${why}` : ""}.`;
    }
    const value = values.get(best);
    const equals = [...values.values()].filter((other) => other === value).length;
    if (equals === values.size && equals > 1) return `All heads have ${written(value, isShare)}.`;
    const score = this.state.by === "gain" ? null : this.#scoreOf(best);
    return `Highest: head ${best}${equals > 1 ? ` and ${equals - 1} more` : ""}, ${written(value, isShare)}${
      score ? `; ${verdict(score)}` : ""}.${this.#isNothingSignificant ? ` ${
      score && isSignificant(score) ? "No relation by itself" : "Nothing"} is significant on ${
      thousands(this.state.run.sentences)} sentences.` : ""}`;
  }

  #click(event) {
    const { head, beside } = this.state;
    const name = headAt(event.target)?.dataset.head;
    if (!name || event.ctrlKey || event.metaKey) return; // the page of the head, in a tab of its own
    event.preventDefault();
    this.hovered = null; // what was chosen is shown, though the pointer is still there
    if (event.shiftKey && name !== head) this.go({ beside: name === beside ? null : name });
    else if (!this.brushed.size) this.go({ head: name });
  }

  // The arrow keys walk over the grid.
  #move(event) {
    const name = event.target.dataset?.head;
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!name || !by) return;
    event.preventDefault();
    const layers = this.state.run.layer_numbers;
    const [layer, head] = pairOf(name);
    const next = headName(layers[layers.indexOf(layer) + by[0]], head + by[1]);
    this.container.querySelector(`[data-head="${next}"]`)?.focus();
    this.hover(document.activeElement.dataset.head);
  }

  // Dragging over the grid chooses a rectangle of heads.
  #brush(event) {
    const from = headAt(event.target);
    if (!from || event.button !== 0 || event.pointerType === "touch" || event.shiftKey) return;
    from.focus();
    brush(event, event.currentTarget.querySelectorAll("[data-head]"), (names) => {
      if (names.size > 1 || this.brushed.size) this.#set({ brushed: names.size > 1 ? names : new Set() });
    });
  }

  #smallGrids() {
    const { small, missing, state: { run, by } } = this;
    return html`${smallGrids(run, small, by, (key) => this.go({ by: key, head: null }))}
      ${missing.length ? html`<details class="hint">
        <summary>${missing.length} not available in this bank</summary>
        ${definitions(missing)}</details>` : null}`;
  }

  #head() {
    const { state, data, hovered } = this;
    const head = hovered ?? state.head;
    if (!data || !head) return html`<h2>Head ${head}</h2>${hint("Computing what each head finds…")}`;
    const other = state.beside && state.beside !== head ? state.beside : null;
    const choose = ({ relation, direction }) => this.go({ by: "relation", relation, direction, head });
    const way = hovered && hovered !== state.head ? html`<span class="hint">click to choose it,
      shift-click to compare it with ${state.head}</span>` : null;
    const [name, to] = this.name ? ["This head in the atlas", this.#link("/")]
      : [`All about head ${head}`, this.#link(`/head/${head}`, { head: null, beside: null })];
    return html`${this.name ? null : html`<h2>Head ${head} ${way}</h2>`}
      <p class="headline">${this.#headline(head)}</p>
      ${this.#losses(head).map(hint)}
      ${drawProfile(profileOf(data, head, other), other && profileOf(data, other, head), this.#judged() ?? state, choose)}
      ${other && head === state.head && this.shared ? this.#sharedSentence() : null}
      ${this.#cached("beside", [state], () => hint(choice(
        "Compare with head", "beside", [["", "none"], ...namesOf(state.run)], state.beside ?? "",
        { change: (name) => this.go({ beside: name || null }) },
      )))}
      ${hint(html`<a href=${to}>${name}</a> ·
        <a href=${this.#linkOfRun("/sentences", { head })}>Search sentences with it</a>`)}`;
  }

  // Whether two heads do the same, in numbers.
  #sharedSentence() {
    const { state: { head, beside }, shared: { relation, count } } = this;
    return html`<p class="shared">Of ${count("both", "only_a", "only_b", "neither")} dependents of
      <strong>${relation}</strong>, both heads find ${count("both")}, only ${head} ${count("only_a")}, only
      ${beside} ${count("only_b")}, neither ${count("neither")}.</p>`;
  }

  // How well a head finds what the grid is about; null where that is no relation.
  #scoreOf(head) {
    const { by } = this.state;
    const row = this.grid?.rows.get(head);
    if (by === "request") return row ?? null;
    if (!this.data || (!this.#isOfRelation && by !== "gain")) return null;
    const judged = this.#judged(head);
    return judged && scoreOf(this.data, head, judged, by === "gain" ? null : row);
  }

  // The one sentence about a head: what the grid shows of it.
  #headline(head) {
    const { grid, state: { by } } = this;
    if (!grid) return null;
    const row = grid.rows.get(head);
    if (by === "ablation" && row) return this.#loss(row);
    const score = this.#scoreOf(head);
    if (by === "gain" && !score) return html`Head <strong>${head}</strong>: no relation significantly above an offset.`;
    const { relation, direction } = this.#judged(head);
    const what = by === "request" ? "pairs of the request"
      : relation === "all" ? "words' heads" : html`<strong>${relation}</strong>`;
    const isSeen = this.state.run.is_causal && direction !== "later_to_earlier";
    if (score) return headline(head, score, isSeen ? html`${what} that the model can see` : what);
    const value = written(grid.values.get(head), grid.isShare);
    const n = typeof row?.n === "number" ? `, n ${thousands(row.n)}` : null;
    return html`${grid.title}: head <strong>${head}</strong> ${value}${n}${this.#besideBehaviour(head)}${
      grid.rules ? `; ${grid.rules}` : ""}.`;
  }

  // What uniform attention and random weights give of a behaviour.
  #besideBehaviour(head) {
    const { analysis, column } = this.bank.measures.get(this.state.by) ?? {};
    const isOfMeasure = (row) => row?.analysis === analysis && row.column === column && column !== "entropy";
    const behaviour = this.data?.behaviours?.map(({ ofHeads }) => ofHeads.get(head)).find(isOfMeasure) ?? {};
    const parts = [["uniform attention", behaviour.chance], ["same head, random weights", behaviour.control]];
    return parts.filter(([, share]) => typeof share === "number").map(([what, share]) => `; ${what} ${written(share, true)}`);
  }

  // What the model loses without the head, and without the edges of the relation that it is judged on.
  #losses(head) {
    const { effects = [] } = this.data;
    const ofHead = effects.find(({ edges, heads }) => edges === null && heads === head);
    const ofEdges = effects.filter((row) => (
      row.class === "cut" && row.edges.startsWith(`${this.#judged()?.relation}, `)));
    const losses = [ofHead, ofEdges.find(({ heads }) => heads === "all") ?? ofEdges[0]];
    return losses.filter((row, at) => row && (at || this.state.by !== "ablation")).map((row) => this.#loss(row));
  }

  #loss(row) {
    const of = { ablation: row.ablation, classification: row.edges && "cut" };
    const ofAll = row.edges && this.data.effects.find(({ ablation, name, class: kind }) => (
      kind === "all" && ablation === row.ablation && name === row.name));
    return lossOf(row, this.#linkOfRun("/tables/ablation_effect", of), ofAll);
  }

  // The mean of the heads that were brushed.
  #mean() {
    const { grid, data, brushed, state } = this;
    const close = () => this.#set({ brushed: new Set() });
    return html`<p class="headline">${grid.title}: ${written(meanOf(brushed, (head) => grid.values.get(head)), grid.isShare)}.</p>
      ${drawMeans(brushed, data?.behaviours ?? [])}
      ${hint(button(`Back to head ${state.head}`, close))}`;
  }

  #sentences() {
    const { state: { run, head, by }, examples, strongest, data, grid } = this;
    const search = (pattern) => this.#linkOfRun("/sentences", { head, pattern });
    const section = (content) => html`<h2>Sentences</h2>${content}`;
    const searching = html`<a href=${search()}>Search sentences</a> with this head.`;
    if (!data || !grid) return this.fault ? null : section(hint("…"));
    const isOfRelation = this.#isOfRelation || by === "gain";
    const isOfPairs = by === "request" || (by === "coreference" && grid.rows.has(head));
    if (isOfRelation && !data.relations.length) {
      return section(hint(html`The corpus has no dependencies to judge a head by. ${searching}`));
    }
    if (!isOfRelation && !isOfPairs && !Object.hasOwn(this.bank.strongest, by)) return section(hint(searching));
    if (isOfRelation && !this.#judged()) {
      return section(hint(`Head ${head} finds no relation significantly more often than a fixed offset.`));
    }
    if (!examples && !strongest && !this.connector.isLive) {
      return section(showSentences(this.app));
    }
    if (this.lost) return section(faultBox(this.lost));
    if (!examples && !strongest) return section(hint("Loading…"));
    const room = this.container.querySelector(".atlas-sentences")?.clientWidth || 460;
    const width = Math.max(300, Math.min(620, room));
    if (strongest) {
      return html`<h2>Head ${head}: where this is strongest</h2>
        ${strongest.length ? strongestList(strongest, this.places.link, run, head, width, this.bank.strongest[by])
          : hint("No sentence of 5 to 14 words has any.")}`;
    }
    const { relation, total, counts } = examples;
    if (!total) {
      return section(hint(isOfPairs ? "The request finds no pair of words in this run."
        : run.is_causal ? `The model sees no head and ${relation} together in this direction.`
        : `No word of the run is a dependent of ${relation} in this direction.`));
    }
    const toAll = (kind) => {
      if (!isOfPairs) return this.#toExamples(examples, kind);
      const pattern = examples.patternOf?.(kind);
      return pattern && search(pattern);
    };
    // The grid counts the roots too, which have no head to find.
    const n = Math.max(total, relation === "all" ? grid.rows.get(head)?.n ?? 0 : 0);
    const [layer, number] = pairOf(head);
    const roots = n - total;
    const remark = by === "request" ? html`<a href=${search(this.state.request)}>All hits of the request</a>`
      : by === "coreference" ? html`An antecedent competes only with the head words of earlier mentions.
        <a href=${this.#linkOfRun("/tables/coreference_prediction", { layer, head: number })}>All predictions</a>`
      : roots ? `${thousands(roots)} of them are roots, which have no head: they count as missed, and are not listed.`
      : null;
    return html`<h2>Head ${head}, ${relation ?? by}: ${percent(counts.right / n)} of ${thousands(n)} found</h2>
      ${remark && hint(remark)}
      ${examplesOfBothKinds(examples, this.places.link, run, head, width, toAll)}
      ${this.shared?.only.filter(([, lines]) => lines.length).map(([name, lines]) => html`<div class="group">
        <h3>Only ${name} finds</h3>${exampleList(this.places.link, run, name, examples, lines, width)}</div>`)}`;
  }

  // The address of all examples of a kind.
  #toExamples({ relation, direction }, breakdown, value = null) {
    const of = { relation, direction, breakdown, value, head: null, beside: null, by: null };
    return this.#link(`/head/${this.state.head}/examples`, of);
  }

  #breakdowns() {
    const { examples } = this;
    const toExamples = (breakdown, value) => this.#toExamples(examples, breakdown, value);
    return breakdownsOf(examples, this.#scoreOf(this.state.head), toExamples);
  }
}
