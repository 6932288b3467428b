// The overview: a row for each problem, to search, sort and filter.
import { isNarrow } from "./chart.js";
import { CHANGES, VERDICTS } from "./data.js";
import { choice, h, svg, table, uniqueId } from "./dom.js";
import { keep, link } from "./router.js";
import * as text from "./text.js";

/** A verdict as a sign and a word. */
export function verdictMark(question) {
  const [sign, word, meaning] = VERDICTS[question.verdict];
  return h("span", { class: `verdict ${question.verdict}`, title: `${word}: ${meaning}` },
    h("span", { "aria-hidden": "true" }, sign), ` ${word}`);
}

/** What became of a result since another run. */
function changeMark({ change }) {
  if (!change) return text.NONE;
  const ratio = change.ratio == null ? "" : ` ${change.change}`;
  return h("span", { class: "nowrap", title: change.remarks },
    h("span", { "aria-hidden": "true" }, CHANGES[change.fate]), ` ${change.fate}${ratio}`);
}

/** Worst first; of the same fate, what changed most. */
function changeOrder({ change }) {
  if (!change) return null;
  return Object.keys(CHANGES).indexOf(change.fate) - Math.min(0.9, Math.abs((change.ratio ?? 1) - 1));
}

/** The speed-up and its interval on a scale from half to twice, where 1 is the baseline. */
function margin({ entry }) {
  const baseline = entry?.baseline;
  if (!baseline) return text.NONE;
  const at = (ratio) => 32 + 30 * Math.max(-1, Math.min(1, Math.log2(ratio)));
  const { speedup, speedup_low: low, speedup_high: high } = baseline;
  const drawing = svg("svg", { width: 64, height: 14, "aria-hidden": "true", class: "margin" },
    svg("line", { x1: 1, x2: 63, y1: 7, y2: 7, class: "rail" }),
    svg("line", { x1: 32, x2: 32, y1: 1, y2: 13, class: "one" }),
    svg("line", { x1: at(low ?? speedup), x2: at(high ?? speedup), y1: 7, y2: 7, class: "interval" }),
    svg("circle", { cx: at(speedup), cy: 7, r: 3.5, class: "dot" }));
  const interval = low == null ? "" : ` [${text.fine(low)}, ${text.fine(high)}]`;
  return h("span", { class: "nowrap" }, drawing, ` ${text.factor(speedup)}`,
    h("span", { class: "quiet" }, interval));
}

function roofline({ entry }) {
  const ratio = entry?.roofline_ratio;
  if (ratio == null) return text.NONE;
  return h("span", { class: "nowrap" },
    h("span", { class: "bar", "aria-hidden": "true" },
      h("span", { style: `width:${Math.min(100, ratio * 100)}%` })),
    ` ${text.percent(ratio)}`);
}

/** The levels of a result's runs, slower higher; a mark where they changed. */
export function sparkline(past) {
  const levels = past.points.map(({ level }) => level);
  const low = Math.min(...levels);
  const height = Math.max(Math.max(...levels) - low, 0.02 * low);
  const x = (i) => 3 + (50 * i) / Math.max(levels.length - 1, 1);
  const y = (level) => 16 - (12 * (level - low)) / height;
  return svg("svg", { width: 56, height: 20, "aria-hidden": "true", class: "spark" },
    svg("polyline", { points: levels.map((level, i) => `${x(i)},${y(level)}`).join(" ") }),
    ...past.changes.map(({ first_after: i }) => svg("circle", { cx: x(i), cy: y(levels[i]), r: 3 })));
}

export function lastChange(past) {
  const last = past?.changes.at(-1);
  if (!last) return "steady";
  const word = last.ratio > 1 ? "slower" : "faster";
  const doubt = { pending: ", pending", few_runs: ", too few runs to tell" }[last.kind] ?? "";
  return `${word} ${text.change(last.ratio)}${doubt}`;
}

function pastOf({ past }) {
  if (!past || past.points.length < 2) return h("span", { class: "quiet" }, "1 run");
  return h("span", { class: "nowrap" }, sparkline(past), ` ${lastChange(past)}`);
}

function verifiedText(entry) {
  if (!entry?.verified) return text.NONE;
  return entry.verified.passed ? `✓ ${text.day(entry.verified.verified_at)}` : "✕ no";
}

