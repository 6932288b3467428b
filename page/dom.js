// Elements, tables that sort, and texts to copy.

/** h("a", {href: "#"}, "text", child, ...): properties that begin with "on" are listeners. */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value == null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

/** The same for a drawing. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

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

const compare = (a, b) => {
  if (a == null || b == null) return (a == null) - (b == null); // what is not known comes last
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
};

/**
 * A table. Each column: {name, title, number, wide, cell(row) -> text, element or several, by(row) ->
 * what it is sorted by}. `sort`: {column, descending}, which a click on a header changes, and `onsort` is told.
 * Only `limit` rows are put on the page at first.
 */
export function table(caption, columns, rows, { sort = {}, onsort, limit = 100, href } = {}) {
  const body = h("tbody");
  const head = h("tr");
  const element = h(
    "table",
    {},
    h("caption", { class: "hidden" }, caption),
    h("thead", {}, head),
    body,
  );
  const more = h("button", { type: "button", onclick: () => show((shown += 10 * limit)) });
  const region = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, element);
  let shown = limit;

  function show() {
    const column = columns.find(({ name }) => name === sort.column);
    const sorted = column?.by
      ? [...rows].sort((a, b) => {
          const [x, y] = [column.by(a), column.by(b)];
          return x == null || y == null || !sort.descending ? compare(x, y) : compare(y, x);
        })
      : rows;
    head.replaceChildren(
      ...columns.map(({ name, title, number, by }) =>
        h(
          "th",
          {
            scope: "col",
            class: number && "number",
            "aria-sort": name !== sort.column ? null : sort.descending ? "descending" : "ascending",
          },
          by
            ? h(
                "button",
                {
                  type: "button",
                  onclick: () => {
                    const again = sort.column === name;
                    sort = { column: name, descending: again && !sort.descending };
                    onsort?.(sort);
                    show();
                    head.children[columns.findIndex((one) => one.name === name)].firstChild.focus();
                  },
                },
                title,
                h("span", { "aria-hidden": "true", class: "arrow" },
                  name !== sort.column ? "" : sort.descending ? "▼" : "▲"),
              )
            : title,
        ),
      ),
    );
    body.replaceChildren(
      ...sorted.slice(0, shown).map((row) =>
        h(
          "tr",
          href ? { class: "link", onclick: (event) => open(event, href(row)) } : {},
          columns.map(({ cell, number, wide }, i) =>
            h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: number ? "number" : wide ? "wide" : null }, ...[cell(row)].flat().filter((part) => part != null)),
          ),
        ),
      ),
    );
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
