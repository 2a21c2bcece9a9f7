// Three views: one sentence with the attention of some heads, all heads on one sentence, and a
// sentence that is typed. drawing.js draws them.
import { command, shell } from "./commands.js";
import { columns, line, treeDrawing } from "./drawing.js";
import { html, svg } from "./dom.js";
import { Fault } from "./fault.js";
import { choice, directionBox, faultBox, moreOptions, runBox, runLine, tick } from "./forms.js";
import { table } from "./tables.js";

const SOURCES = ["head", "layer", "all", "ensemble"];

const LAYOUTS = [["line", "words in a line"], ["columns", "two columns"]];

export async function sentenceView(context) {
  const { bank, connector, given } = context;
  const name = context.text("sentence").trim();
  const options = {
    sentence: name, head: context.text("head").trim(), run: context.run, corpus: context.text("corpus"), relation: context.text("relation"),
    direction: context.choice("direction", bank.directions), mean: context.flag("mean"), coreference: context.flag("coreference"),
    tree: context.flag("tree"), decoded: context.text("decoded"), before: context.number("before", 0, 0, 20), hit: context.text("hit"),
  };
  const layout = context.choice("layout", LAYOUTS.map(([key]) => key));
  const hidesSpecial = context.flag("plain");
  const view = { title: name ? `Sentence ${[...name].slice(0, 60).join("")}` : "One sentence" };
  let record = null;
  if (name) {
    try {
      record = await connector.show(options);
      record.notes.forEach((note) => context.note(note));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      view.error = error;
    }
  }
  if (record?.panels) {
    Object.assign(view, { frame: record.rows, answered: record.run, isDrawn: true }, commandsOf(context, record, options, hidesSpecial));
    view.files = connector.sentenceFiles({ ...options, head: record.heads, plain: hidesSpecial });
  }
  return {
    ...view,
    heading: name ? html`Sentence <bdi>${[...name].slice(0, 200).join("")}</bdi>` : null,
    content: html`<form>
        <label class="long">Sentence <input name="sentence" value=${name} placeholder="a sent_id, a number, or a request" spellcheck="false"></label>
        <label>Heads <input name="head" value=${record?.heads ?? options.head} placeholder="3-1,5-10" size="12"></label>
        ${choice("Gold arcs", "relation", [["", "none"], ...bank.relations.map((relation) => [relation, relation])], options.relation)}
        ${moreOptions(context, ["run", "layout", "before", "decoded", "mean", "tree", "coreference", "plain"], html`
        ${runBox(context, context.run)}
        ${directionBox(context, options.direction)}
        ${choice("Drawn as", "layout", LAYOUTS, layout)}
        ${connector.isServer ? html`<label>Sentences before <input name="before" value=${options.before} inputmode="numeric" size="3"></label>
          ${choice("Decoded tree", "decoded", [["", "none"], ...SOURCES.map((source) => [source, source])], options.decoded)}
          ${tick("mean of the heads", "mean", options.mean)}` : null}
        ${tick("tree", "tree", options.tree)}${tick("coreference", "coreference", options.coreference)}${tick("no special tokens", "plain", hidesSpecial)}`)}
        ${["hit", "pattern", "corpus"].filter((key) => given[key]).map((key) => html`<input type="hidden" name=${key} value=${given[key]}>`)}
        <button>Show</button></form>
      ${faultBox(view.error)}
      ${runLine(record?.run)}
      ${record ? shownSentence(context, record, options, { layout, hidesSpecial }) : null}
      ${!name && connector.isServer ? html`<p class="hint"><a href=${context.link("/typed", { head: options.head, run: context.run })}>Type a sentence of your own</a></p>` : null}`,
  };
}

function commandsOf(context, record, options, hidesSpecial) {
  const { mean, coreference, tree, decoded, before, corpus, relation } = options;
  const given = {
    head: record.heads, run: record.run, corpus, relation, direction: relation && options.direction !== context.bank.directions[0] ? options.direction : null,
    mean, no_special: hidesSpecial,
  };
  const what = `show ${shell(options.sentence)}`;
  return { command: command(context, what, given), plotCommand: command(context, what, { ...given, coreference, tree, decoded, before, output: "sentence.svg" }) };
}

