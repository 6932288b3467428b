// One problem: who won and how well that is known, every trial, and what to take away.
import { STATUSES, VERDICTS, commandFor, trialsOf } from "./data.js";
import { choice, copyable, h, section, table } from "./dom.js";
import { lastChange, provenance, sparkline, verdictMark } from "./overview.js";
import { distributionPlot } from "./rank_plots.js";
import { rooflinePlot } from "./roofline.js";
import { keep, link, linkTo } from "./router.js";
import { effectPlots, heatPlot, parallelPlot, searchPlot, trialLine } from "./search_plots.js";
import * as text from "./text.js";
import { whyView } from "./why.js";

function facts(question) {
  const { entry, past } = question;
  const baseline = entry.baseline;
  const speedup = baseline && text.ratio(baseline.speedup, baseline.speedup_low, baseline.speedup_high).join("");
  const cycles = baseline?.cycles_speedup && `, in cycles ${text.factor(baseline.cycles_speedup)}`;
  const rows = [
    ["Verdict", [verdictMark(question), h("span", { class: "quiet" }, ` ${VERDICTS[question.verdict][2]}`)]],
    ["Time", `${text.time(entry.time_ns)}${entry.time_low_ns ? ` [${text.time(entry.time_low_ns)}, ${text.time(entry.time_high_ns)}]` : ""}`],
    question.rate && ["Rate", text.rate(question.rate.value, question.rate.unit)],
    entry.roofline_ratio && ["Of roofline", text.percent(entry.roofline_ratio)],
    baseline && [`Over ${baseline.name}`, `${speedup}${cycles || ""}; it takes ${text.time(baseline.time_ns)}${baseline.detail ? ` (${baseline.detail})` : ""}`],
    entry.noise_ratio && ["Noise of the re-rank", `${text.percent(entry.noise_ratio)}; no smaller difference is called one`],
    ["Ties", entry.ties.length > 0 ? text.count(entry.ties.length, "configuration") + " cannot be told from it" : "none"],
    entry.energy_j && ["Energy", `${text.energy(entry.energy_j)} a launch`],
    entry.prepared && ["Prepared ahead", `${text.time(entry.prepared.time_ns)}, not in the time`],
    entry.reference && ["Checked against", entry.reference],
    ["Verified", entry.verified ? (entry.verified.passed ? `✓ ${text.day(entry.verified.verified_at)}: ${entry.verified.checks.map(({ name, result }) => `${name} ${result}`).join(", ")}` : `failed: ${entry.verified.checks.filter(({ result }) => result === "failed").map(({ name, message }) => `${name}: ${message}`).join("; ")}`) : "not yet; assay verify does"],
    question.stale && ["Stale", h("span", { class: "stale" }, `⚠ ${question.stale}`)],
    past?.points.length > 1 && ["History", [sparkline(past), ` ${lastChange(past)} over ${text.count(past.points.length, "run")}: `, h("a", { href: link("history", { id: question.id }) }, "look")]],
    ["Measured", `${provenance([question])}; driver ${entry.toolchain.driver ?? "not known"}, NVRTC ${entry.toolchain.nvrtc ?? "not known"}${question.rank?.cublas ? `, cuBLAS ${question.rank.cublas}` : ""}, protocol ${question.protocol}`],
    ["Stored in", question.source],
  ].filter(Boolean);
  return h("dl", { class: "facts" }, rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** What an objective is, in the unit that it has. */
function achievedText({ objective, value }) {
  if (value == null) return text.NONE;
  if (objective === "time") return text.time(value);
  return objective === "energy" ? text.energy(value)
    : value.toLocaleString("en", { maximumSignificantDigits: 4 });
}

/** By several objectives: the configurations that no other one beats in all of them. */
function paretoList(front) {
  const ratioText = ({ ratio_to_winner: ratio, ratio_low: low, ratio_high: high }) =>
    (ratio == null ? text.NONE : text.ratio(ratio, low, high).join(""));
  const columns = front[0].objectives.flatMap(({ objective }, i) => [
    { name: objective, title: objective, number: true, cell: ({ objectives }) => achievedText(objectives[i]), by: ({ objectives }) => objectives[i].value },
    { name: `${objective} ratio`, title: "of the winner's", number: true, cell: ({ objectives }) => ratioText(objectives[i]), by: ({ objectives }) => objectives[i].ratio_to_winner },
  ]);
  const differs = ([name, value]) => front.some(({ config }) => config[name] !== value);
  const own = ({ config }) => text.config(Object.fromEntries(Object.entries(config).filter(differs)));
  return [
    h("p", {}, "No other configuration beats one of these by all objectives. The winner comes first. "
      + "What is not named is the same for all."),
    table("Configurations of the Pareto list", [
      { name: "config", title: "Configuration", class: "long", cell: (row) => `${row.kernel} ${own(row)}` },
      ...columns,
    ], front),
  ];
}

/** The configuration in a choice of forms. */
function takeAway(question) {
  const { kernel, config } = question.entry;
  const forms = [
    ["text", text.config(config)],
    ["compiler options", Object.entries(config).map(([name, value]) => `-D${name}=${value}`).join(" ")],
    ...question.exports.map(({ format, text: body }) => [`export --format ${format}`, body]),
  ];
  const place = h("div");
  const show = (name) => place.replaceChildren(copyable(`the configuration as ${name}`, forms.find(([form]) => form === name)[1]));
  show("text");
  return [
    h("p", {}, `${kernel}: `, ...Object.entries(config).map(([name, value]) => h("code", { class: "param" }, `${name}=${value}`))),
    h("div", { class: "filters" }, choice("As", forms.map(([name]) => name), "text", show)),
    place,
    h("h3", {}, "Measure it again"),
    copyable("the command that measures it again", commandFor(question, question.contract ?? kernel, config)),
  ];
}

/** Two trials may be looked at one after the other: the newest choice is shown. */
function picked(question, trials) {
  const place = h("div", { "aria-live": "polite" });
  return [place, (i) => {
    const state = trials.statusOf(i);
    const contract = trials.kernelOf(i) === question.entry?.kernel ? question.contract : null;
    place.replaceChildren(h("div", { class: "card" },
      h("h3", {}, `Trial ${trials.ids[i]}: ${state}, ${STATUSES[state] ?? ""}`),
      h("p", { class: "wrap" }, trialLine(trials, i).split("\n")[0], `; ${trials.registers[i]} registers`),
      copyable(`the configuration of trial ${trials.ids[i]}`, text.config(trials.configOf(i))),
      copyable(`the command that measures trial ${trials.ids[i]} again`, commandFor(question, contract ?? trials.kernelOf(i), trials.configOf(i)))));
    place.scrollIntoView({ block: "nearest" });
  }];
}

export function problem(data, params) {
  const question = data.questions.find(({ id }) => id === params.get("id"));
  if (!question) return [h("h1", {}, "No such problem"), h("p", {}, h("a", { href: "#/" }, "All problems"))];
  const trials = trialsOf(data, question);
  const others = data.questions.filter(({ op, device, protocol }) => op === question.op && device === question.device && protocol === question.protocol);
  const at = others.indexOf(question);
  const sibling = (one, label) => (one ? h("a", { href: link("problem", { id: one.id }), rel: label }, `${label}: ${one.title}`) : null);
  const head = [
    h("nav", { class: "crumbs", "aria-label": "Problems of this op" },
      h("a", { href: link("overview", { op: question.op, at: "problems" }) }, question.op),
      h("a", { href: link("curves", { op: question.op, gpu: question.device }) }, "curves of this op"), sibling(others[at - 1], "previous"), sibling(others[at + 1], "next")),
    h("h1", {}, question.title),
    h("p", { class: "lead" }, `${question.op} on ${question.deviceName}, protocol ${question.protocol}${question.objective === "time" ? "" : `, best in ${question.objective}`}`),
  ];
  if (!question.entry) {
    const [place, onpick] = picked(question, trials);
    return [...head, section("trials", "Nothing was correct", [...searchPlot(trials, onpick), place])];
  }
  question.contract ??= question.work?.contract;
  const sections = [
    ["result", "Result", [facts(question)], "half"],
    ...(question.entry.front?.[0].objectives.length > 1 ? [["pareto", "Pareto list", paretoList(question.entry.front)]] : []),
    ["take", "Take it", takeAway(question), "half"],
    ...(question.why ? [["why", "Why it takes as long as it does", whyView(question.why)]] : []),
    ["samples", "How well it is known", distributionPlot(question), "half"],
    ["roofline", "How much better it could be", rooflinePlot(data, question), "half"],
  ];
  if (trials) {
    const kernels = trials.kernels;
    const kernel = kernels.includes(params.get("kernel")) ? params.get("kernel") : question.entry.kernel;
    const [place, onpick] = picked(question, trials);
    const one = h("div", { class: "halves" });
    const show = (name) => one.replaceChildren(
      section("effects", "What each parameter does", effectPlots(trials, name, params), "half"),
      section("pairs", "Two parameters at a time", heatPlot(trials, name, params), "half"),
      section("parallel", "All parameters at once", [...parallelPlot(trials, name, params, onpick), place]));
    sections.push(["search", "Every trial", searchPlot(trials, onpick)]);
    show(kernel);
    const select = kernels.length > 1
      ? h("div", { class: "filters" }, choice("Parameters of", kernels, kernel, (name) => (keep({ kernel: name, p: "", q: "", x: "", y: "" }), ["p", "q", "x", "y"].forEach((key) => params.delete(key)), show(name))))
      : null;
    return [...head, contents([...sections, ["effects", "What each parameter does"], ["pairs", "Two parameters at a time"], ["parallel", "All parameters at once"]]),
      ...sections.map((one) => section(...one)), ...(select ? [select] : []), one];
  }
  return [...head, contents(sections), ...sections.map((one) => section(...one))];
}

const contents = (sections) =>
  h("nav", { class: "contents", "aria-label": "Sections" },
    sections.map(([id, title]) => h("a", { href: linkTo(id), "data-at": id }, title)));
