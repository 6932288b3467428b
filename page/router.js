// Where the reader is, kept in the URL: "#/problem?id=...&x=STAGES".

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
}
