// How well a winner is known, and how much better it could be.
import { axis, chart, colours, isNarrow, legend, tooltip } from "./chart.js";
import { h, table } from "./dom.js";
import * as text from "./text.js";

const interval = (one, count = 3) =>
  one == null ? text.NONE
    : one[1] == null ? one[0].toFixed(count)
    : `${one[0].toFixed(count)} [${one[1].toFixed(count)}, ${one[2].toFixed(count)}]`;

const nameOf = ({ role, kernel, config }) => (role === "baseline" ? config : `${kernel} ${config}`);

const ROLES = {
  winner: "winner",
  tie: "tie: cannot be told from the winner",
  duplicate: "A/A duplicate",
  baseline: "baseline",
  other: "behind",
};

/** Neighbouring bins share their counts: a clock's ticks would else be combs. */
function smooth(counts) {
  const once = (all) => all.map((n, i) => ((all[i - 1] ?? n) + 2 * n + (all[i + 1] ?? n)) / 4);
  return once(once(once(counts)));
}

/** The distribution of the samples of all that the verdict rests on, a row each. */
export function distributionPlot({ rank }) {
  if (!rank) return [h("p", {}, "The best of the screening was not timed again in turns.")];
  const all = rank.entries.filter(({ counts }) => counts);
  const shown = all.filter(({ role }) => role !== "tie").concat(all.filter(({ role }) => role === "tie").slice(0, 6)).sort((a, b) => all.indexOf(a) - all.indexOf(b));
  const number = { tie: 0, baseline: 0 };
  const names = shown.map(({ role, config }) =>
    role === "baseline" ? config : role === "tie" ? `tie ${++number.tie}` : role === "duplicate" ? "A/A duplicate" : role === "other" ? "screening's best" : role);
  const duplicate = shown.find(({ role }) => role === "duplicate");
  const twin = duplicate && names[shown.findIndex(({ role, kernel, config }) => role !== "duplicate" && kernel === duplicate.kernel && config === duplicate.config)];
  const at = (bin) => (rank.bin_low_ns + (bin + 0.5) * rank.bin_step_ns) / 1e3;
  // The last bin also counts what lies beyond it.
  const densities = shown.map(({ counts }) => smooth(counts.slice(0, -1)));
  const option = () => {
    const { series, text: ink, line } = colours();
    const colourOf = ({ role }) => series[{ winner: 0, tie: 2, duplicate: 3, other: 3, baseline: 1 }[role]];
    const last = Math.max(...densities.map((d) => d.findLastIndex((n) => n > 0.002 * Math.max(...d)))) + 2;
    return {
      tooltip: tooltip(({ dataIndex: k }) => `${names[k]}: median ${text.time(shown[k].time_ns)}, ${text.count(shown[k].rounds, "sample")}`),
      grid: { left: isNarrow() ? 96 : 130, right: 16, top: 16, bottom: 44 },
      xAxis: axis("time, µs", { type: "value", min: at(-1), max: at(last), axisLabel: { showMinLabel: false, showMaxLabel: false, formatter: (v) => String(Number(v.toPrecision(4))) } }),
      yAxis: { type: "category", inverse: true, data: names, axisLabel: { color: ink, fontSize: 12, width: isNarrow() ? 86 : 120, overflow: "truncate" }, axisTick: { show: false }, axisLine: { lineStyle: { color: line } } },
      series: [{
        type: "custom",
        data: shown.map((_, k) => k),
        renderItem: (_, api) => {
          const k = api.value(0);
          const [, base] = api.coord([at(0), k]);
          const height = api.size([0, 1])[1] * 0.9;
          const floor = base + height / 2;
          const most = Math.max(...densities[k]);
          const outline = densities[k].slice(0, last + 1).map((n, bin) => [api.coord([at(bin), k])[0], floor - (height * n) / most]);
          const [x] = api.coord([shown[k].time_ns / 1e3, k]);
          const colour = colourOf(shown[k]);
          return { type: "group", children: [
            { type: "polygon", shape: { points: [[outline[0][0], floor], ...outline, [outline.at(-1)[0], floor]] }, style: { fill: colour, opacity: 0.35 } },
            { type: "polyline", shape: { points: outline }, style: { stroke: colour, lineWidth: 1.5, fill: "none" } },
            { type: "line", shape: { x1: x, x2: x, y1: floor, y2: floor - height }, style: { stroke: ink, lineWidth: 1.5, lineDash: [4, 3] } },
          ] };
        },
      }],
    };
  };
  return [
    h("p", {}, `Each row is what ${text.count(rank.rounds, "round")} in turn measured; the dashed line is its median. What took much longer is beyond the right end.${twin ? ` The A/A duplicate is the same code as the ${twin} once more: what tells the two apart is noise.` : ""}`),
    chart(`Distribution of the samples: ${names.map((name, k) => `${name} ${text.time(shown[k].time_ns)}`).join(", ")}`, 80 + 54 * shown.length, option),
    h("details", {}, h("summary", {}, "All that took part, as a table"),
      table("Entries of the re-rank", [
        { name: "role", title: "What", cell: ({ role }) => ROLES[role] },
        { name: "time", title: "Median", number: true, by: (one) => one.time_ns, cell: (one) => text.time(one.time_ns) },
        { name: "ratio", title: "Time to the winner's", number: true, by: (one) => one.ratio?.[0], cell: (one) => (one.role === "duplicate" ? `to its twin: ${interval(one.ratio)}` : interval(one.ratio)) },
        { name: "cycles", title: "In cycles", number: true, by: (one) => one.cycles_ratio?.[0], cell: (one) => interval(one.cycles_ratio) },
        { name: "speedup", title: "Speed-up", number: true, by: (one) => one.speedup?.[0], cell: (one) => interval(one.speedup) },
        ...(rank.entries.some(({ energy_j }) => energy_j) ? [{ name: "energy", title: "Energy", number: true, by: (one) => one.energy_j, cell: (one) => (one.energy_j ? `${(one.energy_j * 1e3).toPrecision(3)} mJ` : text.NONE) }] : []),
        { name: "rounds", title: "Rounds", number: true, cell: (one) => String(one.rounds) },
        { name: "name", title: "Name", wide: true, cell: (one) => (one.failure ? `${nameOf(one)}: ${one.failure}` : nameOf(one)).replaceAll(",", " ") },
      ], rank.entries, { limit: 40 })),
  ];
}

