// The atlas: all heads as a grid, the chosen one as a profile, and sentences that it gets right and
// wrong. All three are linked: what is chosen in one changes the others, and stands in the address.
import { arcLine, judge, KEY } from "./arcs.js";
import { dependentBars, errorBars } from "./bars.js";
import { command, pictureOf, rowsCommand, shell } from "./commands.js";
import { Context, thousands } from "./context.js";
import { html, render, repeat, svg } from "./dom.js";
import { Fault } from "./fault.js";
import { foundAndMissed } from "./find.js";
import { faultBox, showSentences } from "./forms.js";
import { cellText, cellTitle, scale } from "./grids.js";
import { checkHead, pairOf } from "./head.js";
import { BEHAVIOURS, headName, highest, isFor, percent, step, stretched, valuesOf, written } from "./measures.js";
import { drawMeans, drawProfile, headline, meanOf, profileData, profileOf } from "./profile.js";
import { tools } from "./tools.js";

const EXAMPLES = 3;
const FREQUENT = 100; // dependents of a relation that the atlas may begin with
const PAUSE = 900; // milliseconds between two steps of a training that plays
const REQUEST = "pattern { V -[obj]-> O }";
const COREFERENT = "pattern { A ~ M; M [upos=PRON]; A << M }"; // its pairs are from the pronoun to its antecedent

export class Atlas {
  constructor(app) {
    Object.assign(this, { app, bank: app.bank, connector: app.connector, places: app.places });
    this.state = {};
    this.hovered = null; // the head under the pointer
    this.brushed = new Set(); // heads whose mean is shown
    this.isPlaying = false;
    this.grid = null;
    this.data = null;
    this.small = [];
    this.missing = [];
    this.examples = null;
    this.shared = null; // what the chosen head and the one beside it find of a relation, each and both
    this.fault = null;
    this.templates = new Map(); // templates, with what they were made from
  }

  // Show what the address says.
  async read() {
    delete this.container.dataset.settled;
    const { path, given } = this.places.here();
    try {
      if (!this.bank.runs.length) throw new Fault("The bank has no run.", "Type: attnbank ingest CORPUS -m MODEL");
      await this.load({ ...(path === "/overview" ? { by: "gain" } : {}), ...given });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.fail(error);
    }
  }

