// Charts: ECharts with only what the page draws, in the page's own colours.
import { CustomChart, HeatmapChart, LineChart, ParallelChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  ParallelComponent,
  TooltipComponent,
  VisualMapComponent,
} from "echarts/components";
import * as echarts from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { h } from "./dom.js";
import { tick } from "./text.js";

echarts.use([
  AriaComponent,
  CanvasRenderer,
  CustomChart,
  GridComponent,
  HeatmapChart,
  LegendComponent,
  LineChart,
  MarkLineComponent,
  ParallelChart,
  ParallelComponent,
  ScatterChart,
  TooltipComponent,
  VisualMapComponent,
]);

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The page's colours as the style sheet has them now. */
export const colours = () => ({
  text: colour("--text"),
  quiet: colour("--quiet"),
  line: colour("--line"),
  back: colour("--card"),
  // Told apart also by eyes that see fewer colours (Okabe and Ito), in their order of contrast.
  series: [1, 2, 3, 4, 5, 6, 7].map((i) => colour(`--series-${i}`)),
  low: colour("--low"),
  middle: colour("--middle"),
  high: colour("--high"),
});

export const isNarrow = () => window.innerWidth < 700;

/** An axis with a name beside it that nothing else is drawn over. */
export function axis(name, options = {}, { vertical = false, gap } = {}) {
  const { text, quiet, line } = colours();
  return {
    name,
    nameLocation: "middle",
    nameGap: gap ?? (vertical ? 60 : 30),
    nameTextStyle: { color: text, fontSize: 12 },
    axisLabel: { color: quiet, fontSize: 12, hideOverlap: true, ...options.axisLabel },
    axisLine: { lineStyle: { color: line } },
    splitLine: { lineStyle: { color: line, opacity: 0.6 } },
    ...Object.fromEntries(Object.entries(options).filter(([key]) => key !== "axisLabel")),
  };
}

/** A logarithmic scale with round ticks: 1, 2 and 5 times a power of ten, or where these are many, 1. */
export function logScale(low, high, tick) {
  const ticks = (steps) => {
    const all = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
      all.push(...steps.map((step) => step * 10 ** power).filter((value) => value >= low && value <= high));
    }
    return all;
  };
  const customValues = [ticks([1, 2, 5]), ticks([1, 3]), ticks([1])].find((all) => all.length <= 9) ?? [];
  return { type: "log", min: low, max: high, axisTick: { customValues }, axisLabel: { customValues, formatter: tick } };
}

/** A vertical axis: by factors where the values are far apart. `tick` writes a value. */
export function valueAxis(name, values, tick) {
  const low = values.reduce((a, b) => Math.min(a, b), Infinity);
  const high = values.reduce((a, b) => Math.max(a, b), 0);
  const scale = high > 6 * low && low > 0 ? logScale(low * 0.9, high * 1.1, tick) : { type: "value", scale: true, axisLabel: { formatter: tick } };
  return axis(isNarrow() ? "" : name, scale, { vertical: true, gap: 68 });
}

/** The same for times in nanoseconds. */
export const timeAxis = (name, times) => valueAxis(name, times, tick);

export const legend = (extra = {}) => ({
  top: 0,
  left: 0,
  itemGap: 14,
  textStyle: { color: colours().text, fontSize: 12 },
  inactiveColor: colours().quiet,
  ...extra,
});

/** `formatter` gives one or several lines. They are texts: ECharts would take a string for HTML. */
export const tooltip = (formatter, extra = {}) => ({
  confine: true,
  backgroundColor: colours().back,
  borderColor: colours().line,
  textStyle: { color: colours().text, fontSize: 13 },
  extraCssText: "max-width: 26rem; white-space: normal; overflow-wrap: anywhere",
  formatter: (...args) => h("div", {}, ...[formatter(...args)].flat().map((line) => h("div", {}, line))),
  ...extra,
});

const charts = new Set();
let waiting = [];

/** Draws one chart after the other, so that the page answers meanwhile. */
function drawNext() {
  const draw = waiting.shift();
  if (!draw) return void performance.mark("drawn");
  draw();
  setTimeout(drawNext);
}

/** Forgets the charts of a view that is left. */
export function clearCharts() {
  for (const chart of charts) chart.dispose();
  charts.clear();
  waiting = [];
}

/**
 * A drawing of `height` pixels. `label` says what it shows to those who cannot see it. `option()`
 * gives what ECharts draws; `ready(chart)` may listen to it. Its `redraw` draws it anew.
 */
export function chart(label, height, option, ready) {
  const canvas = h("div", { class: "canvas", role: "img", "aria-label": label, style: `height:${height}px` });
  let drawn = null;
  canvas.redraw = () => drawn?.setOption(
    { animation: false, textStyle: { fontFamily: "inherit" }, ...option() },
    { notMerge: true },
  );
  if (waiting.length === 0) setTimeout(drawNext);
  waiting.push(() => {
    if (!canvas.isConnected) return;
    drawn = echarts.init(canvas);
    charts.add(drawn);
    canvas.redraw();
    ready?.(drawn);
  });
  return canvas;
}

addEventListener("resize", () => charts.forEach((one) => one.resize()));

// On paper everything is light, and as wide as a page of A4. What is drawn in several layers becomes
// one picture there: a printer may leave layers out.
let themeBefore;
addEventListener("beforeprint", () => {
  themeBefore = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  drawAgain({ width: 680 });
  for (const one of charts) {
    const picture = one.renderToCanvas({ pixelRatio: 2 });
    picture.className = "paper";
    one.getDom().append(picture);
  }
});
addEventListener("afterprint", () => {
  document.querySelectorAll(".paper").forEach((picture) => picture.remove());
  document.documentElement.dataset.theme = themeBefore;
  drawAgain({ width: "auto" });
});

function drawAgain(size) {
  for (const one of charts) {
    one.resize(size);
    one.getDom().redraw();
  }
}