function columns(data, questions) {
  const several = (of) => new Set(questions.map(of)).size > 1;
  const rateText = ({ rate }) => (rate ? text.rate(rate.value, rate.unit) : text.NONE);
  return [
    { name: "problem", title: "Problem", by: (one) => Object.values(one.problem).map((v) => String(v).padStart(12, "0")).join(),
      cell: (one) => [h("a", { href: link("problem", { id: one.id }) }, one.title), isNarrow() ? h("div", { class: "quiet" }, one.op) : null] },
    !isNarrow() && { name: "op", title: "Op", by: (one) => one.op, cell: (one) => one.op },
    several((one) => one.device) && { name: "gpu", title: "GPU", by: (one) => one.deviceName, cell: (one) => one.deviceName },
    several((one) => one.protocol) && { name: "protocol", title: "Protocol", by: (one) => one.protocol, cell: (one) => one.protocol },
    several((one) => one.objective) && { name: "objective", title: "Best in", by: (one) => one.objective, cell: (one) => one.objective },
    { name: "verdict", title: "Verdict", by: (one) => one.verdict, cell: verdictMark },
    data.comparisons.length > 0 && { name: "change", title: "Change", by: changeOrder, cell: changeMark },
    { name: "time", title: "Time", number: true, by: (one) => one.entry?.time_ns, cell: (one) => text.time(one.entry?.time_ns) },
    { name: "rate", title: "Rate", number: true, by: (one) => one.rate?.value, cell: rateText },
    { name: "roofline", title: "Of roofline", by: (one) => one.entry?.roofline_ratio, cell: roofline },
    { name: "speedup", title: "Over baseline", by: (one) => one.entry?.baseline?.speedup, cell: margin },
    { name: "ties", title: "Ties", number: true, by: (one) => one.entry?.ties.length, cell: (one) => String(one.entry?.ties.length ?? text.NONE) },
    { name: "verified", title: "Verified", by: (one) => one.entry?.verified?.verified_at, cell: (one) => verifiedText(one.entry) },
    { name: "history", title: "History", by: (one) => one.past?.changes.at(-1)?.ratio, cell: pastOf },
    { name: "kernel", title: "Kernel", by: (one) => one.entry?.kernel, cell: (one) => one.entry?.kernel ?? text.NONE },
    { name: "baseline", title: "Baseline", by: (one) => one.entry?.baseline?.name, cell: (one) => one.entry?.baseline?.name ?? text.NONE },
  ].filter(Boolean);
}

/** Whether every word that was searched for is somewhere in what a row says. */
function matches(question, words) {
  const { entry } = question;
  const said = [question.op, question.title, question.deviceName, question.protocol, entry?.kernel,
    entry && text.config(entry.config), entry?.baseline?.name, VERDICTS[question.verdict][1],
    question.change?.fate, question.change?.remarks]
    .join(" ").toLowerCase();
  return words.every((word) => said.includes(word));
}

/** How results were measured: whose GPU, when. */
export function provenance(questions) {
  const where = new Set(questions.map(({ entry, deviceName }) =>
    entry?.provenance ?? `measured here on ${deviceName}, ${text.day(entry?.measured_at)}`));
  return [...where].slice(0, 3).join("; ") + (where.size > 3 ? "; …" : "");
}

export function overview(data, params) {
  const state = Object.fromEntries(params);
  const result = h("div");
  const status = h("p", { role: "status", class: "quiet" });
  const searchId = uniqueId("search");
  const search = h("input", { id: searchId, type: "search", value: state.q ?? "",
    placeholder: "op, size, kernel, BLOCK_M=128 …", oninput: () => set({ q: search.value }) });

  function set(changes) {
    Object.assign(state, changes);
    keep(changes);
    show();
  }
  function show() {
    const words = (state.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const rows = data.questions.filter((one) =>
      (!state.op || one.op === state.op) && (!state.gpu || one.device === state.gpu) &&
      (!state.verdict || one.verdict === state.verdict) &&
      (!state.change || one.change?.fate === state.change) && matches(one, words));
    status.textContent = rows.length === data.questions.length
      ? text.count(rows.length, "problem")
      : `${rows.length} of ${text.count(data.questions.length, "problem")}`;
    result.replaceChildren(
      rows.length > 0
        ? table("Problems and their best configurations", columns(data, data.questions), rows, {
            sort: { column: state.sort, descending: state.down === "1" },
            onsort: ({ column, descending }) => {
              state.sort = column;
              state.down = descending ? "1" : "";
              keep({ sort: state.sort, down: state.down });
            },
            href: (one) => link("problem", { id: one.id }),
          })
        : h("p", {}, "Nothing matches. ",
            h("button", { type: "button", onclick: () => (location.hash = "#/") }, "Show all")));
  }
  const ops = [...new Set(data.questions.map(({ op }) => op))];
  const devices = Object.entries(data.devices).map(([slug, { name }]) => [slug, name]);
  const changes = Object.keys(CHANGES).filter((fate) => data.questions.some(({ change }) => change?.fate === fate));
  const verdicts = [...new Set(data.questions.map(({ verdict }) => verdict))];
  show();
  return [
    h("h1", {}, "What is fastest"),
    h("p", { class: "lead" },
      "The best configuration of each problem, and by how much it is faster than what you would run instead. ",
      `Times are ${provenance(data.questions)}.`),
    h("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
      h("span", { class: "field" }, h("label", { for: searchId }, "Search"), search),
      ops.length > 1 ? choice("Op", [["", "all"], ...ops], state.op ?? "", (op) => set({ op })) : null,
      devices.length > 1 ? choice("GPU", [["", "all"], ...devices], state.gpu ?? "", (gpu) => set({ gpu })) : null,
      choice("Verdict", [["", "all"], ...verdicts.map((one) => [one, VERDICTS[one][1]])],
        state.verdict ?? "", (verdict) => set({ verdict })),
      changes.length > 0 ? choice("Change", [["", "all"], ...changes.map((one) => [one, one])], state.change ?? "", (change) => set({ change })) : null),
    status,
    result,
    h("p", { class: "quiet" },
      "A verdict compares the winner with the baseline, both timed in turn, with a 95 % interval. ",
      "Of roofline: the least time that the GPU's own measured rates allow, relative to the time taken."),
    ...data.comparisons.map((sentence) => h("p", { class: "quiet" }, `Change: ${sentence}.`)),
  ];
}