  #link(state, path) {
    return this.places.link(path, { ...state, run: state.run.name });
  }

  // Show why nothing can be shown.
  fail(fault) {
    Object.assign(this, { fault, grid: null, turn: null });
    this.container.removeAttribute("aria-busy");
    render(faultBox(fault), this.container);
    this.container.dataset.settled = "";
  }

  // Show a state; what it leaves out is chosen.
  async load(given) {
    const { bank } = this;
    const context = new Context(this.app, "/", given);
    const run = context.runOf(given.run, bank.defaults.best_head ?? bank.shown) ?? bank.runs[0];
    if (given.direction) context.choice("direction", bank.directions);
    for (const name of [given.head, given.beside].filter(Boolean)) checkHead(run, pairOf(name));
    const state = {
      run, by: given.by ?? null, relation: given.relation ?? null, direction: given.direction ?? null,
      stretch: context.flag("stretch"), head: given.head ?? null, beside: given.beside ?? null,
      min_count: given.min_count ?? null, request: given.request ?? null, dependent: given.dependent ?? null, governor: given.governor ?? null,
    };
    await this.#complete(state);
    await this.show(state);
  }

  // Choose the relation that some head finds best above a fixed offset; without trees, a behaviour.
  async #complete(state) {
    state.direction ??= this.bank.directions[0];
    if (!state.by || (state.by === "relation" && !state.relation)) {
      try {
        const best = (await this.connector.answer(state.run.id, "best_head")).filter((row) => row.relation !== "all");
        const frequent = best.filter((row) => row.n >= FREQUENT);
        const top = (frequent.length ? frequent : best).reduce((one, row) => (one === null || row.gain > one.gain ? row : one), null);
        if (top && !state.relation) Object.assign(state, { relation: top.relation, direction: top.direction });
        state.by ??= "relation";
      } catch (error) {
        if (!(error instanceof Fault) || state.relation) throw error;
        state.by ??= "previous";
      }
    }
    state.relation ??= "all";
    if (state.by !== "gain" && state.by !== "request" && !this.bank.measures.has(state.by)) {
      throw new Fault(`by cannot be ${state.by}.`, "Choose a measure from the list.");
    }
  }

  // Bring the grid, the profile and the sentences to a state; later calls overtake earlier ones.
  async show(state) {
    const turn = this.turn = Symbol("turn");
    const isCurrent = () => this.turn === turn;
    const before = this.state;
    delete this.container.dataset.settled;
    let small = null;
    try {
      const grid = await valuesOf(this.bank, state.run, state);
      if (!isCurrent()) return;
      state.head ??= highest(grid.values) ?? headName(state.run.layer_numbers[0], 1);
      Object.assign(this, { state, grid, fault: null });
      this.update();
      if (before.run?.id !== state.run.id) {
        this.data = null;
        this.small = [];
        this.update();
        const data = await profileData(this.bank, state.run);
        if (!isCurrent()) return;
        this.data = data;
        this.update();
        small = this.#loadSmall(isCurrent);
      }
      await this.#loadHead(isCurrent);
      await small;
    } catch (error) {
      if (!isCurrent()) return;
      if (!(error instanceof Fault)) throw error;
      Object.assign(this, { state, fault: error, grid: null, examples: null });
      this.update();
    }
    if (!isCurrent()) return;
    this.container.dataset.settled = "";
    this.app.main.dataset.address = this.places.address();
  }

  // The small grids, one after the other as their answers come.
  async #loadSmall(isCurrent) {
    const { run } = this.state;
    const keys = BEHAVIOURS.filter(([key]) => (key === "gain" || this.bank.measures.has(key)) && isFor(key, run.is_causal));
    this.missing = [];
    await Promise.all(keys.map(async ([key, title], at) => {
      let values;
      try {
        values = await valuesOf(this.bank, run, { by: key, relation: "all", direction: this.bank.directions[0] });
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        if (isCurrent()) this.missing.push([title, error]);
        return;
      }
      if (!isCurrent() && this.state.run !== run) return;
      if (![...values.values.values()].some((value) => value !== null)) return;
      this.small = [...this.small, { ...values, key, title, at }].sort((a, b) => a.at - b.at);
      this.update();
    }));
    this.update();
  }

  // The relation on which the chosen head is judged: that of the grid, or else the one it finds best.
  #judged() {
    const { by, relation, direction, head } = this.state;
    const best = this.bank.measures.get(by)?.has_relation || !this.data ? null : profileOf(this.data, head).relations[0];
    return best ? { relation: best.relation, direction: best.direction } : { relation, direction };
  }

  // What takes a question of its own: the score of the chosen head with its interval, and examples.
  async #loadHead(isCurrent) {
    const { run, head, beside } = this.state;
    const { relation, direction } = this.#judged();
    this.examples = null;
    this.shared = null;
    if (!this.data?.best.length || this.state.by === "request") {
      this.update();
      return;
    }
    this.update();
    if (!this.connector.isLive) return;
    const scores = scoresOf(this.connector, this.data, run, relation);
    const [rows, dependents] = await Promise.all([
      this.connector.examples(run.id, head, { relation, direction, most: EXAMPLES }), this.connector.dependents(run.id, head, { relation, direction }),
    ]);
    if (!isCurrent()) return;
    const chosen = rows.filter((row) => row.breakdown === "right" || row.breakdown === "wrong");
    const records = await Promise.all(chosen.map((row) => this.connector.sentence(run.id, row.sentence, head)));
    if (!isCurrent()) return;
    this.examples = {
      relation, direction, errors: rows.filter((row) => row.breakdown !== "right" && row.breakdown !== "wrong"),
      total: rows[0] ?? null, dependents,
      lines: chosen.map((row, at) => ({ ...row, record: records[at], judged: judge(records[at], { ...row, direction }) })),
    };
    this.update();
    if (beside && beside !== head) {
      const changes = await this.connector.changes(run.id, run.id, {
        relation, head_a: head, direction_a: direction, head_b: beside, direction_b: direction, most: 1,
      });
      if (!isCurrent()) return;
      this.shared = { relation, counts: new Map(changes.filter((change) => change.n !== null).map((change) => [change.kind, change.n])) };
    }
    await scores;
    if (!isCurrent()) return;
    this.update();
    for (const row of profileOf(this.data, head).relations) {
      await scoresOf(this.connector, this.data, run, row.relation);
      if (!isCurrent()) return;
      this.update();
    }
  }

  // Change some of the state, in the address too.
  go(changes) {
    const state = { ...this.state, ...changes };
    this.places.push(this.#link(state, "/"));
    this.brushed = new Set();
    return this.show(state);
  }

  choose(head) {
    return this.go({ head });
  }

  hover(head) {
    if (head === this.hovered) return;
    this.hovered = head;
    this.update();
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

  update() {
    this.container.removeAttribute("aria-busy");
    render(this.#page(), this.container);
  }

  #page() {
    if (this.fault) return html`${this.#introduction()}${this.#controls()}${faultBox(this.fault)}`;
    if (!this.grid) return html`<p class="hint">Loading…</p>`;
    return html`${this.#introduction()}
      ${this.grid.notes.map((note) => html`<p class="note">${note}</p>`)}
      <div class="atlas">
        <section class="atlas-heads" aria-label="All heads">${this.#controls()}${this.#cached("grid", [this.grid, this.state, this.brushed], () => this.#largeGrid())}${this.#cached("small", [this.small, this.missing.length, this.state.by], () => this.#smallGrids())}</section>
        <section class="atlas-head" aria-label="One head">${this.#head()}</section>
        <section class="atlas-sentences" aria-label="Sentences">${this.#sentences()}</section>
      </div>
      ${this.#cached("tools", [this.grid, this.state], () => this.#tools())}`;
  }

  // The figures of the grid as files, and the commands that give them.
  #tools() {
    const { grid, state } = this;
    const context = new Context(this.app, "/", { ...state, run: state.run.name });
    const view = { title: grid.title, frame: grid.frame, answered: state.run.name };
    if (state.by === "request") {
      view.command = command(context, `score ${shell(state.request)}`, { from: state.dependent, to: state.governor, every: true, run: state.run.name });
    } else if (grid.analysis) {
      view.command = rowsCommand(context, grid.analysis, grid.parameters, grid.columnValues);
      const { files, plotCommand } = pictureOf(context, grid.analysis, grid.parameters, grid.frame, { stretch: state.stretch });
      Object.assign(view, { plotCommand, files: files && { ...files, csv: null } });
    }
    return tools(context, view);
  }

  // The steps of the training that the run is of; it plays from one to the next.
  #steps() {
    const { steps, name } = this.state.run;
    if (!steps || steps.length < 2) return null;
    const at = steps.findIndex(([, run]) => run === name);
    const to = (place) => this.go({ run: this.bank.runs.find((run) => run.name === steps[place][1]) });
    return html`<nav class="steps" aria-label="Steps of the training">
      <label>Step <output class="step">${thousands(steps[at][0])}</output>
        <input class="step" type="range" min="0" max=${steps.length - 1} value=${at} .value=${String(at)} @change=${(event) => to(Number(event.target.value))}></label>
      <button type="button" class="plain" @click=${() => this.#play(at)}>${this.isPlaying ? "Stop" : "Play"}</button>
      ${steps.map(([step, run], place) => html`<a href=${this.#link({ ...this.state, run: { name: run } }, "/")} aria-current=${place === at ? "page" : null}>${thousands(step)}</a>`)}</nav>`;
  }

  async #play(from) {
    this.isPlaying = !this.isPlaying;
    const { steps } = this.state.run;
    for (let at = from === steps.length - 1 ? 0 : from + 1; this.isPlaying && at < steps.length && this.container.isConnected; at++) {
      await this.go({ run: this.bank.runs.find((run) => run.name === steps[at][1]) });
      await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
    }
    this.isPlaying = false;
    this.update();
  }

  // What the bank is, in two sentences.
  #introduction() {
    const { run } = this.state;
    const control = this.bank.runs.find((other) => other.id === run.control);
    const size = `${run.layer_numbers.length} layers of ${run.heads} heads`;
    return html`<p class="lead">${run.model}, ${size}, over ${run.corpus_name}: ${run.sentences?.toLocaleString("en")} sentences, ${run.words?.toLocaleString("en")} words.
      ${control ? html`Beside it: the same model with random weights.` : null}
      ${this.bank.runs.length > 1 ? this.#select("Run", String(run.id), this.bank.runs.map((other) => [String(other.id), other.name]), (id) => this.go({ run: this.bank.runs.find((other) => String(other.id) === id), head: null, beside: null })) : null}</p>`;
  }

  #select(label, value, options, change) {
    return html`<label>${label} <select name=${label.toLowerCase()} @change=${(event) => change(event.target.value)}>${repeat(options, ([key]) => key, ([key, title]) => html`<option value=${key} ?selected=${key === value} .selected=${key === value}>${title}</option>`)}</select></label>`;
  }

  #controls() {
    const { bank, state } = this;
    const measure = bank.measures.get(state.by);
    const measures = [...bank.measures.entries()].map(([key, { title }]) => [key, title]);
    return html`<form class="atlas-controls" @submit=${(event) => event.preventDefault()}>
      ${this.#select("Measure", state.by, [...measures, ["gain", "Best relation: significant gain"], ...(state.request ? [["request", "Accuracy on a request"]] : [])], (by) => this.go({ by, head: null }))}
      ${measure?.has_relation ? this.#select("Relation", state.relation, withChosen(bank.relations, state.relation), (relation) => this.go({ relation, head: null })) : null}
      ${measure?.has_direction || state.by === "request" ? this.#select("Direction", state.direction, bank.directions.map((name) => [name, name.replaceAll("_", " ")]), (direction) => this.go({ direction, head: null })) : null}
    </form>
    ${this.#steps()}
    ${this.#request()}`;
  }

  #request() {
    const { state } = this;
    return html`<details class="request" .open=${state.by === "request"}><summary>Which head finds a request?</summary>
      <form class="atlas-controls" @submit=${(event) => this.#ask(event)}>
        <label class="long">Request, in Grew's language <textarea name="request" rows="2" spellcheck="false" required .value=${state.request ?? REQUEST}></textarea></label>
        <label>From <input name="dependent" size="4" required .value=${state.dependent ?? "O"}></label>
        <label>To <input name="governor" size="4" required .value=${state.governor ?? "V"}></label>
        <button>Score all heads</button>
      </form></details>`;
  }

  #ask(event) {
    event.preventDefault();
    const { request, dependent, governor } = Object.fromEntries(new FormData(event.target));
    this.go({ by: "request", request: request.trim(), dependent: dependent.trim(), governor: governor.trim(), head: null, beside: null });
  }

  #largeGrid() {
    const { grid, state } = this;
    const { run } = state;
    const ends = state.stretch ? stretched(grid.values) : grid.ends;
    const best = highest(grid.values);
    const isSmall = run.heads > 16 || run.layer_numbers.length > 16;
    const heads = Array.from({ length: run.heads }, (_, at) => at + 1);
    return html`<div class="wide">
      <table class=${isSmall ? "grid heads-small" : "grid"} @pointerleave=${() => this.hover(null)} @keydown=${(event) => this.#move(event)}
          @pointerdown=${(event) => this.#startBrush(event)}>
        <caption>${grid.title}. ${best ? html`Highest: head ${best}, ${written(grid.values.get(best), grid.isShare)}.` : null}${grid.remark ? ` ${grid.remark}` : null}</caption>
        <thead><tr><th scope="col">Layer</th>${heads.map((head) => html`<th scope="col">${isSmall && head % 4 ? "" : head}</th>`)}</tr></thead>
        <tbody>${repeat(run.layer_numbers, (layer) => layer, (layer) => html`<tr><th scope="row">${layer}</th>
          ${repeat(heads, (head) => head, (head) => this.#cell(headName(layer, head), ends, isSmall))}</tr>`)}</tbody>
      </table></div>
      ${scale(ends, grid.isShare)}
      <p class="hint"><label class="tick"><input type="checkbox" .checked=${state.stretch} @change=${(event) => this.go({ stretch: event.target.checked })}> Rescale colours to these values</label></p>`;
  }

  #cell(name, ends, isSmall) {
    const { grid, state } = this;
    const value = grid.values.get(name) ?? null;
    const classes = [step(value, ends), name === state.head && "chosen", name === state.beside && "held", this.brushed.has(name) && "brushed"];
    return html`<td class=${classes.filter(Boolean).join(" ")}><a href=${this.#link({ ...state, head: name, beside: null }, `/head/${name}`)}
      tabindex=${name === state.head ? 0 : -1} data-head=${name} aria-current=${name === state.head ? "true" : null}
      aria-label=${`head ${name}: ${written(value, grid.isShare)}`} title=${cellTitle(name, value)}
      @pointerenter=${(event) => { if (event.pointerType !== "touch") this.hover(name); }}
      @click=${(event) => this.#click(event, name)}>${isSmall ? "" : grid.labels?.get(name) ?? cellText(value, grid.isShare)}</a></td>`;
  }

  #click(event, name) {
    if (event.ctrlKey || event.metaKey) return; // the page of the head, in a tab of its own
    event.preventDefault();
    if (event.shiftKey && name !== this.state.head) this.go({ beside: name === this.state.beside ? null : name });
    else if (this.brushed.size < 2) this.choose(name);
  }

  // Hold a head that is typed beside the chosen one.
  #hold(input) {
    try {
      checkHead(this.state.run, pairOf(input.value.trim()));
      this.go({ beside: input.value.trim() });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      input.setCustomValidity(`${error.fact} ${error.remedy}`);
      input.reportValidity();
      input.setCustomValidity("");
    }
  }

  // The arrow keys walk over the grid.
  #move(event) {
    const name = event.target.dataset?.head;
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!name || !steps) return;
    event.preventDefault();
    const layers = this.state.run.layer_numbers;
    const [layer, head] = name.split("-").map(Number);
    const [row, column] = [layers.indexOf(layer) + steps[0], head + steps[1]];
    const next = this.container.querySelector(`[data-head="${headName(layers[row], column)}"]`);
    if (!next) return;
    next.focus();
    this.hover(next.dataset.head);
  }

  // Dragging over the grid chooses a rectangle of heads.
  #startBrush(event) {
    const from = event.target.closest("[data-head]")?.dataset.head;
    if (!from || event.button !== 0 || event.pointerType === "touch" || event.shiftKey) return;
    event.preventDefault(); // or the browser drags the link
    event.target.closest("[data-head]").focus();
    this.brushed = new Set();
    const layers = this.state.run.layer_numbers;
    const move = (moved) => {
      const to = document.elementFromPoint(moved.clientX, moved.clientY)?.closest("[data-head]")?.dataset.head;
      if (!to || (to === from && !this.brushed.size)) return;
      const [[a, b], [c, d]] = [from, to].map((name) => name.split("-").map(Number));
      const within = (value, one, other) => value >= Math.min(one, other) && value <= Math.max(one, other);
      this.brushed = new Set(layers.filter((layer) => within(layer, a, c)).flatMap((layer) => Array.from({ length: this.state.run.heads }, (_, at) => at + 1).filter((head) => within(head, b, d)).map((head) => headName(layer, head))));
      this.update();
    };
    const end = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      if (this.brushed.size === 1) this.brushed = new Set();
      this.update();
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  }

  #smallGrids() {
    const { run } = this.state;
    const side = Math.max(2, Math.min(9, Math.floor(112 / run.heads)));
    return html`<div class="small-grids">${repeat(this.small, (small) => small.key, (small) => html`
      <button type="button" class=${small.key === this.state.by ? "small-grid chosen" : "small-grid"} @click=${() => this.go({ by: small.key, head: null })} title=${small.title}>
        ${svg`<svg width=${run.heads * side} height=${run.layer_numbers.length * side} aria-hidden="true">
          ${run.layer_numbers.map((layer, row) => Array.from({ length: run.heads }, (_, at) => svg`<rect class=${step(small.values.get(headName(layer, at + 1)) ?? null, small.ends)} x=${at * side} y=${row * side} width=${side - (side > 4 ? 1 : 0)} height=${side - (side > 4 ? 1 : 0)}></rect>`))}
        </svg>`}<span>${small.title}</span></button>`)}</div>
      ${this.missing.length ? html`<details class="hint"><summary>${this.missing.length} not available in this bank</summary>
        <dl>${this.missing.map(([title, fault]) => html`<dt>${title}</dt><dd>${fault.fact} ${fault.remedy}</dd>`)}</dl></details>` : null}`;
  }

  #head() {
    const { state, data } = this;
    if (this.brushed.size > 1) return this.#mean();
    const head = this.hovered ?? state.head;
    if (!data) return html`<h2>Head ${head}</h2><p class="hint">Loading…</p>`;
    const profile = profileOf(data, head);
    const beside = state.beside && state.beside !== head ? profileOf(data, state.beside) : null;
    const isOfRelation = this.bank.measures.get(state.by)?.has_relation;
    const score = data.scores.get(state.relation)?.find((row) => headName(row.layer, row.head) === head && row.direction === state.direction);
    // Without a score of its own, and so without an interval, what the profile has of the relation.
    const known = score ?? data.best.find((row) => headName(row.layer, row.head) === head && row.relation === state.relation && row.direction === state.direction);
    const scored = state.by === "request" ? this.grid.rows.get(head) : null;
    const sentence = scored ? headline(head, scored, { what: "pairs of the request" }) : isOfRelation && known && headline(head, known, {
      what: state.relation === "all" ? "words' heads" : html`<strong>${state.relation}</strong>`,
      heldOut: data.heldOut.find((row) => headName(row.layer, row.head) === head && row.relation === state.relation && row.direction === state.direction)?.accuracy ?? null,
      control: data.controlAccuracy.get(`${state.relation} ${state.direction} ${head}`) ?? null,
    });
    return html`<h2>Head ${head} ${this.hovered && this.hovered !== state.head ? html`<span class="hint">click to choose it, shift-click to hold it beside ${state.head}</span>` : null}</h2>
      ${sentence ? html`<p class="headline">${sentence}</p>` : html`<p class="headline">${this.#valueOf(head)}</p>`}
      ${drawProfile(profile, beside, {
        ...this.#judged(),
        choose: (row) => this.go({ by: "relation", relation: row.relation, direction: row.direction, head }),
      })}
      ${beside && head === state.head && this.shared ? this.#sharedSentence() : null}
      ${beside ? html`<p class="hint">Beside it: head ${state.beside} (diamonds). <button type="button" class="plain" @click=${() => this.go({ beside: null })}>Let go</button></p>`
        : html`<p class="hint"><label class="tick">Beside it, head <input name="beside" size="5" placeholder="2-10" @change=${(event) => this.#hold(event.target)}></label></p>`}
      <p class="hint"><a href=${this.#link({ ...state, head: null, beside: null }, `/head/${head}`)}>All about head ${head}</a> · <a href=${this.#link({ run: state.run, head }, "/sentences")}>Search sentences with it</a></p>`;
  }

  // Whether two heads do the same, in numbers.
  #sharedSentence() {
    const { head, beside } = this.state;
    const { relation, counts } = this.shared;
    const count = (kind) => counts.get(kind) ?? 0;
    const all = count("both") + count("only_a") + count("only_b") + count("neither");
    return html`<p class="shared">Of ${thousands(all)} dependents of <strong>${relation}</strong>, both heads find ${thousands(count("both"))}, only ${head} ${thousands(count("only_a"))}, only ${beside} ${thousands(count("only_b"))}, neither ${thousands(count("neither"))}.</p>`;
  }

  #valueOf(head) {
    const { grid } = this;
    const { n } = grid.rows.get(head) ?? {};
    return html`Head <strong>${head}</strong>: ${written(grid.values.get(head) ?? null, grid.isShare)}${typeof n === "number" ? ` of ${thousands(n)}` : null}. ${grid.title}.`;
  }

  // The mean of the heads that were brushed.
  #mean() {
    const { grid, data } = this;
    const close = () => {
      this.brushed = new Set();
      this.update();
    };
    return html`<p class="headline">${grid.title}: ${written(meanOf(this.brushed, grid.values), grid.isShare)}.</p>
      ${drawMeans(this.brushed, data?.behaviours ?? [])}
      <p class="hint"><button type="button" class="plain" @click=${close}>Back to head ${this.state.head}</button></p>`;
  }

  async #goLive() {
    try {
      await this.connector.open();
      await this.show({ ...this.state });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.fault = error;
      this.update();
    }
  }

  // Where the chosen head finds the pairs of a request, and where not.
  #hits() {
    const { grid, state } = this;
    const row = grid.rows.get(state.head);
    if (!row) return html`<h2>Sentences</h2><p class="hint">The request finds no pair of words in this run.</p>`;
    const hits = (pattern) => this.#link({ run: state.run, head: state.head, pattern }, "/sentences");
    return html`<h2>Head ${state.head}: ${percent(row.accuracy)} of ${row.n.toLocaleString("en")} pairs found</h2>
      <p>Best fixed offset (${row.offset}): ${percent(row.offset_accuracy)}.</p>
      ${state.direction === "dependent_to_head" ? html`<p>${foundAndMissed(state, state.head, hits)}</p>` : null}
      <p><a href=${hits(state.request)}>All hits of the request</a></p>`;
  }

  #sentences() {
    const { state, examples, data } = this;
    if (data && !data.best.length) return html`<h2>Sentences</h2><p class="hint">The corpus has no dependencies to judge a head by. <a href=${this.#link({ run: state.run, head: state.head }, "/sentences")}>Search sentences</a>.</p>`;
    if (state.by === "request") return this.#hits();
    if (!examples && !this.connector.isLive) {
      return html`<h2>Sentences</h2>${showSentences(() => this.#goLive())}`;
    }
    if (!examples) return html`<h2>Sentences</h2><p class="hint">Loading…</p>`;
    const { total, relation, direction } = examples;
    if (!total) return html`<h2>Sentences</h2><p class="hint">No word of the run is a dependent of ${relation}.</p>`;
    const right = total.dependents - total.errors;
    const width = Math.max(300, Math.min(620, this.container.querySelector(".atlas-sentences")?.clientWidth || 460));
    const list = (kind, heading, count) => html`<h3>${heading}: <a href=${this.#link({ ...state, relation, direction, head: null, beside: null, by: null, breakdown: kind }, `/head/${state.head}/examples`)}>all ${thousands(count)}</a></h3>
      <ol class="examples">${repeat(examples.lines.filter((line) => line.breakdown === kind), (line) => `${line.sentence} ${line.dependent}`, (line) => html`<li>
        <a class="where" title=${line.sent_id} href=${this.#link({ run: state.run, head: state.head, relation, direction, sentence: line.sentence, hit: `${line.sentence}:${[...new Set([line.dependent, line.gold].filter(Boolean))].sort((a, b) => a - b).join(",")}` }, "/sentence")}>${arcLine(line.record, line.sentence, line.judged, width)}</a></li>`)}</ol>`;
    return html`<h2>Head ${state.head}, ${relation}: ${percent(right / total.dependents)} of ${total.dependents.toLocaleString("en")} found</h2>
      ${state.by === "coreference" ? html`<p><a href=${this.#link({ run: state.run, head: state.head, pattern: COREFERENT }, "/sentences")}>Sentences with coreferent words, and what the head does there</a></p>` : null}
      ${KEY}
      ${right ? list("right", "Found", right) : null}
      ${total.errors ? list("wrong", "Missed", total.errors) : null}
      ${dependentBars(examples.dependents)}
      ${errorBars(examples.errors)}`;
  }
}

// The scores of all heads for a relation, with intervals; asked for once.
async function scoresOf(connector, data, run, relation) {
  if (data.scores.has(relation)) return;
  try {
    data.scores.set(relation, await connector.answer(run.id, "head_score", { relation }));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    data.scores.set(relation, []);
  }
}

const withChosen = (relations, relation) => (relations.includes(relation) ? relations : [...relations, relation]).map((name) => [name, name]);
