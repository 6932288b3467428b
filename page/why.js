// What the winner's time is made of, and what tells it from the runner-up and from the baseline.
import { h, table } from "./dom.js";

const names = { "runner-up": "the runner-up", baseline: "the baseline" };

function beside({ role, kernel, config, headline, because, figures }) {
  const title = `Beside ${names[role]}`;
  return [
    h("h3", {}, title),
    h("p", { class: "wrap" }, `The second is ${kernel} ${config}: ${headline}.`),
    because.length > 0 ? h("p", {}, "What of the time differs, the first | the second:") : null,
    because.length > 0 ? h("ul", {}, because.map((part) => h("li", {}, part))) : null,
    figures.length > 0
      ? table(`${title}: what differs`, [
          { name: "name", title: "Figure", cell: ({ name }) => name },
          { name: "first", title: "The first", wide: true, cell: ({ first }) => first },
          { name: "second", title: "The second", wide: true, cell: ({ second }) => second },
        ], figures)
      : null,
  ].filter(Boolean);
}

export function whyView({ headline, causes, against }) {
  return [
    h("p", {}, `${headline}.`),
    h("dl", { class: "facts" }, causes.flatMap(({ name, share, text }) => [
      h("dt", {}, name),
      h("dd", {}, `${share == null ? "" : `${Math.round(100 * share)} %: `}${text}`)])),
    h("p", { class: "quiet" }, "Each sentence follows from the figure in it. The first is the winner. "
      + "assay explain says more of it: it reads the code, too."),
    ...against.flatMap(beside),
  ];
}
