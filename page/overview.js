// The overview: what changed, a tile for each op and GPU, and a row for each problem, to search, sort
// and filter.
import { isNarrow } from "./chart.js";
import { CHANGES, VERDICTS, groupBy } from "./data.js";
import { choice, choicesBox, h, section, svg, table, uniqueId } from "./dom.js";
import { matcher, valuesIn } from "./query.js";
import { keep, link } from "./router.js";
import { changes, tiles } from "./summary.js";
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
  const [ratio, interval] = text.ratio(speedup, low, high);
  return h("span", { class: "nowrap" }, drawing, ` ${ratio}`,
    h("span", { class: "quiet interval-text" }, interval));
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
  const levels = past.points.map(({ level_ratio }) => level_ratio);
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

/** How far a result can be trusted, beyond its verdict. */
function trustMarks({ entry, stale }) {
  const { verified } = entry ?? {};
  const marks = [
    verified && h("span", { class: "mark", title: `assay verify, ${text.day(verified.verified_at)}` }, verified.passed ? "✓ verified" : "✕ refuted"),
    stale && h("span", { class: "mark stale", title: stale }, "⚠ stale"),
  ].filter(Boolean);
  return marks.length > 0 ? marks : text.NONE;
}

/** The sizes of a problem; those that all problems of its op have in common are said once, above them. */
function problemCell(one, common) {
  const baseline = one.entry?.baseline?.name;
  const sizes = Object.entries(one.problem).map(([name, value]) =>
    h("span", { class: name in common[one.op] ? "ungrouped" : null }, `${name}=${value} `));
  return [h("a", { href: link("problem", { id: one.id }) }, sizes),
    h("div", { class: "quiet narrow-only" }, h("span", { class: "ungrouped" }, `${one.op}, `), verdictMark(one), ", ",
      [one.gpu, one.entry?.kernel, baseline && `beside ${baseline}`, one.entry?.verified?.passed && "verified", one.stale && "stale"].filter(Boolean).join(", "))];
}

/** For each op, the sizes that are the same in all of its problems, if they have others. */
function commonSizes(questions) {
  const common = {};
  for (const [op, some] of groupBy(questions, (one) => one.op)) {
    const same = Object.entries(some[0].problem).filter(([name, value]) => some.every(({ problem }) => problem[name] === value));
    common[op] = same.length < Object.keys(some[0].problem).length ? Object.fromEntries(same) : {};
  }
  return common;
}

// Columns of class "roomy" are left out on a phone.
function columns(data, questions, common) {
  const several = (of) => new Set(questions.map(of)).size > 1;
  const rateText = ({ rate }) => (rate ? text.rate(rate.value, rate.unit) : text.NONE);
  return [
    { name: "problem", title: "Problem", class: "problem", by: (one) => Object.values(one.problem).map((v) => String(v).padStart(12, "0")).join(), cell: (one) => problemCell(one, common) },
    several((one) => one.op) && { name: "op", title: "Op", class: "roomy ungrouped", by: (one) => one.op, cell: (one) => one.op },
    several((one) => one.device) && { name: "gpu", title: "GPU", class: "roomy", by: (one) => one.gpu, cell: (one) => h("span", { title: one.deviceName }, one.gpu) },
    several((one) => one.protocol) && { name: "protocol", title: "Protocol", class: "roomy", by: (one) => one.protocol, cell: (one) => one.protocol },
    several((one) => one.objective) && { name: "objective", title: "Best in", class: "roomy", by: (one) => one.objective, cell: (one) => one.objective },
    { name: "verdict", title: "Verdict", class: "roomy", by: (one) => one.verdict, cell: verdictMark },
    data.comparisons.length > 0 && { name: "change", title: "Change", by: changeOrder, cell: changeMark },
    { name: "speedup", title: "Over baseline", by: (one) => one.entry?.baseline?.speedup, cell: margin },
    { name: "time", title: "Time", number: true, by: (one) => one.entry?.time_ns, cell: (one) => text.time(one.entry?.time_ns) },
    { name: "kernel", title: "Kernel", class: "roomy", by: (one) => one.entry?.kernel, cell: (one) => one.entry?.kernel ?? text.NONE },
    { name: "baseline", title: "Baseline", class: "roomy", by: (one) => one.entry?.baseline?.name, cell: (one) => one.entry?.baseline?.name ?? text.NONE },
    questions.some(({ entry, stale }) => entry?.verified || stale) && { name: "trust", title: "Trust", class: "roomy", by: (one) => (one.stale ? "2" : one.entry?.verified ? "0" : "1"), cell: trustMarks },
    { name: "roofline", title: "Of roofline", class: "roomy roofline", by: (one) => one.entry?.roofline_ratio, cell: roofline },
    { name: "rate", title: "Rate", number: true, class: "roomy rate", by: (one) => one.rate?.value, cell: rateText },
    { name: "ties", title: "Ties", number: true, class: "roomy ties", by: (one) => one.entry?.ties.length, cell: (one) => String(one.entry?.ties.length ?? text.NONE) },
    questions.some(({ past }) => past?.points.length > 1) && { name: "history", title: "History", class: "roomy history", by: (one) => one.past?.changes.at(-1)?.ratio, cell: pastOf },
  ].filter(Boolean);
}

