// The explorer's pages that are drawn in the browser.
import { Atlas } from "./atlas.js";
import { Fault } from "./fault.js";
import { places, Rest } from "./rest.js";

const container = document.getElementById("atlas");
const atlas = new Atlas(container, new Rest(), places);
atlas.start().catch((error) => {
  if (!(error instanceof Fault)) console.error(error);
  atlas.fail(error instanceof Fault ? error : new Fault(`unexpected ${error.name}: ${error.message}`));
});
