// What a search tried: every trial, what parameters do, and which go together.
import { axis, chart, colours, isNarrow, legend, timeAxis, tooltip } from "./chart.js";
import { STATUSES } from "./data.js";
import { choice, h, table } from "./dom.js";
import { SUMMARIES, cells, effects, timedTrials, variedParams } from "./effects.js";
import { matcher } from "./query.js";
import { keep } from "./router.js";
import * as text from "./text.js";

const UNTIMED = ["compiled", "correctness", "runtime", "timeout", "compile", "constraints"];
const SYMBOLS = ["circle", "triangle", "rect", "diamond", "pin", "arrow", "roundRect", "emptyCircle"];

export function trialLine(trials, i) {
  const state = trials.statusOf(i);
  const time = trials.time_ns[i];
  const said = time != null
    ? `${text.time(time)}, ${text.factor(time / trials.best)} the best${state === "stopped early" ? ", stopped early" : ""}`
    : `${state} ${trials.kinds[trials.kind[i]]}: ${trials.messages[trials.message[i]]}`;
  return `${said}\n${trials.kernelOf(i)} ${text.config(trials.configOf(i))}`;
}

const trialTip = (trials) => ({ value: [, , i] = [] }) => {
  if (i == null) return "";
  return `Trial ${trials.ids[i]}: ${trialLine(trials, i)}`.replace(/,/g, ", ").split("\n");
};

/** Every trial in the order tried: times below, those without a time by status above, and the best so far. */
export function searchPlot(trials, onpick) {
  const untimed = UNTIMED.filter((status) => trials.statuses.includes(status));
  const points = Object.fromEntries(["correct", "stopped early", ...untimed].map((status) => [status, []]));
  const best = [];
  const times = trials.time_ns.filter((time) => time != null);
  for (let i = 0; i < trials.count; ++i) {
    const status = trials.statusOf(i);
    const time = trials.time_ns[i];
    points[status].push(i + 1, time == null ? untimed.length - 1 - untimed.indexOf(status) : time, i);
    const least = best.at(-1)?.[1] ?? Infinity;
    if (time != null && status === "correct" && time < least) best.push([i + 1, time]);
  }
  if (best.length > 0) best.push([trials.count, best.at(-1)[1]]);
  const band = untimed.length * 24;
  const top = 34 + (isNarrow() ? 44 : 0);
  const option = () => {
    const { series, text: ink } = colours();
    const large = trials.count > 5000;
    const scatter = (status, k, lower) => ({
      name: status,
      type: "scatter",
      data: Float64Array.from(points[status]), // three for each point: of a list of lists it takes twice as long
      dimensions: ["trial", "time", "place"],
      encode: { x: 0, y: 1 },
      xAxisIndex: lower ? 0 : 1,
      yAxisIndex: lower ? 0 : 1,
      symbol: large && k === 0 ? "rect" : SYMBOLS[k], // small squares are drawn fastest
      symbolSize: large ? (k === 0 ? 3 : 5) : 7,
      large,
      largeThreshold: 2000,
      itemStyle: { color: series[k], opacity: large ? 0.6 : 0.85 },
    });
    const left = isNarrow() ? 68 : 96;
    const grids = [{ left, right: 16, top: top + band + (band ? 12 : 0), bottom: 44 }];
    const range = { min: 0, max: trials.count + 1 };
    const x = [axis("trial, in the order tried", { type: "value", ...range, splitLine: { show: false }, axisLabel: { showMinLabel: false, showMaxLabel: false } })];
    const y = [timeAxis("time", times)];
    if (band) {
      grids.push({ left, right: 16, top, height: band });
      x.push({ type: "value", gridIndex: 1, show: false, ...range });
      y.push({ type: "category", gridIndex: 1, data: [...untimed].reverse(),
        axisLabel: { color: ink, fontSize: isNarrow() ? 10 : 12 }, axisTick: { show: false }, axisLine: { show: false } });
    }
    return {
      legend: legend({ type: isNarrow() ? "plain" : "scroll" }),
      tooltip: tooltip(trialTip(trials)),
      grid: grids,
      xAxis: x,
      yAxis: y,
      series: [
        scatter("correct", 0, true),
        ...(points["stopped early"].length > 0 ? [scatter("stopped early", 1, true)] : []),
        ...untimed.map((status, k) => scatter(status, k + 2, false)),
        { name: "best so far", type: "line", step: "end", data: best, showSymbol: false, silent: true,
          lineStyle: { color: ink, width: 2 }, itemStyle: { color: ink }, symbol: "none" },
      ],
    };
  };
  const counts = trials.statuses.map((status, k) =>
    [status, trials.status.reduce((sum, one) => sum + (one === k), 0)]);
  const said = counts.map(([status, number]) => `${number} ${status}`).join(", ");
  const at = best.length > 1 ? ` The best was found at trial ${best.at(-2)[0]}.` : "";
  return [
    h("p", {}, `${text.count(trials.count, "trial")}: ${said}.${at}`),
    chart(`Every trial in the order tried, and the best time so far: ${said}`, 380 + band, option,
      (drawn) => drawn.on("click", ({ value }) => value?.[2] != null && onpick(value[2]))),
    h("details", {}, h("summary", {}, "As a table"),
      table("Trials by status",
        [{ name: "status", title: "Status", cell: ([status]) => status },
          { name: "meaning", title: "Meaning", cell: ([status]) => STATUSES[status] ?? "" },
          { name: "count", title: "Trials", number: true, cell: ([, number]) => String(number) }], counts),
      table("When the best time fell",
        [{ name: "trial", title: "Trial", number: true, cell: ([trial]) => String(trial) },
          { name: "time", title: "Best time", number: true, cell: ([, time]) => text.time(time) }],
        best.slice(0, -1))),
  ];
}

