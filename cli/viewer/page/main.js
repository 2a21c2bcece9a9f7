// The pages of a bank, as attnbank explore serves them.
import { open } from "./app.js";
import { places, Rest } from "./rest.js";

open(new Rest(), places);
