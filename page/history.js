// How each result went over the runs, and what else changed where it did.
import { axis, chart, colours, isNarrow, legend, tooltip } from "./chart.js";
import { choice, h, section, table, wrapped } from "./dom.js";
import { lastChange, sparkline } from "./overview.js";
import { link } from "./router.js";
import * as text from "./text.js";

const KINDS = {
  step: "a step",
  gradual: "in small steps that add up",
  pending: "pending: too near the newest run to be sure",
  few_runs: "too few runs to tell",
};

function plot(past) {
  const { points, changes } = past;
  const hasCycles = points.every(({ cycles }) => cycles != null);
  const names = points.map(({ run, measured_at: when }) => `${text.day(when)} ${run}`);
  // Both axes span the same factor, so that equal changes look equal; time in the lower half.
  const span = (values) => Math.max(...values) / Math.min(...values);
  const factor = Math.sqrt(Math.max(1.04, span(points.map((one) => one.time_ns)), hasCycles ? span(points.map((one) => one.cycles)) : 1)) * 1.01;
  const room = hasCycles ? factor ** 2 : 1;
  const scale = (values, below, above, formatter) => {
    const middle = Math.sqrt(Math.max(...values) * Math.min(...values));
    return { type: "value", min: middle / factor / below, max: middle * factor * above,
      axisLabel: { showMinLabel: false, showMaxLabel: false, formatter } };
  };
  const option = () => {
    const { series, text: ink } = colours();
    const bars = {
      name: "95 % interval", type: "custom", data: points.map(({ time_low_ns: low, time_high_ns: high }, i) => [i, low ?? NaN, high ?? NaN]),
      encode: { x: 0, y: [1, 2] }, itemStyle: { color: series[0] }, silent: true,
      renderItem: (_, api) => {
        const [x, low] = api.coord([api.value(0), api.value(1)]);
        const [, high] = api.coord([api.value(0), api.value(2)]);
        if (!Number.isFinite(low)) return null;
        const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: series[0], lineWidth: 1.5 } });
        return { type: "group", children: [line(x, low, x, high), line(x - 4, low, x + 4, low), line(x - 4, high, x + 4, high)] };
      },
    };
    return {
      legend: legend({ data: ["time", "95 % interval", ...(hasCycles ? ["cycles"] : [])] }),
      tooltip: tooltip(([{ dataIndex: i }]) => {
        const { time_ns: time, time_low_ns: low, time_high_ns: high, cycles } = points[i];
        return [names[i], `${text.time(time)}${low == null ? "" : ` [${text.time(low)}, ${text.time(high)}]`}`,
          ...(cycles == null ? [] : [`${Math.round(cycles).toLocaleString("en")} cycles`])];
      }, { trigger: "axis" }),
      grid: { left: isNarrow() ? 64 : 92, right: hasCycles ? 92 : 24, top: 48, bottom: 54 },
      xAxis: axis("run", { type: "category", data: names.map((name) => name.slice(0, 10)), axisLabel: { rotate: isNarrow() ? 30 : 0 } }, { gap: isNarrow() ? 42 : 30 }),
      yAxis: [
        axis(isNarrow() ? "" : "time", scale(points.map((one) => one.time_ns), 1, room, text.tick), { vertical: true, gap: 68 }),
        axis(isNarrow() ? "" : "cycles", { ...(hasCycles ? scale(points.map((one) => one.cycles), room, 1, (v) => Math.round(v).toLocaleString("en")) : {}), show: hasCycles, splitLine: { show: false } }, { vertical: true, gap: 54 }),
      ],
      series: [
        { name: "time", type: "line", data: points.map(({ time_ns: time }) => time), symbol: "circle", symbolSize: 7,
          lineStyle: { color: series[0], width: 2 }, itemStyle: { color: series[0] },
          markLine: { symbol: "none", silent: true, lineStyle: { color: ink, type: "dashed" }, label: { color: ink, formatter: ({ name }) => name },
            data: changes.map(({ first_after: at, ratio, kind }) => ({ xAxis: at, name: `${text.change(ratio)}${kind === "pending" || kind === "few_runs" ? "?" : ""}` })) } },
        bars,
        ...(hasCycles ? [{ name: "cycles", type: "line", yAxisIndex: 1, data: points.map(({ cycles }) => cycles), symbol: "triangle", symbolSize: 7,
          lineStyle: { color: series[1], width: 1.5, type: "dotted" }, itemStyle: { color: series[1] } }] : []),
      ],
    };
  };
  return chart(`Time of the best by run: ${points.length} runs, ${lastChange(past)}`, 360, option);
}

