// Where the reader is, kept in the URL: "#/problem?id=...&x=STAGES&at=roofline". `at` is the id of a
// section.

/** {view, params} of the URL as it is now. */
export function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { view: path || "overview", params: new URLSearchParams(query) };
}

/** The link to a view; what is empty is left out. */
export function link(view, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value));
  return `#/${view === "overview" ? "" : view}${query.size > 0 ? `?${query}` : ""}`;
}

/** Notes a choice in the URL without leaving the view. */
export function keep(changes) {
  const { view, params } = place();
  const all = { ...Object.fromEntries(params), ...changes };
  history.replaceState(null, "", link(view, all));
  for (const element of document.querySelectorAll("a[data-at]")) {
    element.href = link(view, { ...all, at: element.dataset.at });
  }
}

/** The link to a section of the view that is shown. */
export const linkTo = (at) => link(place().view, { ...Object.fromEntries(place().params), at });

/** Scrolls to the section that the URL names, if it names one. */
export function goToSection() {
  const target = document.getElementById(place().params.get("at") ?? "");
  if (!target) return false;
  target.scrollIntoView();
  target.tabIndex = -1;
  target.focus({ preventScroll: true });
  return true;
}
