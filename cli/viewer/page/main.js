// The explorer's pages that are drawn in the browser.
import { Atlas } from "./atlas.js";
import { html, render } from "./dom.js";
import { Fault, Rest } from "./rest.js";

const container = document.getElementById("atlas");
new Atlas(container, new Rest()).start().catch((error) => {
  const { fact, remedy } = error instanceof Fault ? error : { fact: `unexpected ${error.name}: ${error.message}`, remedy: "" };
  if (!(error instanceof Fault)) console.error(error);
  container.removeAttribute("aria-busy");
  container.dataset.settled = "";
  render(html`<div class="fault" role="alert"><p>${fact}</p>${remedy ? html`<p>${remedy}</p>` : null}</div>`, container);
});