/** The effect of each parameter, and of one together with its partner. */
export function effectPlots(trials, kernel, params) {
  const found = effects(trials, kernel);
  if (found.length === 0) return [h("p", {}, "Too few trials were timed, or no parameter was varied.")];
  const state = { p: params.get("p") ?? found[0].param.name, q: params.get("q"), how: "fastest" };
  const place = h("div");
  const list = h("div");
  const at = (name) => found.find(({ param }) => param.name === name) ?? found[0];

  function show(changes = {}) {
    Object.assign(state, changes);
    if (changes.p) state.q = null;
    const one = at(state.p);
    const partner = (one.partners.find(({ param }) => param.name === state.q) ?? one.partners[0])?.param;
    if (Object.keys(changes).length > 0) keep({ p: state.p, q: state.q ?? "" });
    const summary = SUMMARIES[state.how];
    const grid = partner ? cells(trials, kernel, one.param, partner)
      : one.param.values.map((_, k) => [{ times: timedTrials(trials, kernel).filter((i) => one.param.of(i) === k).map((i) => trials.time_ns[i]) }]);
    const lines = partner ? partner.values : ["all"];
    const value = (x, y) => summary(grid[x][y].times);
    const option = () => {
      const { series } = colours();
      return {
        legend: legend({ type: "scroll" }),
        tooltip: tooltip((all) => all.filter(({ data }) => data != null)
          .map(({ seriesName, data }) => `${seriesName}: ${text.time(data)}`), { trigger: "axis" }),
        grid: { left: isNarrow() ? 64 : 92, right: 16, top: 40, bottom: 44 },
        xAxis: axis(one.param.name, { type: "category", data: one.param.values.map(String) }),
        yAxis: timeAxis(`${state.how} time`, one.param.values.flatMap((_, x) => lines.map((_, y) => value(x, y))).filter((time) => time > 0)),
        series: lines.map((line, y) => ({
          name: partner ? `${partner.name}=${line}` : "all",
          type: "line",
          data: one.param.values.map((_, x) => value(x, y)),
          connectNulls: true,
          symbol: SYMBOLS[y % SYMBOLS.length],
          symbolSize: 9,
          lineStyle: { color: series[y % series.length], type: ["solid", "dashed", "dotted"][y % 3], width: 2 },
          itemStyle: { color: series[y % series.length] },
        })),
      };
    };
    const others = one.partners.map(({ param, share }) => [param.name, `${param.name} (${text.percent(share)})`]);
    place.replaceChildren(
      h("div", { class: "filters" },
        choice("Parameter", found.map(({ param }) => param.name), one.param.name, (p) => show({ p })),
        others.length > 0 ? choice("together with", others, partner.name, (q) => show({ q })) : null,
        choice("show the", Object.keys(SUMMARIES), state.how, (how) => show({ how }))),
      chart(`The ${state.how} time by ${one.param.name}${partner ? `, a line for each ${partner.name}` : ""}`, 320, option),
      h("p", { class: "quiet" }, "Lines that run side by side: the two act independently. Lines that cross: neither can be chosen without the other."));
  }
  list.append(table("How much of the spread of the times each parameter explains",
    [{ name: "param", title: "Parameter", by: ({ param }) => param.name, cell: ({ param }) =>
        h("button", { type: "button", class: "plain", onclick: () => show({ p: param.name }) }, param.name) },
      { name: "alone", title: "Explains alone", by: ({ alone }) => alone, cell: ({ alone }) => bar(alone) },
      { name: "with", title: "Together with", cell: ({ partners }) => partners.filter(({ share }) => share >= 0.005).slice(0, 3).map(({ param, share }) => `${param.name} ${text.percent(share)}`).join(", ") || text.NONE },
      { name: "values", title: "Tried", cell: ({ param }) => param.values.join(", ") }], found));
  show();
  return [
    h("p", {}, `Of what tells the times of ${kernel} apart: how much each parameter explains by itself, and how much more two explain together. 100 % would be all of it. Where few of the combinations were tried, two may explain the same.`),
    list, place];
}

