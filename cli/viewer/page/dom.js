// Templates that become elements of the page: render(html`<p>${text}</p>`, container).
// A value between tags is text, a template, an element, a list of them or null; what comes from a
// bank is never read as HTML. A value in a tag is a whole attribute: name=${value}, @event=${function},
// .property=${value}. What stays the same is not touched, so that focus and scrolling survive; a
// template that is the same object as before is not even looked at.

export const html = (strings, ...values) => ({ strings, values, isSvg: false });
export const svg = (strings, ...values) => ({ strings, values, isSvg: true });

export function render(content, container) {
  let slot = containers.get(container);
  if (slot?.end.parentNode !== container) {
    container.replaceChildren();
    slot = new Slot(container.appendChild(new Comment()));
    containers.set(container, slot);
  }
  slot.set(content);
}

const containers = new WeakMap();
const templates = new WeakMap();

const PART = "data-part-";

// A template with a comment or an attribute data-part-N, which has a name, for its N-th value.
function compile({ strings, isSvg }) {
  if (templates.has(strings)) return templates.get(strings);
  let markup = "";
  strings.forEach((string, at) => {
    markup += string;
    if (at === strings.length - 1) return;
    if (markup.lastIndexOf("<") <= markup.lastIndexOf(">")) {
      markup += `<!--${at}-->`;
      return;
    }
    const [text, name] = /([@.]?[\w:-]+)=$/.exec(markup);
    markup = `${markup.slice(0, -text.length)}${PART}${at}="${name}"`;
  });
  const template = document.createElement("template");
  template.innerHTML = isSvg ? `<svg>${markup}</svg>` : markup;
  if (isSvg) template.content.replaceChildren(...template.content.firstChild.childNodes);
  templates.set(strings, template);
  return template;
}

// The elements of a template in the page, and its values.
class Instance {
  constructor(content) {
    this.strings = content.strings;
    this.fragment = document.importNode(compile(content).content, true);
    this.setters = [];
    this.values = [];
    const { SHOW_ELEMENT, SHOW_COMMENT } = NodeFilter;
    const walker = document.createTreeWalker(this.fragment, SHOW_ELEMENT | SHOW_COMMENT);
    const nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    for (const node of nodes) {
      if (node.nodeType === Node.COMMENT_NODE) {
        const slot = new Slot(node);
        this.setters[node.data] = (value) => slot.set(value);
        continue;
      }
      for (const { name, value } of [...node.attributes].filter((own) => own.name.startsWith(PART))) {
        node.removeAttribute(name);
        this.setters[name.slice(PART.length)] = attributeSetter(node, value);
      }
    }
  }

  update(values) {
    values.forEach((value, at) => {
      if (value === this.values[at] && typeof value !== "object") return;
      this.setters[at](value);
    });
    this.values = values;
  }
}

function attributeSetter(element, name) {
  if (name.startsWith("@")) {
    let listener = null;
    element.addEventListener(name.slice(1), (event) => listener?.(event));
    return (value) => { listener = value; };
  }
  if (name.startsWith(".")) {
    return (value) => {
      if (element[name.slice(1)] !== value) element[name.slice(1)] = value;
    };
  }
  return (value) => {
    if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : String(value));
  };
}

// A place between tags: what it holds stands between two comments, its start and its end.
class Slot {
  constructor(end) {
    this.end = end;
    this.start = new Comment();
    end.before(this.start);
    this.clear();
  }

  set(value) {
    if (value === null || value === undefined || value === false || value === "") this.clear();
    else if (Array.isArray(value)) this.#setItems(value);
    else if (value.strings) this.#setTemplate(value);
    else if (value !== this.content) {
      this.clear();
      this.content = value;
      this.end.before(value);
    }
  }

  clear() {
    while (this.start.nextSibling !== this.end) this.start.nextSibling.remove();
    this.slots = null; // of a list
    this.instance = null;
    this.content = null;
  }

  #setTemplate(content) {
    if (this.content === content) return; // it was kept because nothing in it has changed
    if (this.instance?.strings !== content.strings) {
      this.clear();
      this.instance = new Instance(content);
      this.end.before(this.instance.fragment);
    }
    this.instance.update(content.values);
    this.content = content;
  }

  #setItems(items) {
    if (!this.slots) {
      this.clear();
      this.slots = [];
    }
    for (const slot of this.slots.splice(items.length)) {
      slot.clear();
      slot.start.remove();
      slot.end.remove();
    }
    items.forEach((item, at) => {
      this.slots[at] ??= new Slot(this.end.parentNode.insertBefore(new Comment(), this.end));
      this.slots[at].set(item);
    });
  }
}
