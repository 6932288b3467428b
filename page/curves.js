// Curves: time, rate or ratio over any number of a problem, a line for each kernel, baseline, GPU,
// value of a parameter, or choice of the other numbers.
import { axis, chart, colours, isNarrow, legend, tooltip, valueAxis } from "./chart.js";
import { groupBy, trialsOf } from "./data.js";
import { choice, choicesBox, h, section, table } from "./dom.js";
import { variedParams } from "./effects.js";
import { keep, link } from "./router.js";
import * as text from "./text.js";

const MOST_LINES = 10;
const SYMBOLS = ["circle", "triangle", "rect", "diamond", "pin", "arrow", "roundRect"];

/** What is drawn upwards: of a problem and a time, null where it is not known. */
const FIGURES = {
  time: { title: "time", of: (_, time) => time, said: (value) => text.time(value) },
  ratio: { title: "ratio to the best baseline", of: ({ entry }, time) => entry.baseline && entry.baseline.time_ns / time, said: (value) => text.factor(value) },
  flops: { title: "operations per second", of: ({ work }, time) => (work?.flops > 0 ? (work.flops / time) * 1e9 : null), said: (value) => text.rate(value, "FLOP") },
  bandwidth: { title: "bytes per second", of: ({ work }, time) => (work?.bytes > 0 ? (work.bytes / time) * 1e9 : null), said: (value) => text.rate(value, "B") },
  roofline: { title: "share of the roofline", of: ({ roofline_ns: least }, time) => (least ? least / time : null), said: (value) => text.percent(value) },
  bytes: { title: "bytes that must be moved", of: ({ work }) => work?.bytes || null, said: (value) => text.amount(value, "B") },
};

/** The least time of each group of a problem's trials. */
function leastTimes(data, question, groupOf) {
  const trials = trialsOf(data, question);
  const least = new Map();
  for (let i = 0; i < (trials?.count ?? 0); ++i) {
    const time = trials.time_ns[i];
    const group = groupOf(trials, i);
    if (time != null && group != null && !(least.get(group) <= time)) least.set(group, time);
  }
  return least;
}

/** The lines that a problem has a point on, by name, each with its time. */
function pointsOf(data, question, lines) {
  if (lines === "baselines") {
    const timed = (question.rank?.entries ?? []).filter(({ role, time_ns: time }) => role === "baseline" && time);
    return new Map([["the best", question.entry.time_ns], ...timed.map(({ config, time_ns: time }) => [config, time])]);
  }
  if (lines === "kernels") return leastTimes(data, question, (trials, i) => trials.kernelOf(i));
  if (lines === "gpus") return new Map([[question.gpu, question.entry.time_ns]]);
  if (lines === "sizes") return new Map([["", question.entry.time_ns]]);
  return leastTimes(data, question, (trials, i) => {
    const param = trials.params.find(({ name }) => name === lines);
    return param && param.at[i] >= 0 ? `${lines}=${param.values[param.at[i]]}` : null;
  });
}

/**
 * The problems that one line may run through: those that are alike in all but `x`. Where that makes
 * longer lines, one more number may differ along them, as the experts that are hit do with the
 * tokens. Longest first: {title, all}.
 */
function linesOver(questions, x, names) {
  const alike = (some, held) => [...groupBy(some, ({ problem }) => held.map((name) => `${name}=${problem[name]}`).join(" "))];
  const distinct = (all) => new Set(all.map(({ problem, device }) => `${problem[x]} ${device}`)).size === all.length;
  const others = names.filter((name) => name !== x);
  const lengthOf = (groups) => Math.max(...groups.map(([, all]) => new Set(all.map(({ problem }) => problem[x])).size));
  let best = alike(questions, others);
  for (const free of others) {
    const held = others.filter((name) => name !== free);
    const groups = alike(questions, held).flatMap(([title, all]) =>
      (distinct(all) ? [[`${title}${new Set(all.map(({ problem }) => problem[free])).size > 1 ? `, ${free} differs` : ` ${free}=${all[0].problem[free]}`}`, all]] : alike(all, others)));
    if (lengthOf(groups) > lengthOf(best)) best = groups;
  }
  return best.map(([title, all]) => ({ title, all })).sort((a, b) => lengthOf([["", b.all]]) - lengthOf([["", a.all]]));
}

