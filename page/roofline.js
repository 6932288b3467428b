// How much better a result could be: its rate below the roofs of its GPU.
import { axis, chart, colours, isNarrow, legend, logScale, tooltip } from "./chart.js";
import { h, table } from "./dom.js";
import * as text from "./text.js";

/** What work is measured in: operations over their intensity, or bytes where there are none. */
const KINDS = {
  FLOP: { x: ({ work }) => work.flops / work.bytes, amount: ({ work }) => work.flops, name: "intensity", unit: "FLOP/B" },
  B: { x: ({ work }) => work.bytes, amount: ({ work }) => work.bytes, name: "bytes of a launch", unit: "B" },
};

/** The roofs from `low` to `high`: [name, its two ends, its rate]. */
function roofsOf(device, op, kind, low, high) {
  const top = kind === "FLOP" ? device.operations_per_s[op] : 0;
  const slope = (name, bandwidth) => {
    if (kind === "B") return [name, [[low, bandwidth], [high, bandwidth]], text.rate(bandwidth, "B")];
    const knee = top > 0 ? Math.max(low, Math.min(high, top / bandwidth)) : high;
    return [name, [[low, low * bandwidth], [knee, knee * bandwidth]], text.rate(bandwidth, "B")];
  };
  const memory = device.memory_bytes_per_s;
  return [
    memory > 0 && slope("memory", memory),
    device.l2_bytes_per_s > 0 && slope("L2", device.l2_bytes_per_s),
    top > 0 && ["arithmetic", [[memory > 0 ? Math.max(low, Math.min(high, top / memory)) : low, top], [high, top]], text.rate(top, "FLOP")],
  ].filter(Boolean);
}

/** Rate against intensity: this problem among those of its GPU, below the roofs. */
export function rooflinePlot(data, question) {
  const kind = question.work?.flops > 0 ? "FLOP" : "B";
  const { x, amount, name: across, unit } = KINDS[kind];
  const points = data.questions.filter((one) =>
    one.device === question.device && one.op === question.op && one.protocol === question.protocol && one.objective === question.objective &&
    one.entry && one.work && amount(one) > 0 && x(one) < Infinity);
  if (!points.includes(question)) {
    return [h("p", {}, question.work
      ? "The contract says nothing of operations or bytes, so there is no rate to draw."
      : "How much a launch has to do is known from the kernel's contract, and there is none beside this page's data that is as it was measured.",
      question.entry?.roofline_ratio ? ` The result reaches ${text.percent(question.entry.roofline_ratio)} of what the GPU's measured rates allow.` : "")];
  }
  const rate = (one) => (amount(one) / one.entry.time_ns) * 1e9;
  const device = data.devices[question.device];
  const spread = points.map(x);
  // As far as the knee, which is what a roofline is read by.
  const knee = kind === "FLOP" && device.memory_bytes_per_s > 0 ? (device.operations_per_s[question.op] ?? 0) / device.memory_bytes_per_s : 0;
  const low = Math.min(...spread, knee || Infinity) / 2;
  const high = Math.max(...spread, knee) * 2;
  const roofs = roofsOf(device, question.op, kind, low, high);
  const rateText = (value) => text.rate(value, kind);
  const lowest = Math.min(...points.map(rate), (amount(question) / (question.entry.baseline?.time_ns ?? question.entry.time_ns)) * 1e9);
  const highest = Math.max(...points.map(rate), ...roofs.flatMap(([, ends]) => ends.map(([, y]) => y)));
  const option = () => {
    const { series, text: ink, quiet } = colours();
    const scatter = (name, some, value, symbol, colour, size) => ({
      name, type: "scatter", symbol, symbolSize: size, itemStyle: { color: colour, borderColor: ink, borderWidth: size > 10 ? 1.5 : 0 },
      data: some.map((one) => ({ name: one.title, value: [x(one), value(one)] })),
    });
    const based = [question].filter(({ entry }) => entry.baseline);
    return {
      legend: legend({ type: "scroll" }),
      tooltip: tooltip(({ seriesName, data: { name, value } }) => (name ? `${name}, ${seriesName}: ${rateText(value[1])}` : seriesName)),
      grid: { left: isNarrow() ? 74 : 104, right: 20, top: 40, bottom: 48 },
      xAxis: axis(across, logScale(low, high, (v) => text.short(text.amount(v, unit)))),
      yAxis: axis(isNarrow() ? "" : "rate", logScale(lowest / 1.6, highest * 1.3, (v) => text.short(rateText(v))), { vertical: true, gap: 84 }),
      series: [
        ...roofs.map(([name, ends, said], k) => ({ name: `${name} roof, ${said}`, type: "line", data: ends, symbol: "none", lineStyle: { color: ink, width: 2, type: ["solid", "dashed", "dotted"][k % 3] }, itemStyle: { color: ink } })),
        scatter("other problems", points.filter((one) => one !== question), rate, "circle", quiet, 7),
        scatter("baseline", based, (one) => (amount(one) / one.entry.baseline.time_ns) * 1e9, "triangle", series[1], 14),
        scatter("this problem", [question], rate, "diamond", series[0], 16),
      ],
    };
  };
  const share = question.entry.roofline_ratio;
  const bounds = { memory: "Memory", arithmetic: "Arithmetic" }[question.bound];
  const missing = [!(device.memory_bytes_per_s > 0) && "memory", kind === "FLOP" && !(device.operations_per_s[question.op] > 0) && "arithmetic"].filter(Boolean);
  return [
    h("p", {}, `${rateText(rate(question))}${share ? `, ${text.percent(share)} of the roof above it` : ""}.${bounds ? ` ${bounds} bounds this problem.` : ""}`,
      missing.length > 0 ? ` No result here is bound by ${missing.join(" or by ")}, so that roof is not known.` : ""),
    chart(`Roofline: ${rateText(rate(question))} at ${text.amount(x(question), unit)}; ${roofs.map(([name, , said]) => `${name} roof ${said}`).join(", ") || "no roof is known"}`, 360, option),
    h("details", {}, h("summary", {}, "As a table"),
      table("Problems below the roofline", [
        { name: "problem", title: "Problem", cell: (one) => one.title },
        { name: "intensity", title: across, number: true, by: x, cell: (one) => text.amount(x(one), unit) },
        { name: "rate", title: "Rate", number: true, by: rate, cell: (one) => rateText(rate(one)) },
        { name: "share", title: "Of roofline", number: true, by: (one) => one.entry.roofline_ratio, cell: (one) => text.percent(one.entry.roofline_ratio) },
        { name: "bound", title: "Bound by", cell: (one) => one.bound ?? text.NONE }], points),
      table("Roofs", [
        { name: "roof", title: "Roof", cell: ([name]) => name },
        { name: "rate", title: "Rate", number: true, cell: ([, , said]) => said }], roofs)),
  ];
}