function changesTable(past) {
  return table("Changes", [
    { name: "by", title: "Change", cell: ({ ratio }) => `${ratio > 1 ? "slower" : "faster"} ${text.change(ratio)}` },
    { name: "interval", title: "95 % interval", cell: (one) => `${text.change(one.ratio_low)} to ${text.change(one.ratio_high)}` },
    { name: "kind", title: "How", cell: ({ kind }) => KINDS[kind] },
    { name: "before", title: "Last before", cell: ({ last_before: i }) => `${past.points[i].run}, ${text.day(past.points[i].measured_at)}` },
    { name: "after", title: "First after", cell: ({ first_after: i }) => `${past.points[i].run}, ${text.day(past.points[i].measured_at)}` },
    { name: "beside", title: "What else changed", cell: ({ changed_beside: all }) => all.join("; ") || "nothing known" },
  ], past.changes);
}

function runsTable({ points }) {
  return table("Runs", [
    { name: "run", title: "Run", cell: ({ run }) => run },
    { name: "when", title: "Measured", by: (one) => one.measured_at, cell: (one) => h("span", { class: "nowrap" }, (one.measured_at ?? "").replace("T", " ").replace("Z", "")) },
    { name: "time", title: "Time", number: true, by: (one) => one.time_ns, cell: (one) => text.time(one.time_ns) },
    { name: "interval", title: "95 % interval", number: true, cell: (one) => (one.time_low_ns == null ? text.NONE : `${text.time(one.time_low_ns)} to ${text.time(one.time_high_ns)}`) },
    { name: "cycles", title: "Cycles", number: true, by: (one) => one.cycles, cell: (one) => (one.cycles == null ? text.NONE : Math.round(one.cycles).toLocaleString("en")) },
    { name: "level", title: "Relative to the first", number: true, by: (one) => one.level_ratio, cell: (one) => text.factor(one.level_ratio) },
    { name: "driver", title: "Driver", cell: (one) => one.toolchain.driver ?? text.NONE },
    { name: "nvrtc", title: "NVRTC", cell: (one) => one.toolchain.nvrtc ?? text.NONE },
    { name: "cublas", title: "cuBLAS", cell: (one) => one.cublas ?? text.NONE },
    { name: "gpu", title: "GPU", cell: (one) => one.uuid?.slice(0, 12) ?? text.NONE },
  ], points, { limit: 60 });
}

export function past(data, params) {
  const withPast = data.questions.filter((one) => one.past && one.objective === "time");
  const long = withPast.filter(({ past: one }) => one.points.length > 1);
  const head = [h("h1", {}, "History"), h("p", { class: "lead" }, "How each result went over the runs that this page was made from, and where it changed.")];
  if (long.length === 0) {
    return [...head, h("p", {}, withPast.length === 0
      ? "No verdict is in the data: a history is of re-ranked results."
      : "Each result is of one run so far. A history is drawn of several: make the page from a folder with the database of each night, or from a database with several sweeps."),
      h("pre", { tabindex: "0", role: "region", "aria-label": "Example" }, "assay report nightly/ --html report.html")];
  }
  const moved = (one) => Math.abs(Math.log(one.past.changes.at(-1)?.ratio ?? 1));
  const sorted = [...long].sort((a, b) => moved(b) - moved(a));
  const question = sorted.find(({ id }) => id === params.get("id")) ?? sorted[0];
  const { past: one } = question;
  const [lead] = head.splice(1, 1);
  return [
    ...head, lead,
    section("one", question.id, [
      h("div", { class: "filters" }, choice("Result", sorted.map(({ id }) => id), question.id, (id) => (location.hash = link("history", { id })))),
      h("p", {}, one.relative_to
        ? `Changes are looked for in the time relative to ${one.relative_to}, which was timed in the same rounds, so another clock is no change.`
        : "No baseline is common to all runs: a change has to show in time and in cycles."),
      plot(one),
      h("h3", {}, "Changes"),
      one.changes.length > 0 ? changesTable(one) : h("p", {}, "None was found."),
      h("details", {}, h("summary", {}, "The runs as a table"), runsTable(one)),
      h("p", {}, h("a", { href: link("problem", { id: question.id }) }, "The problem"))]),
    section("all", "All results", [
      table("Results over the runs", [
        { name: "id", title: "Result", class: "problem", by: ({ id }) => id, cell: ({ id }) => h("a", { href: link("history", { id }) }, wrapped(id)) },
        { name: "runs", title: "Runs", number: true, by: ({ past: { points } }) => points.length, cell: ({ past: { points } }) => String(points.length) },
        { name: "first", title: "First", number: true, by: ({ past: { points } }) => points[0].time_ns, cell: ({ past: { points } }) => text.time(points[0].time_ns) },
        { name: "latest", title: "Latest", number: true, by: ({ past: { points } }) => points.at(-1).time_ns, cell: ({ past: { points } }) => text.time(points.at(-1).time_ns) },
        { name: "change", title: "Last change", by: ({ past: { changes } }) => changes.at(-1)?.ratio, cell: ({ past: all }) => h("span", { class: "nowrap" }, sparkline(all), ` ${lastChange(all)}`) },
      ], long, { href: ({ id }) => link("history", { id }) })]),
  ];
}