/** The numbers of an op's problems that differ, the most different first. */
function variedNumbers(questions) {
  const valuesOf = (name) => new Set(questions.map(({ problem }) => problem[name])).size;
  return Object.keys(questions[0].problem).filter((name) => valuesOf(name) > 1).sort((a, b) => valuesOf(b) - valuesOf(a));
}

function plot(lines, xs, x, figure, y) {
  const values = lines.flatMap(({ points }) => [...points.values()]);
  const spread = xs.at(-1) / xs[0];
  const option = () => {
    const { series, text: ink } = colours();
    const range = xs[0] > 0 && spread > 4 ? { type: "log", min: xs[0] / spread ** 0.03, max: xs.at(-1) * spread ** 0.03 } : { type: "value", scale: true };
    return {
      legend: legend({ type: "scroll" }),
      tooltip: tooltip((all) => [`${x}=${all[0].data[0]}`, ...all.map(({ seriesName, data }) => `${seriesName}: ${figure.said(data[1])}`)], { trigger: "axis" }),
      grid: { left: isNarrow() ? 78 : 108, right: 24, top: 44, bottom: 48 },
      xAxis: axis(x, { ...range, axisLabel: { customValues: xs, formatter: String }, axisTick: { customValues: xs }, splitLine: { show: false } }),
      yAxis: { ...valueAxis(figure.title, values, (value) => text.short(figure.said(value))), nameGap: 88 },
      series: lines.map(({ name, points }, k) => ({
        name, type: "line", data: [...points], symbol: SYMBOLS[k % SYMBOLS.length], symbolSize: 9,
        lineStyle: { color: series[k % series.length], type: ["solid", "dashed", "dotted"][k % 3], width: 2 },
        itemStyle: { color: series[k % series.length] },
        ...(y === "ratio" && k === 0 ? { markLine: { symbol: "none", silent: true, lineStyle: { color: ink, type: "dashed" }, label: { color: ink, formatter: "the best baseline", position: "insideEndTop" }, data: [{ yAxis: 1 }] } } : {}),
      })),
    };
  };
  return chart(`${figure.title} over ${x}: ${lines.map(({ name, points }) => `${name} ${[...points].map(([at, value]) => `${figure.said(value)} at ${at}`).join(", ")}`).join("; ")}`, 440, option);
}