function shownSentence(context, record, { sentence, head, hit }, { layout, hidesSpecial }) {
  const { given, connector } = context;
  const marked = new Set(record.marked);
  const [before, after] = record.around.map((neighbour) => (neighbour === null ? null : context.link("/sentence", { ...given, sentence: neighbour, page: null })));
  return html`${record.unread ? html`<p role="status">${record.unread}</p>` : null}
    <p class="sentence"><bdi>${record.written.map(([form, index, space]) => [marked.has(index) ? html`<mark>${form}</mark>` : form, space ? " " : ""])}</bdi></p>
    ${hit && given.pattern ? html`<p class="hint">Marked: a hit of <a href=${context.link("/sentences", { pattern: given.pattern, run: context.run, head: record.heads ?? head })}><code>${given.pattern}</code></a></p>` : null}
    <p class="around">${before ? html`<a href=${before}>← previous sentence</a>` : null} ${after ? html`<a href=${after}>next sentence →</a>` : null}</p>
    ${record.panels ? html`
      ${connector.isServer ? html`<p class="hint"><a href=${context.link("/model", { sentence, run: record.run })}>All heads on this sentence</a> · <a href=${context.link("/typed", { sentence, head: record.heads, run: context.run })}>Type a sentence of your own</a></p>` : null}
      ${drawings(record, layout, hidesSpecial)}
      <h2>As a table</h2>${table(context, record.rows, "The word that each word attends to most", { links: { sent_id: () => null } })}` : null}`;
}

// The drawings of a record, in one of the layouts.
function drawings(record, layout, hidesSpecial) {
  const width = Math.max(300, Math.min(1560, (document.getElementById("content")?.clientWidth ?? 1000) - 40));
  const gold = record.trees.find((tree) => tree.isGold) ?? null;
  const trees = layout === "columns" ? record.trees.filter((tree) => tree.isWanted) : record.trees.filter((tree) => !tree.isGold);
  const treeFigures = trees.map((tree) => html`<figure><figcaption>${tree.title}</figcaption>${treeDrawing(tree, width)}</figure>`);
  const hint = layout === "columns" ? "Hover or tap a word to see its attention; click to pin." : `${gold ? "Above: the gold tree. " : ""}Below: the head's weights; point at a word to see only its own.`;
  const shades = layout === "line" && Object.keys(record.surprisal ?? {}).length ? " The shade of a word is its surprisal." : "";
  return html`<p id=${layout === "columns" ? "looks" : null} class="looks" aria-live="polite">${hint}${shades}</p>
    ${record.facts.filter((fact) => !record.notes?.includes(fact)).map((fact) => html`<p class="hint">${fact}</p>`)}
    <div class="wide drawn" tabindex="0" role="region" aria-label="Attention of the heads">
      ${layout === "columns" ? treeFigures : null}
      ${record.panels.map((panel, at) => html`<figure class=${`in-${layout}`}><figcaption>${panel.name[0].toUpperCase() + panel.name.slice(1)}</figcaption>
        ${layout === "columns" ? columns(record, panel, at, { hidesSpecial }) : line(record, panel, at ? null : gold, width, { hidesSpecial })}</figure>`)}
      ${layout === "columns" ? null : treeFigures}
    </div>`;
}