/** Rate against intensity: this problem among those of its GPU, below the roofs. */
export function rooflinePlot(data, question) {
  const device = data.devices[question.device];
  const points = data.questions.filter((one) =>
    one.device === question.device && one.op === question.op && one.protocol === question.protocol && one.objective === question.objective &&
    one.entry && one.work?.flops > 0 && one.work.bytes > 0);
  if (!points.includes(question)) {
    return [h("p", {}, question.work === null
      ? "How much a launch has to do is known from the kernel's contract, and there is none beside this page's data that is as it was measured."
      : "The contract says nothing of operations, so there is no rate to draw.",
      question.entry?.roofline_ratio ? ` The result reaches ${text.percent(question.entry.roofline_ratio)} of what the GPU's measured rates allow.` : "")];
  }
  const intensity = ({ work }) => work.flops / work.bytes;
  const rate = (one) => one.work.flops / one.entry.time_ns / 1e3; // TFLOP/s
  const roof = (one) => (one.roofline_ns ? one.work.flops / one.roofline_ns / 1e3 : null);
  const memory = device.memory_bytes_per_s / 1e12;
  const l2 = device.l2_bytes_per_s / 1e12;
  const top = Math.max(0, ...points.filter(({ bound }) => bound === "arithmetic").map(roof));
  const low = Math.min(...points.map(intensity)) / 2;
  const high = Math.max(...points.map(intensity), top && memory ? (2 * top) / memory : 0) * 2;
  const slope = (bandwidth) => {
    const knee = top > 0 ? Math.min(high, top / bandwidth) : high;
    return [[low, low * bandwidth], [knee, knee * bandwidth]];
  };
  const lines = [
    memory > 0 && ["memory", slope(memory), "solid", text.rate(memory * 1e12, "B")],
    l2 > 0 && ["L2", slope(l2), "dashed", text.rate(l2 * 1e12, "B")],
    top > 0 && ["arithmetic", [[memory > 0 ? top / memory : low, top], [high, top]], "solid", text.rate(top * 1e12, "FLOP")],
  ].filter(Boolean);
  const option = () => {
    const { series, text: ink, quiet } = colours();
    const scatter = (name, some, value, symbol, colour, size) => ({
      name, type: "scatter", symbol, symbolSize: size, itemStyle: { color: colour, borderColor: ink, borderWidth: size > 10 ? 1.5 : 0 },
      data: some.map((one) => ({ name: one.title, value: [intensity(one), value(one)] })),
    });
    const based = [question].filter(({ entry }) => entry.baseline);
    return {
      legend: legend({ type: "scroll" }),
      tooltip: tooltip(({ seriesName, data: { name, value }, }) => (name ? `${name}, ${seriesName}: ${text.rate(value[1] * 1e12, "FLOP")}` : seriesName)),
      grid: { left: isNarrow() ? 56 : 78, right: 20, top: 40, bottom: 48 },
      xAxis: axis("intensity, FLOP per byte", { type: "log", min: low, max: high, axisLabel: { showMinLabel: false, showMaxLabel: false, formatter: (v) => String(Number(v.toPrecision(2))) } }),
      yAxis: axis(isNarrow() ? "" : "TFLOP/s", { type: "log", axisLabel: { formatter: (v) => String(Number(v.toPrecision(3))) } }, { vertical: true, gap: 52 }),
      series: [
        ...lines.map(([name, ends, dash, amount]) => ({ name: `${name} roof, ${amount}`, type: "line", data: ends, symbol: "none", lineStyle: { color: ink, width: 2, type: dash }, itemStyle: { color: ink } })),
        scatter("other problems", points.filter((one) => one !== question), rate, "circle", quiet, 7),
        scatter("baseline", based, (one) => one.work.flops / one.entry.baseline.time_ns / 1e3, "triangle", series[1], 14),
        scatter("this problem", [question], rate, "diamond", series[0], 16),
      ],
    };
  };
  return [
    h("p", {}, `${text.rate(question.rate.value, question.rate.unit)}${question.entry.roofline_ratio ? `, ${text.percent(question.entry.roofline_ratio)} of the roof above it` : ""}${question.bound ? `; ${question.bound === "memory" ? "memory" : "arithmetic"} bounds this problem` : ""}. `,
      l2 > 0 ? "" : "The rate of L2 was not measured where this page was made, so its roof is not drawn."),
    chart(`Roofline: ${text.rate(rate(question) * 1e12, "FLOP")} at ${intensity(question).toPrecision(3)} FLOP per byte`, 360, option),
    h("details", {}, h("summary", {}, "As a table"),
      table("Problems below the roofline", [
        { name: "problem", title: "Problem", cell: (one) => one.title },
        { name: "intensity", title: "FLOP per byte", number: true, by: intensity, cell: (one) => intensity(one).toPrecision(3) },
        { name: "rate", title: "Rate", number: true, by: rate, cell: (one) => text.rate(rate(one) * 1e12, "FLOP") },
        { name: "share", title: "Of roofline", number: true, by: (one) => one.entry.roofline_ratio, cell: (one) => text.percent(one.entry.roofline_ratio) },
        { name: "bound", title: "Bound by", cell: (one) => one.bound ?? text.NONE }], points)),
  ];
}