/** Everything that may be searched for in a row: the sizes and parameters by name, the rest as text. */
const valuesOf = ({ problem, entry }, name) => [...valuesIn(problem, name), ...valuesIn(entry?.config, name)];
const saidOf = (one) =>
  [one.op, one.title, one.deviceName, one.protocol, one.entry?.kernel, one.entry && text.config(one.entry.config),
    one.entry?.baseline?.name, VERDICTS[one.verdict][1], one.entry?.verified && "verified", one.stale && "stale",
    one.change?.fate, one.change?.remarks].join(" ");

/** How results were measured: whose GPU, when. */
export function provenance(questions) {
  const where = new Set(questions.map(({ entry, deviceName }) =>
    entry?.provenance ?? `measured here on ${deviceName}, ${text.day(entry?.measured_at)}`));
  return [...where].slice(0, 3).join("; ") + (where.size > 3 ? `; and ${where.size - 3} more` : "");
}

export function overview(data, params) {
  const state = Object.fromEntries(params);
  const common = commonSizes(data.questions);
  const result = h("div");
  const status = h("p", { role: "status", class: "quiet" });
  const searchId = uniqueId("search");
  const search = h("input", { id: searchId, type: "search", value: state.q ?? "",
    placeholder: "M=16, softmax, BLOCK_M=64,128, stale …", oninput: () => set({ q: search.value }) });

  function set(changed) {
    Object.assign(state, changed);
    keep(changed);
    show();
  }
  function show() {
    const matches = matcher(state.q ?? "", valuesOf, saidOf);
    const rows = data.questions.filter((one) =>
      (!state.op || one.op === state.op) && (!state.gpu || one.device === state.gpu) &&
      (!state.verdict || one.verdict === state.verdict) &&
      (!state.change || one.change?.fate === state.change) && matches(one));
    status.textContent = rows.length === data.questions.length
      ? text.count(rows.length, "problem")
      : `${rows.length} of ${text.count(data.questions.length, "problem")}`;
    result.replaceChildren(
      rows.length > 0
        ? table("Problems and their best configurations", columns(data, data.questions, common), rows, {
            sort: { column: state.sort, descending: state.down === "1" },
            onsort: ({ column, descending }) => {
              const sort = { sort: column ?? "", down: descending ? "1" : "" };
              Object.assign(state, sort);
              keep(sort);
            },
            href: (one) => link("problem", { id: one.id }),
            limit: 500,
            groupOf: ({ op }) => op,
            groupHead: (op, some) => ({ id: `op-${op}`, content: [op, h("span", { class: "quiet" },
              [` ${text.count(some.length, "problem")}`, text.config(common[op])].filter(Boolean).join(", "))] }),
            leaveOut: ["history", "ties", "bar", "rate", "roofline", "interval-text", "margin"],
          })
        : h("p", {}, "Nothing matches. ",
            h("button", { type: "button", onclick: () => (location.hash = "#/") }, "Show all")));
  }
  const ops = [...new Set(data.questions.map(({ op }) => op))];
  const devices = Object.entries(data.devices).map(([slug, { short }]) => [slug, short]);
  const fates = Object.keys(CHANGES).filter((fate) => data.questions.some(({ change }) => change?.fate === fate));
  const verdicts = [...new Set(data.questions.map(({ verdict }) => verdict))];
  show();
  return [
    h("h1", {}, "What is fastest"),
    h("p", { class: "lead" },
      "The best configuration of each problem, and by how much it is faster than what you would run instead. ",
      `Times are ${provenance(data.questions)}.`),
    changes(data),
    tiles(data.questions),
    section("problems", "Every problem", [
      choicesBox("Search and filter", !isNarrow(),
        h("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
          h("span", { class: "field" }, h("label", { for: searchId }, "Search"), search),
          ops.length > 1 ? choice("Op", [["", "all"], ...ops], state.op ?? "", (op) => set({ op })) : null,
          devices.length > 1 ? choice("GPU", [["", "all"], ...devices], state.gpu ?? "", (gpu) => set({ gpu })) : null,
          choice("Verdict", [["", "all"], ...verdicts.map((one) => [one, VERDICTS[one][1]])],
            state.verdict ?? "", (verdict) => set({ verdict })),
          fates.length > 0 ? choice("Change", [["", "all"], ...fates.map((one) => [one, one])], state.change ?? "", (change) => set({ change })) : null)),
      status,
      result,
      h("p", { class: "quiet" },
        "A verdict compares the winner with the baseline, both timed in turn, with a 95 % interval. ",
        "Of roofline: the least time that the GPU's own measured rates allow, relative to the time taken. ",
        "Verified: assay verify checked the winner on many inputs. Stale: the kernel has changed since."),
    ]),
  ];
}