const bar = (ratio) => h("span", { class: "nowrap" },
  h("span", { class: "bar", "aria-hidden": "true" }, h("span", { style: `width:${Math.min(100, ratio * 100)}%` })),
  ` ${text.percent(ratio)}`);

/** A heat map of any two parameters. */
export function heatPlot(trials, kernel, params) {
  const varied = variedParams(trials, kernel);
  if (varied.length < 2) return [h("p", {}, "Fewer than two parameters were varied.")];
  const [first] = effects(trials, kernel);
  const names = varied.map(({ name }) => name);
  const state = {
    x: params.get("x") ?? first?.param.name ?? names[0],
    y: params.get("y") ?? first?.partners[0]?.param.name ?? names[1],
    how: "fastest",
  };
  const place = h("div");
  function show(changes = {}) {
    Object.assign(state, changes);
    if (Object.keys(changes).length > 0) keep({ x: state.x, y: state.y });
    const x = varied.find(({ name }) => name === state.x) ?? varied[0];
    const y = varied.find(({ name }) => name === state.y && name !== x.name) ?? varied.find(({ name }) => name !== x.name);
    const grid = cells(trials, kernel, x, y);
    const data = [];
    const blank = [];
    grid.forEach((column, i) => column.forEach(({ times, tried }, j) => {
      const time = SUMMARIES[state.how](times);
      if (time != null) data.push([i, j, time / trials.best, times.length, tried]);
      else if (tried > 0) blank.push([i, j, 0, 0, tried]);
    }));
    const option = () => {
      const { text: ink, low, middle, high, back, quiet } = colours();
      const most = Math.min(Math.max(...data.map(([, , ratio]) => ratio)), 4);
      const label = { show: x.values.length <= (isNarrow() ? 5 : 14), fontSize: 12 };
      return {
        tooltip: tooltip(({ data: [i, j, ratio, timed, tried] }) => `${x.name}=${x.values[i]}, ${y.name}=${y.values[j]}: ` +
          (timed > 0 ? `${text.time(ratio * trials.best)}, ${text.factor(ratio)} the best, ${timed} of ${text.count(tried, "trial")} timed` : `all of ${text.count(tried, "trial")} failed`)),
        grid: { left: isNarrow() ? 70 : 96, right: 16, top: 12, bottom: 100 },
        xAxis: axis(x.name, { type: "category", data: x.values.map(String), splitArea: { show: false } }),
        yAxis: axis(isNarrow() ? "" : y.name, { type: "category", data: y.values.map(String) }, { vertical: true, gap: 66 }),
        visualMap: { dimension: 2, min: 1, max: Math.max(most, 1.05), seriesIndex: 0, calculable: false, orient: "horizontal", left: "center", bottom: 4,
          itemHeight: 160, text: [`${Math.max(most, 1.05).toFixed(2)}× or more`, "best"], textStyle: { color: ink, fontSize: 12 }, inRange: { color: [low, middle, high] } },
        series: [
          { type: "heatmap", data, itemStyle: { borderColor: back, borderWidth: 1 },
            label: { ...label, formatter: ({ data: [, , ratio] }) => ratio.toFixed(2), color: "#000" } },
          { type: "heatmap", data: blank, itemStyle: { color: back, borderColor: quiet, borderWidth: 1, borderType: "dashed" },
            label: { ...label, formatter: "✕", color: ink } },
        ],
      };
    };
    place.replaceChildren(
      h("div", { class: "filters" },
        choice("Across", names, x.name, (value) => show({ x: value })),
        choice("up", names.filter((name) => name !== x.name), y.name, (value) => show({ y: value })),
        choice("show the", Object.keys(SUMMARIES), state.how, (how) => show({ how }))),
      chart(`Heat map of the ${state.how} time by ${x.name} and ${y.name}, relative to the best`, 140 + 34 * Math.max(y.values.length, 4), option),
      h("details", {}, h("summary", {}, "As a table"),
        table(`The ${state.how} time by ${x.name} and ${y.name}`,
          [{ name: "x", title: x.name, cell: ([i]) => String(x.values[i]), by: ([i]) => i },
            { name: "y", title: y.name, cell: ([, j]) => String(y.values[j]), by: ([, j]) => j },
            { name: "time", title: "Time", number: true, by: (cell) => cell[2], cell: ([, , ratio]) => text.time(ratio * trials.best) },
            { name: "ratio", title: "Relative to the best", number: true, by: (cell) => cell[2], cell: ([, , ratio]) => text.factor(ratio) },
            { name: "trials", title: "Timed", number: true, by: (cell) => cell[3], cell: ([, , , timed, tried]) => `${timed} of ${tried}` }],
          data, { sort: { column: "time" }, limit: 20 })));
  }
  show();
  return [h("p", {}, "Each cell is the best that the two allow, whatever the others are; 1.00 is the best of all. A cross: everything there failed. Empty: nothing was tried."), place];
}

