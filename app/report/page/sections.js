// SPDX-License-Identifier: MIT
// The sections of the page, in the order in which they stand.

function section(id, title, ...children) {
  return element(
      "section", {id, "aria-labelledby": `${id}-title`}, element("h2", {id: `${id}-title`}, title),
      ...children);
}

function headerParts(document) {
  const states = new Map();
  for (const run of document.runs) states.set(run.state, (states.get(run.state) || 0) + 1);
  const counts = [...states.entries()].map(([name, count]) => `${count} ${name}`).join(", ");
  const study = document.ablations.find((one) => one.results && one.results.title);
  return [
    element("h1", {}, study ? study.results.title : document.title),
    element(
        "p", {class: "note"},
        `${document.runs.length} ` +
            `${document.runs.length === 1 ? "run" : "runs"}: ${counts}. Page made ${
                document.made}.`),
    countProblems(document) > 0 ?
        element(
            "p", {},
            element(
                "a", {class: "problem", href: "#problems"},
                countProblems(document) === 1 ?
                    "One thing is missing or damaged" :
                    `${countProblems(document)} things are missing or damaged`)) :
                    "",
    element("p", {id: "live", class: "live", hidden: !document.live, role: "status"})
  ];
}

function countProblems(document) {
  return [...document.ablations, ...document.runs].reduce(
      (sum, one) => sum + one.problems.length, 0);
}

function problemsSection(document) {
  const lines = [];
  for (const study of document.ablations) {
    for (const problem of study.problems) lines.push(`${study.path}: ${problem}`);
  }
  for (const run of document.runs) {
    for (const problem of run.problems) lines.push(`${run.name}: ${problem}`);
  }
  if (lines.length === 0) return null;
  return section(
      "problems", "Missing or damaged",
      element("ul", {class: "problems"}, lines.map((line) => element("li", {}, line))));
}

function ablationSections(document) {
  return document.ablations.filter((study) => study.results).map((study, i) => {
    const results = study.results;
    const id = i === 0 ? "verdicts" : `verdicts-${i + 1}`;
    return section(
        id, document.ablations.length > 1 ? `Verdicts: ${results.title}` : "Verdicts",
        verdictList(results),
        element(
            "h3", {}, `Mean ± standard deviation over seeds ${(results.seeds || []).join(", ")}`),
        element(
            "div", {class: "beside"},
            measureGroups(results.measures).map((group) => armTable(results, group)),
            paperTable(results)),
        seedTable(results));
  });
}

function resultsSection(runs) {
  return section("results", "Results of the runs", runTables(runs));
}

/** Charts of loss by length: of arms where an ablation measured it, of runs otherwise. */
function lengthCharts(document) {
  const charts = [];
  const add = (title, yName, series, note) => {
    const chart = new LineChart({
      id: `chart-length-${charts.length + 1}`,
      title,
      xName: "length",
      yName,
      digits: 4,
      logX: true,
      points: true,
      note
    });
    charts.push({chart, series, title});
  };
  for (const study of document.ablations) {
    if (!study.results) continue;
    for (const group of measureGroups(study.results.measures)) {
      if (new Set(group.map((measure) => measure.length).filter(Boolean)).size < 2) continue;
      add(measureGroupName(group), group[0].unit, armLengthSeries(study.results, group),
          "Bands: one standard deviation over seeds.");
    }
  }
  for (const [name, lines] of runLengthGroups(document.runs)) {
    add(name, name.split(",")[0], [...lines.values()]);
  }
  return charts;
}

function unmeasuredNote(document) {
  const without = document.runs.filter((run) => !run.evaluations && run.arm === undefined);
  if (without.length === 0) return null;
  return element(
      "p", {class: "note"}, "Lengths beyond the trained one were not measured for ",
      without.map((run) => run.name).join(", "), ". To have them here: ",
      element(
          "code", {},
          "tapemeasure evaluate RUN --lengths 64,128,256 --json > RUN/evaluations.json"));
}

function lengthSection(document) {
  const charts = lengthCharts(document);
  const body = charts.map(({chart, title}) => [element("h3", {}, title), chart.root]);
  return {
    root: section("length", "Loss by evaluation length", body, unmeasuredNote(document)),
    charts
  };
}

function positionSection(document) {
  const groups = [...positionGroups(document.runs).entries()];
  const charts =
      groups.map(([name, series], i) => ({
                   chart: new LineChart({
                     id: `chart-position-${i + 1}`,
                     title: `Loss by position, ${name}`,
                     xName: "position in the window",
                     yName: "nats per token",
                     digits: 4,
                     logX: true,
                     points: true,
                     note: "Validation loss of the targets at these positions, each point at " +
                         "the middle of its range."
                   }),
                   series,
                   title: name
                 }));
  const without = document.runs.filter(
      (run) => !(run.results && run.results.validation && run.results.validation.positions));
  const note = without.length ?
      element(
          "p", {class: "note"},
          "Not measured by position: ", without.map((run) => run.name).join(", "), ".") :
      null;
  return {
    root: section(
        "positions", "Loss by position",
        charts.map(({chart, title}) => [element("h3", {}, title), chart.root]), note),
    charts
  };
}

/** One block per run with pictures; heat maps are drawn when they are first opened. */
function picturesSection(document) {
  const runs = document.runs.filter((run) => run.pictures || run.picture_problem);
  if (runs.length === 0) {
    return section(
        "pictures", "What the models learned of positions",
        element(
            "p", {class: "empty"},
            document.live ?
                "Pictures of a model come with: tapemeasure report RUN --out FILE.html" :
                "No checkpoint to make pictures of."));
  }
  const blocks = runs.map((run, i) => pictureBlock(run, i === 0 || runs.length <= 2));
  return section("pictures", "What the models learned of positions", blocks);
}

function pictureBlock(run, open) {
  const block = element(
      "details", {class: "pictures", open},
      element("summary", {}, `${run.name} (${positionOf(run)})`));
  let drawn = false;
  const draw = () => {
    if (!block.open || drawn) return;
    drawn = true;
    if (run.picture_problem) block.append(element("p", {class: "problem"}, run.picture_problem));
    for (const group of run.pictures || []) {
      const maps =
          group.maps.map((picture, i) => new HeatMap(picture, `heat-${run.name}-${group.id}-${i}`));
      block.append(
          element("h3", {}, group.title), element("p", {class: "note"}, group.note),
          group.text ? element("p", {class: "sentence"}, group.text) : "",
          element("div", {class: `maps ${group.size || ""}`}, maps.map((map) => map.root)));
      maps.forEach((map) => map.draw());
      state.maps.push(...maps);
    }
  };
  block.addEventListener("toggle", draw);
  draw();
  return block;
}

function configSection(runs) {
  return section("config", "How the configs differ", configTable(runs), fullConfigs(runs));
}

function machineSection(document) {
  const rows = document.runs.map(
      (run) => [run.name, run.started || NO_NUMBER, (run.machine || []).join("; ") || NO_NUMBER]);
  return section(
      "machine", "Machines and versions", element("p", {}, `This page: ${document.program}.`),
      plainTable(["run", "begun", "trained with"], rows));
}
