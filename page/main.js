// The page: unpacks the data, then shows the view that the URL names.
import { clearCharts } from "./chart.js";
import { curves } from "./curves.js";
import { load } from "./data.js";
import { h } from "./dom.js";
import { gpus } from "./gpus.js";
import { past } from "./history.js";
import { overview } from "./overview.js";
import { problem } from "./problem.js";
import { goToSection, link, place } from "./router.js";
import * as text from "./text.js";

const views = { overview, problem, curves, history: past, gpus };
const names = { overview: "Overview", curves: "Curves", history: "History", gpus: "GPUs" };

const app = document.getElementById("app");
const main = h("main", { id: "main", tabindex: "-1" });
const urlOf = ({ view, params }) => link(view, { ...Object.fromEntries(params), at: "" });
const nav = h("nav", { "aria-label": "Views" });

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  themeButton.textContent = theme === "dark" ? "◐ Light" : "◐ Dark";
}

/** A page from a file may not be allowed to keep anything. */
function stored(value) {
  try {
    if (value) localStorage.setItem("assay-theme", value);
    return localStorage.getItem("assay-theme");
  } catch {
    return null;
  }
}

const themeButton = h("button", {
  type: "button",
  title: "Switch between the dark and the light theme",
  onclick: () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    stored(theme);
    setTheme(theme);
    show();
  },
});

let data;
let shown; // the view's URL, without the section

function show() {
  const { view, params } = place();
  shown = urlOf({ view, params });
  clearCharts();
  nav.replaceChildren(
    ...Object.entries(names).map(([name, title]) =>
      h("a", { href: link(name), "aria-current": name === view ? "page" : null }, title),
    ),
  );
  const draw = views[view];
  main.className = view;
  main.replaceChildren(
    ...(draw ? draw(data, params) : [h("h1", {}, "No such view"), h("a", { href: "#/" }, "Overview")]),
  );
  goToSection();
  document.title = `${main.querySelector("h1")?.textContent ?? ""} – Assay`;
}

setTheme(stored() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
app.append(
  h("a", { class: "skip", href: "#main", onclick: (event) => (event.preventDefault(), main.focus()) },
    "Skip to the content"),
  h("header", {}, h("a", { class: "brand", href: "#/" }, "Assay"), nav, themeButton),
  main,
);
data = await load();
app.append(
  h("footer", {}, `Made from ${data.sources.join(", ")}. `,
    text.count(data.trials.reduce((sum, set) => sum + (set?.count ?? 0), 0), "trial"), "."),
);
show();
addEventListener("hashchange", () => {
  const isOther = urlOf(place()) !== shown;
  if (isOther) show();
  if (goToSection()) return;
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
});
document.documentElement.dataset.ready = "yes";