// All heads on one sentence, each a small map that leads to it.
export async function modelView(context) {
  const name = context.text("sentence").trim();
  const view = { title: name ? `All heads on ${[...name].slice(0, 60).join("")}` : "All heads on one sentence" };
  let model = null;
  if (name) {
    try {
      model = await context.connector.model({ sentence: name, run: context.run });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      view.error = error;
    }
  }
  if (model) {
    view.answered = model.run;
    view.frame = model.rows;
    if (model.heads) view.command = command(context, `show ${shell(name)}`, { head: model.heads, run: model.run });
  }
  const [before, after] = (model?.around ?? [null, null]).map((neighbour) => (neighbour === null ? null : context.link("/model", { ...context.given, sentence: neighbour })));
  return {
    ...view,
    content: html`<form><label class="long">Sentence <input name="sentence" value=${name} placeholder="a sent_id or a number" spellcheck="false"></label>${runBox(context, context.run)}<button>Show</button></form>
      ${faultBox(view.error)}
      ${runLine(model?.run)}
      ${model ? html`<p class="sentence"><bdi>${model.written.map(([form, , space]) => form + (space ? " " : "")).join("")}</bdi></p>
        <p class="around">${before ? html`<a href=${before}>← previous sentence</a>` : null} ${after ? html`<a href=${after}>next sentence →</a>` : null}</p>
        <p class="hint">Each small map is one head: words from top to bottom on both sides, a line for each weight of at least 0.05, stronger from 0.15, 0.4 and 0.7. Click a map for the full picture.</p>
        <div class="wide" tabindex="0" role="region" aria-label="All heads on this sentence"><table class="maps"><caption>Rows are layers, columns are heads</caption>
          <thead><tr><th></th>${model.layers[0][1].map(([head]) => html`<th scope="col">${head.split("-")[1]}</th>`)}</tr></thead>
          <tbody>${model.layers.map(([layer, maps]) => html`<tr><th scope="row">${layer}</th>${maps.map(([head, lines]) => html`<td><a href=${context.link("/sentence", { sentence: name, head, run: model.run })} aria-label=${`Head ${head}`} title=${`Head ${head}`}>${smallMap(lines, model.positions)}</a></td>`)}</tr>`)}</tbody></table></div>` : null}`,
  };
}

const [SMALL, HIGHEST] = [84, 150];

// The lines of each class of weights between places, as one path each.
function smallMap(lines, positions) {
  const step = Math.min(5, HIGHEST / Math.max(1, positions));
  const y = (place) => ((place + 0.5) * step).toFixed(1);
  return svg`<svg class="small" viewBox=${`0 0 ${SMALL} ${Math.round(positions * step)}`} width=${SMALL} height=${Math.round(positions * step)} aria-hidden="true">
    ${lines.map((pairs, kind) => (pairs.length ? svg`<path class=${`w${kind + 1}`} d=${pairs.map(([from, to]) => `M2 ${y(from)}L${SMALL - 2} ${y(to)}`).join("")}></path>` : null))}</svg>`;
}

const MASKS = ["[MASK]", "<mask>"];

// What heads attend to in a text that somebody types, beside a sentence of the bank if one is named.
export async function typedView(context) {
  const options = {
    text: context.text("text").split(/\s+/).filter(Boolean).join(" "), head: context.text("head", "1-1").trim(), run: context.run,
    sentence: context.text("sentence").trim(), mean: context.flag("mean"),
  };
  const layout = context.choice("layout", LAYOUTS.map(([key]) => key));
  const view = {};
  let answer = null;
  try {
    answer = await context.connector.typed(options);
    answer.notes.forEach((note) => context.note(note));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    view.error = error;
  }
  if (answer?.typed) {
    view.frame = answer.typed.rows;
    view.files = context.connector.typedFiles(options);
  }
  return {
    ...view,
    content: html`<form><label class="long">Sentence of your own <input name="text" value=${options.text} placeholder="The lamp is new." maxlength="1000"></label>
        <label>Heads <input name="head" value=${options.head} placeholder="3-1,5-10" size="12"></label>
        <label>Compare with sentence <input name="sentence" value=${options.sentence} placeholder="a sent_id or a number"></label>
        ${runBox(context, context.run)}${choice("Drawn as", "layout", LAYOUTS, layout)}${tick("mean of the heads", "mean", options.mean)}<button>Run model</button></form>
      ${answer ? html`<p class="hint">The model <bdi>${answer.model}</bdi> reads it here, token by token; nothing is stored. To hide a word from the model, write its mask token (<code>${MASKS[0]}</code> or <code>${MASKS[1]}</code>). To use another model: <code>attnbank explore --model NAME</code>.</p>` : null}
      ${faultBox(view.error)}
      ${answer?.typed ? html`${drawings(answer.typed, layout, false)}
        ${answer.beside ? html`<h2>The sentence of the bank</h2>${drawings(answer.beside, layout, false)}` : null}
        <h2>As a table</h2>${table(context, answer.typed.rows, "The token that each token attends to most", { links: { sent_id: () => null } })}` : null}`,
  };
}
