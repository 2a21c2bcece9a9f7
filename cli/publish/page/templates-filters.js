// The filters of the templates that the explorer has beside Jinja's own.
import { fixed } from "./cells.js";

export const FILTERS = {
  thousands: (number) => number.toLocaleString("en-US"),
  fixed,
  sentence: (text) => text.slice(0, 1).toUpperCase() + text.slice(1),
  unquoted: (text) => text.replace(/^'+|'+$/g, ""),
  start: (text, most) => [...text].slice(0, most).join(""),
  begins: (text, start) => (text.startsWith(start) ? "1" : ""),
  items: (mapping) => Object.entries(mapping),
};
