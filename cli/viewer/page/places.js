// Where the reader is: a view's path and its parameters. They are the address of a page of the explorer, and stand
// after the # in that of a published page.
import { withQuery } from "./connector.js";

export class Places {
  #show = () => {};

  constructor(prefix = "") {
    this.prefix = prefix;
  }

  // The address of a view; parameters that are empty are left out.
  link = (path, values = {}) => this.prefix + withQuery(path, values);

  address() {
    return this.prefix ? location.hash : location.pathname + location.search;
  }

  here() {
    const [path, query] = this.address().slice(this.prefix.length).split(/\?(.*)/s);
    const given = Object.create(null);
    for (const [name, value] of new URLSearchParams(query)) if (value) given[name] = value;
    return { path: path || "/", given };
  }

  go(address) {
    if (address !== this.address()) history.pushState(null, "", address);
    return this.#show();
  }

  // Show what is typed, in place of what was typed before.
  replace(address) {
    history.replaceState(null, "", address);
    this.#show();
  }

  // Call a function at each new address. Links to views do not load the page anew.
  watch(show) {
    this.#show = show;
    addEventListener("popstate", show);
    document.addEventListener("click", (event) => {
      const anchor = event.target.closest?.("a[href]");
      const isPlain = event.button === 0
        && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
      const href = anchor?.getAttribute("href") ?? "";
      const isView = href.startsWith(`${this.prefix}/`) && !anchor.hasAttribute("download");
      const isSkip = href === "#content"; // which is no view, where these stand after the #
      if (event.defaultPrevented || !isPlain || !(isView || isSkip)) return;
      event.preventDefault();
      if (isSkip) document.getElementById("content").focus();
      else this.go(href);
    });
  }
}
