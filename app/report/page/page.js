// SPDX-License-Identifier: MIT
// Builds the page from its data, and again what changes while it is live or when colours turn.

const state = {
  document: JSON.parse(document.getElementById("data").textContent),
  charts: [],
  maps: []
};
window.tapemeasure = state;

function fillContents() {
  const titles = [...document.querySelectorAll("main > section")];
  document.getElementById("contents")
      .replaceChildren(...titles.map(
          (one) => element("a", {href: `#${one.id}`}, one.querySelector("h2").textContent)));
}

function replaceSection(id, node) {
  const old = document.getElementById(id);
  if (old && node)
    old.replaceWith(node);
  else if (old)
    old.remove();
  else if (node)
    document.getElementById("machine").before(node);
}

function drawCharts(parts) {
  for (const part of parts) {
    for (const {chart, series} of part.charts) {
      chart.setSeries(series);
      state.charts.push(chart);
    }
  }
}

/** A part of the page; where its data are not what they should be, a section that says so. */
function attempt(id, title, make, wrap = (node) => node) {
  try {
    return make();
  } catch (error) {
    return wrap(section(
        id, title,
        element(
            "p", {class: "problem"},
            `This cannot be shown, the data are damaged: ${error.message}`)));
  }
}

const withoutCharts = (root) => ({root, charts: []});

function resultsPart(data) {
  return attempt("results", "Results of the runs", () => resultsSection(data.runs));
}

function lengthPart(data) {
  return attempt(
      "length", "Loss by evaluation length", () => lengthSection(data), withoutCharts);
}

function positionPart(data) {
  return attempt("positions", "Loss by position", () => positionSection(data), withoutCharts);
}

function buildPage() {
  const data = state.document;
  document.getElementById("header").replaceChildren(...headerParts(data));
  state.curves = new CurvesSection();
  const length = lengthPart(data);
  const position = positionPart(data);
  const parts = [
    ...attempt("verdicts", "Verdicts", () => ablationSections(data), (node) => [node]),
    resultsPart(data), state.curves.root, length.root,
    position.root, picturesSection(data), configSection(data.runs), problemsSection(data),
    machineSection(data)
  ];
  document.getElementById("content").replaceChildren(...parts.filter(Boolean));
  fillContents();
  state.curves.update(data.runs);
  state.charts = [state.curves.chart];
  drawCharts([length, position]);
}

/** What grows while runs go on; a zoom and what is open stay as they are. */
function updatePage() {
  const data = state.document;
  state.curves.update(data.runs);
  const live = document.getElementById("live");
  document.getElementById("header").replaceChildren(...headerParts(data));
  document.getElementById("live").replaceWith(live);
  replaceSection("problems", problemsSection(data));
  replaceSection("results", resultsPart(data));
  const signature =
      JSON.stringify([data.ablations, data.runs.map((run) => [run.results, run.evaluations])]);
  if (signature === state.signature) return;
  state.signature = signature;
  const length = lengthPart(data);
  const position = positionPart(data);
  replaceSection("length", length.root);
  replaceSection("positions", position.root);
  state.charts = [state.curves.chart];
  drawCharts([length, position]);
  fillContents();
}

function redraw() {
  for (const chart of state.charts) chart.setSeries(chart.series);
  for (const map of state.maps) map.draw();
}

buildPage();
darkQuery.addEventListener("change", redraw);
// A test waits for this; a person may read how long it took.
requestAnimationFrame(() => requestAnimationFrame(() => {
                        state.drawnAfter = performance.now();
                      }));
if (state.document.live) poll();
