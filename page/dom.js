// Elements, tables that sort, and texts to copy.
import { groupBy } from "./data.js";
import { linkTo } from "./router.js";

/** h("a", {href: "#"}, "text", child, ...): properties that begin with "on" are listeners. */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value == null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/** The same for a drawing. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** A name that may break behind each `separator`. */
export const wrapped = (name, separator = ",") =>
  name.split(separator).flatMap((part, i) => (i ? [separator, h("wbr"), part] : [part]));

let nextId = 0;
export const uniqueId = (prefix) => `${prefix}-${++nextId}`;

/** A labelled choice. `choices`: texts, or [value, text]. */
export function choice(label, choices, value, onchange) {
  const id = uniqueId("choice");
  const select = h("select", { id, onchange: () => onchange(select.value) });
  for (const one of choices) {
    const [key, text] = Array.isArray(one) ? one : [one, one];
    select.append(h("option", { value: key, selected: String(key) === String(value) }, text));
  }
  return h("span", { class: "field" }, h("label", { for: id }, label), select);
}

/** Choices that a phone shows when they are asked for, below their title. */
export const choicesBox = (title, isOpen, ...choices) =>
  h("details", { class: "choices", open: isOpen }, h("summary", {}, title), ...choices);

const compare = (a, b) => {
  if (a == null || b == null) return (a == null) - (b == null); // what is not known comes last
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
};

/** A part of a view, whose heading is a link to it. Of `kind` "half", two stand beside each other. */
export function section(id, title, content, kind) {
  return h("section", { "aria-labelledby": id, class: ["card", kind].filter(Boolean).join(" ") },
    h("h2", { id }, h("a", { class: "heading", href: linkTo(id), "data-at": id }, title)), content);
}

/**
 * A table. Each column: {name, title, number, class, cell(row) -> text, element or several, by(row) ->
 * what it is sorted by}. `sort`: {column, descending}, which a click on a header changes, and `onsort`
 * is told. Unsorted rows may stand in groups: `groupOf(row)` is a key, `groupHead(key, rows)` an
 * {id, content}. Only `limit` rows are put on the page at first. A table that is wider than its place
 * is scrolled or, with `leaveOut`, goes without what has these classes, the first ones first, as far as
 * it has to; where that is enough, its header stays in sight.
 */
export function table(caption, columns, rows, { sort = {}, onsort, limit = 100, href, groupOf, groupHead, leaveOut } = {}) {
  const head = h("tr");
  const thead = h("thead", {}, head);
  const element = h("table", {}, h("caption", { class: "hidden" }, caption), thead);
  const more = h("button", { type: "button", onclick: () => show((shown += 10 * limit)) });
  const region = h("div", { class: leaveOut ? "whole" : "scroll", tabindex: "0", role: "region", "aria-label": caption }, element);
  let shown = limit;
  let width = 0;

  function fit() {
    width = region.clientWidth;
    if (!leaveOut || width === 0) return;
    region.className = "whole";
    for (const one of element.querySelectorAll("[hidden]")) one.hidden = false;
    for (const kind of leaveOut) {
      if (region.scrollWidth <= width) return;
      for (const one of element.getElementsByClassName(kind)) one.hidden = true;
    }
    if (region.scrollWidth > width) region.className = "whole scroll";
  }
  if (leaveOut) new ResizeObserver(() => region.clientWidth !== width && fit()).observe(region);

  function sortBy(name) {
    const again = sort.column === name;
    // A third click brings the groups back.
    sort = again && sort.descending && groupOf ? {} : { column: name, descending: again && !sort.descending };
    onsort?.(sort);
    show();
    head.children[columns.findIndex((one) => one.name === name)].firstChild.focus();
  }
  const header = ({ name, title, number, class: kind, by }) =>
    h("th", { scope: "col", class: [number && "number", kind].filter(Boolean).join(" ") || null,
      "aria-sort": name !== sort.column ? null : sort.descending ? "descending" : "ascending" },
      by ? h("button", { type: "button", onclick: () => sortBy(name) }, title,
        h("span", { "aria-hidden": "true", class: "arrow" }, name !== sort.column ? "" : sort.descending ? "▼" : "▲")) : title);
  const line = (row) =>
    h("tr", href ? { class: "link", onclick: (event) => open(event, href(row)) } : {},
      columns.map(({ cell, number, class: kind }, i) =>
        h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: [number && "number", kind].filter(Boolean).join(" ") || null },
          ...[cell(row)].flat().filter((part) => part != null))));

  function show() {
    const column = columns.find(({ name }) => name === sort.column);
    const sorted = column?.by
      ? [...rows].sort((a, b) => {
          const [x, y] = [column.by(a), column.by(b)];
          return x == null || y == null || !sort.descending ? compare(x, y) : compare(y, x);
        })
      : rows;
    head.replaceChildren(...columns.map(header));
    const groups = groupOf && !column ? groupBy(sorted.slice(0, shown), groupOf) : new Map([[null, sorted.slice(0, shown)]]);
    const bodies = [...groups].map(([key, some]) => {
      const { id, content } = key == null ? {} : groupHead(key, some);
      return h("tbody", {},
        id && h("tr", { class: "group" }, h("th", { id, colspan: columns.length, scope: "rowgroup" }, content)),
        some.map(line));
    });
    element.className = groups.has(null) ? "" : "grouped";
    element.replaceChildren(element.firstChild, thead, ...bodies);
    fit();
    more.hidden = rows.length <= shown;
    more.textContent = `Show more of ${rows.length.toLocaleString("en")} rows`;
  }
  show();
  return h("div", {}, region, more);
}

/** A click anywhere in a row follows its link, unless text is being selected. */
function open(event, href) {
  if (event.target.closest("a, button") || String(getSelection())) return;
  location.hash = href;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from a file may have no clipboard of its own.
    const area = document.body.appendChild(h("textarea", { "aria-hidden": "true" }, text));
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** A text with a button that copies it. */
export function copyable(label, text) {
  const button = h("button", {
    type: "button",
    class: "copy",
    "aria-label": `Copy ${label}`,
    onclick: async () => {
      await copy(text);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    },
  }, "Copy");
  return h("div", { class: "copyable" },
    h("pre", { tabindex: "0", role: "region", "aria-label": label }, text), button);
}