export function curves(data, params) {
  const drawable = data.questions.filter(({ entry, objective }) => entry && objective === "time");
  const ops = [...groupBy(drawable, ({ op }) => op)].filter(([, some]) => variedNumbers(some).length > 0);
  const head = [h("h1", {}, "Curves"), h("p", { class: "lead" }, "How time, rate and ratio go with the numbers of a problem.")];
  if (ops.length === 0) return [...head, h("p", {}, "A curve needs two problems of one op, and there are none.")];
  const state = Object.fromEntries(params);
  const place = h("div");
  let isOpen = !isNarrow();

  function show(changed = {}) {
    Object.assign(state, changed);
    if (Object.keys(changed).length > 0) {
      keep(changed);
      isOpen = true;
    }
    const [op, ofOp] = ops.find(([name]) => name === state.op) ?? ops.reduce((a, b) => (b[1].length > a[1].length ? b : a));
    const protocols = [...new Set(ofOp.map(({ protocol }) => protocol))];
    const protocol = protocols.includes(state.protocol) ? state.protocol : protocols[0];
    const slugs = [...new Set(ofOp.map(({ device }) => device))];
    const gpu = slugs.includes(state.gpu) ? state.gpu : slugs.at(-1);
    const names = variedNumbers(ofOp);
    const x = names.includes(state.x) ? state.x : names[0];

    const here = ofOp.filter((one) => one.protocol === protocol && one.device === gpu);
    const sets = here.map((one) => trialsOf(data, one)).filter(Boolean);
    const kernels = [...new Set(sets.flatMap((trials) => trials.kernels))];
    const tuned = [...new Set(sets.flatMap((trials) => trials.kernels.flatMap((kernel) => variedParams(trials, kernel).map(({ name }) => name))))];
    const kinds = [["baselines", "the best and each baseline"], ["sizes", "each choice of the other numbers"],
      ...(slugs.length > 1 ? [["gpus", "each GPU"]] : []), ...(kernels.length > 1 ? [["kernels", "each kernel"]] : []),
      ...tuned.map((name) => [name, `each ${name}`])];
    const kind = kinds.some(([name]) => name === state.lines) ? state.lines : "baselines";

    const groups = linesOver(kind === "gpus" ? ofOp.filter((one) => one.protocol === protocol) : here, x, names);
    const group = groups.find(({ title }) => title === state.with) ?? groups[0];
    const drawn = kind === "sizes" ? groups : [group];
    const known = Object.entries(FIGURES).filter(([, { of }]) => drawn.some(({ all }) => all.some((one) => of(one, one.entry.time_ns) != null)));
    const y = known.some(([name]) => name === state.y) ? state.y : known.some(([name]) => name === "ratio") && kind !== "gpus" ? "ratio" : "time";
    const figure = FIGURES[y];

    const found = new Map();
    for (const { title, all } of drawn) {
      for (const one of all) {
        for (const [name, time] of pointsOf(data, one, kind)) {
          const line = kind === "sizes" ? title || op : name;
          const value = figure.of(one, time);
          if (value == null) continue;
          if (!found.has(line)) found.set(line, new Map());
          found.get(line).set(one.problem[x], value);
        }
      }
    }
    const lines = [...found].map(([name, points]) => ({ name, points: new Map([...points].sort(([a], [b]) => a - b)) }))
      .filter(({ points }) => points.size > 1 || kind !== "sizes");
    const shown = lines.slice(0, MOST_LINES);
    const xs = [...new Set(shown.flatMap(({ points }) => [...points.keys()]))].sort((a, b) => a - b);
    const screened = !["baselines", "gpus", "sizes"].includes(kind);
    const title = `${figure.title[0].toUpperCase()}${figure.title.slice(1)} of ${op} over ${x}`;
    place.replaceChildren(
      choicesBox("Choose what is drawn", isOpen, h("div", { class: "filters" },
        choice("Op", ops.map(([name]) => name), op, (value) => show({ op: value, x: "", y: "", lines: "", with: "", gpu: state.gpu ?? "" })),
        slugs.length > 1 && kind !== "gpus" ? choice("GPU", slugs.map((slug) => [slug, data.devices[slug].short]), gpu, (value) => show({ gpu: value })) : "",
        protocols.length > 1 ? choice("Protocol", protocols, protocol, (value) => show({ protocol: value })) : "",
        choice("Draw the", known.map(([name, one]) => [name, one.title]), y, (value) => show({ y: value })),
        names.length > 1 ? choice("over", names, x, (value) => show({ x: value, with: "" })) : "",
        choice("a line for", kinds, kind, (value) => show({ lines: value })),
        kind !== "sizes" && groups.length > 1 ? choice("with", groups.map((one) => [one.title, `${one.title} (${text.count(one.all.length, "problem")})`]), group.title, (value) => show({ with: value })) : "")),
      section("curve", title, shown.length === 0 ? [h("p", {}, "There are no two problems that differ in this alone.")] : [
        plot(shown, xs, x, figure, y),
        h("p", { class: "quiet" }, kind === "sizes" ? "" : `${group.title || "All problems"}. `,
          screened ? "Lines are of the screening's medians, the best of each. " : "Lines are of the re-rank's medians. ",
          lines.length > shown.length ? `The ${shown.length} longest of ${lines.length} lines are drawn.` : ""),
        h("details", {}, h("summary", {}, "As a table"),
          table("Points of the curves", [
            { name: "x", title: x, number: true, by: (at) => at, cell: (at) => String(at) },
            ...shown.map(({ name, points }) => ({ name, title: name, number: true, by: (at) => points.get(at), cell: (at) => (points.has(at) ? figure.said(points.get(at)) : text.NONE) })),
          ], xs)),
        h("p", {}, h("a", { href: link("overview", { op, gpu, at: "problems" }) }, `All problems of ${op}`)),
      ]));
  }
  show();
  return [...head, place];
}