/** Whether a trial has the values that a text asks for: "STAGES=4,5 BLOCK_M=128 correct". */
const filterOf = (trials, query) => matcher(query,
  (i, name) => trials.params.filter((param) => param.name.toLowerCase() === name && param.at[i] >= 0).map(({ values, at }) => values[at[i]]),
  (i) => `${trials.statusOf(i)} ${trials.kernelOf(i)} ${trials.kinds[trials.kind[i]]}`);

const MOST_LINES = 1200;

/** Parallel coordinates; what is brushed on any axis, or asked for in words, is listed below. */
export function parallelPlot(trials, kernel, params, onpick) {
  const varied = variedParams(trials, kernel);
  const timed = timedTrials(trials, kernel).sort((a, b) => trials.time_ns[a] - trials.time_ns[b]);
  const fastest = timed.slice(0, MOST_LINES / 3);
  const rest = timed.slice(fastest.length);
  const stride = Math.max(1, Math.ceil(rest.length / (MOST_LINES - fastest.length)));
  const drawn = fastest.concat(rest.filter((_, k) => k % stride === 0));
  const axes = [...varied.map(({ name, values, of }) => ({ name, values, value: of })),
    { name: "time", value: (i) => Math.log10(trials.time_ns[i]) }];
  let brushed = () => true;
  const status = h("p", { role: "status" });
  const list = h("div");
  const filter = h("input", { type: "search", id: "trial-filter", value: params.get("trials") ?? "",
    placeholder: "STAGES=4,5 BLOCK_M=128 correct", oninput: () => (keep({ trials: filter.value }), show()) });

  function show() {
    const asked = filterOf(trials, filter.value);
    const rows = [];
    for (let i = 0; i < trials.count; ++i) if (asked(i) && brushed(i)) rows.push(i);
    status.textContent = rows.length === trials.count ? `All ${text.count(rows.length, "trial")}` : `${rows.length} of ${text.count(trials.count, "trial")}`;
    list.replaceChildren(table("Trials", [
      { name: "id", title: "Trial", by: (i) => trials.ids[i], cell: (i) => h("button", { type: "button", class: "plain", onclick: () => onpick(i) }, String(trials.ids[i])) },
      { name: "time", title: "Time", number: true, by: (i) => trials.time_ns[i], cell: (i) => text.time(trials.time_ns[i]) },
      { name: "ratio", title: "To the best", number: true, by: (i) => trials.time_ns[i], cell: (i) => (trials.time_ns[i] == null ? text.NONE : text.factor(trials.time_ns[i] / trials.best)) },
      { name: "status", title: "Status", by: (i) => trials.statusOf(i), cell: (i) => `${trials.statusOf(i)} ${trials.kinds[trials.kind[i]]}` },
      { name: "registers", title: "Registers", number: true, by: (i) => trials.registers[i], cell: (i) => String(trials.registers[i] || text.NONE) },
      { name: "spills", title: "Spilled bytes", number: true, by: (i) => trials.spill_bytes[i], cell: (i) => String(trials.spill_bytes[i]) },
      { name: "config", title: "What is varied", class: "long", cell: (i) => `${trials.kernels.length > 1 ? `${trials.kernelOf(i)} ` : ""}${trials.params.filter(({ values, at }) => values.length > 1 && at[i] >= 0).map(({ name, values, at }) => `${name}=${values[at[i]]}`).join(" ")}` },
    ], rows, { sort: { column: "time" }, limit: 12 }));
  }

  const option = () => {
    const { text: ink, quiet, low, middle, high, line } = colours();
    const times = axes.length - 1;
    const narrow = isNarrow();
    return {
      parallel: narrow ? { layout: "vertical", left: 24, right: 96, top: 24, bottom: 70 } : { left: 40, right: 60, top: 70, bottom: 56 },
      parallelAxis: axes.map(({ name, values }, dim) => ({
        dim, name, type: values ? "category" : "value", data: values?.map(String), scale: true,
        nameTextStyle: { color: ink, fontSize: 11 }, nameLocation: "end",
        nameRotate: narrow ? 0 : axes.length > 7 ? 30 : 0,
        nameGap: 14,
        axisLabel: { color: quiet, fontSize: 11, formatter: values ? undefined : (log) => text.short(text.time(10 ** log, 3)) },
        axisLine: { lineStyle: { color: line } }, axisTick: { show: false },
        areaSelectStyle: { width: 22, borderColor: ink, color: quiet, opacity: 0.3 },
      })),
      visualMap: { type: "continuous", dimension: times, min: Math.log10(trials.best), max: Math.log10(trials.time_ns[drawn.at(-1)]) + 1e-6,
        orient: "horizontal", left: "center", bottom: 0, text: ["slowest", "fastest"], textStyle: { color: ink, fontSize: 12 }, itemHeight: 140,
        inRange: { color: [low, middle, high], opacity: [0.9, 0.35] } },
      // The fastest are drawn last, above the others.
      series: [{ type: "parallel", lineStyle: { width: 1.2 }, inactiveOpacity: 0.03, activeOpacity: 0.8, progressive: 400,
        data: [...drawn].reverse().map((i) => axes.map(({ value }) => value(i))) }],
    };
  };
  const listen = (plot) => plot.on("axisareaselected", () => {
    const intervals = axes.map((_, k) => plot.getModel().getComponent("parallelAxis", k).activeIntervals);
    const inside = (spans, at) => spans.length === 0 || spans.some(([from, to]) => at >= from && at <= to);
    const any = intervals.some((spans) => spans.length > 0);
    brushed = any
      ? (i) => trials.time_ns[i] != null && trials.kernelOf(i) === kernel && axes.every(({ value }, k) => inside(intervals[k], value(i)))
      : () => true;
    show();
  });
  show();
  const some = drawn.length < timed.length ? ` Of ${text.count(timed.length, "timed trial")} the fastest and every ${stride}th other are drawn; all are listed.` : "";
  const label = "Parallel coordinates: a line for each trial through the values of its parameters to its time";
  return [
    h("p", {}, `A line is a trial. Drag along an axis to choose what the table shows; a click beside the choice ends it. Or say it in words below the picture.${some}`),
    varied.length > 0 && drawn.length > 0 ? chart(label, isNarrow() ? 60 + 64 * axes.length : 420, option, listen) : h("p", {}, "No parameter was varied among timed trials."),
    h("div", { class: "filters" }, h("span", { class: "field" }, h("label", { for: "trial-filter" }, "Only trials with"), filter)),
    status, list];
}
