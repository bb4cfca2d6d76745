// SPDX-License-Identifier: MIT
// From the document to lines: training curves, loss by length, loss by position.

const QUANTITIES = [
  ["loss", "training loss", "nats"],
  ["validation_loss", "validation loss", "nats"],
  ["bits_per_character", "validation bits per character", "bits"],
  ["exact_match", "validation exact match", "share"],
  ["gradient_norm", "gradient norm before clipping", ""],
  ["learning_rate", "learning rate", ""],
  ["tokens_per_second", "speed", "tokens/s"],
];

/** What a run shares a colour with: its arm, or itself. */
function groupOf(run) {
  if (run.arm === undefined) return run.name;
  return armLabel(run.ablation, run.arm);
}

/** What a run's own line is called. */
function lineName(run) {
  return run.seed === undefined ? run.name : `${groupOf(run)}, seed ${run.seed}`;
}

function armLabel(ablation, name) {
  const study = state.document.ablations.find((one) => one.path === ablation);
  const arm = study && study.results && study.results.arms.find((one) => one.name === name);
  return (arm && arm.label) || name;
}

/** A colour's number for each group, in the order in which they come. */
function groupIndices(runs) {
  const indices = new Map();
  const arms = state.document.ablations.flatMap((study) => (study.results || {arms: []}).arms);
  for (const group of [...arms.map((arm) => arm.label || arm.name), ...runs.map(groupOf)]) {
    if (!indices.has(group)) indices.set(group, indices.size);
  }
  return indices;
}

/** The mean of each point and those before it, `count` in all. */
function movingMean(values, count) {
  if (count <= 1) return values;
  const means = [];
  let sum = 0;
  values.forEach((value, i) => {
    sum += value;
    if (i >= count) sum -= values[i - count];
    means.push(sum / Math.min(i + 1, count));
  });
  return means;
}

function curveSeries(runs, quantity, smoothing) {
  const indices = groupIndices(runs);
  return runs.filter((run) => run.curves[quantity])
      .map((run) => ({
             name: lineName(run),
             group: groupOf(run),
             index: indices.get(groupOf(run)),
             x: run.curves[quantity].steps,
             y: movingMean(run.curves[quantity].values, smoothing),
           }));
}

/** How many of a curve's points the page holds, where that is not all. */
function thinningNote(runs, quantity) {
  const cut = runs.map((run) => run.curves[quantity])
                  .filter((curve) => curve && curve.steps.length < curve.of);
  if (cut.length === 0) return "";
  const of = Math.max(...cut.map((curve) => curve.of));
  const held = Math.max(...cut.map((curve) => curve.steps.length));
  return ` Of up to ${groupThousands(of)} rows the page holds ${groupThousands(held)}: first, ` +
      "last, lowest and highest of each stretch.";
}

class CurvesSection {
  constructor() {
    this.quantity = "loss";
    this.smoothing = 1;
    this.chart = new LineChart(
        {id: "chart-curves", title: "Training curves", xName: "step", digits: 4, range: true});
    this.note = element("p", {class: "note"});
    this.pickQuantity = element("select", {"aria-label": "what is drawn"});
    this.pickQuantity.addEventListener("change", () => {
      this.quantity = this.pickQuantity.value;
      this.draw();
    });
    this.pickSmoothing = element(
        "select", {},
        [1, 10, 50, 200].map(
            (count) => element(
                "option", {value: count},
                count === 1 ? "none" : `moving mean of ${count} points`)));
    this.pickSmoothing.addEventListener("change", () => {
      this.smoothing = Number(this.pickSmoothing.value);
      this.draw();
    });
    this.root = section(
        "curves", "Training curves",
        element(
            "div", {class: "controls"}, element("label", {}, "show ", this.pickQuantity),
            element("label", {}, "smoothing ", this.pickSmoothing)),
        this.note, this.chart.root);
  }

  update(runs) {
    this.runs = runs;
    const there = QUANTITIES.filter(([name]) => runs.some((run) => run.curves[name]));
    if (there.length && !there.some(([name]) => name === this.quantity))
      this.quantity = there[0][0];
    this.pickQuantity.replaceChildren(...there.map(
        ([name, text]) =>
            element("option", {value: name, selected: name === this.quantity}, text)));
    this.draw();
  }

  draw() {
    const [, text, unit] = QUANTITIES.find(([name]) => name === this.quantity);
    const smoothed = this.smoothing > 1;
    const name = `${text}${unit ? `, ${unit}` : ""}`;
    this.note.textContent = (smoothed ? `Smoothed: each point is the mean of it and the ${
                                            this.smoothing - 1} shown before it.` :
                                        "Not smoothed: every point is one recorded number.") +
        thinningNote(this.runs, this.quantity);
    this.chart.options.points = this.runs.every(
        (run) => !run.curves[this.quantity] || run.curves[this.quantity].steps.length < 40);
    this.chart.setSeries(
        curveSeries(this.runs, this.quantity, this.smoothing),
        smoothed ? `${name} (moving mean)` : name);
  }
}

/** Measures that may share a table and an axis: alike in all but their length. */
function measureGroups(measures) {
  const groups = new Map();
  for (const measure of measures) {
    if (measure.in_table === false) continue;
    const key = [measure.unit, measure.split, measure.protocol, measure.set].join(" · ");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(measure);
  }
  return [...groups.values()];
}

function measureGroupName(group) {
  const one = group[0];
  const lengths = group.filter((measure) => measure.length).map((measure) => measure.length);
  const split = one.split ? ` on ${one.split}` : "";
  const protocol = one.protocol ? `, protocol ${one.protocol}` : "";
  const set = (one.set || []).length ? `, with ${one.set.join(" ")}` : "";
  return `${one.unit || "value"}${split}${protocol}${set}${
      lengths.length > 1 ? ", by length" : lengths.map((one) => `, length ${one}`)}`;
}

/** Loss by length of an ablation's arms, for one group of measures. */
function armLengthSeries(results, group) {
  const ordered = group.filter((measure) => measure.length).sort((a, b) => a.length - b.length);
  const indices = groupIndices(state.document.runs);
  return results.arms.map((arm) => {
    const label = arm.label || arm.name;
    const points =
        ordered
            .map(
                (measure) =>
                    [measure.length,
                     results.cells.find(
                         (cell) => cell.arm === arm.name && cell.measure === measure.name)])
            .filter(([, cell]) => cell && typeof cell.mean === "number");
    return {
      name: label,
      group: label,
      index: indices.get(label),
      x: points.map(([length]) => length),
      y: points.map(([, cell]) => cell.mean),
      sd: points.map(([, cell]) => cell.sd)
    };
  });
}

const LENGTH_UNITS = [["bits_per_character", "bits per character"], ["loss", "nats per token"]];

/** What runs measured by length, in groups that share objective, unit, text and protocol kind. */
function runLengthGroups(runs) {
  const indices = groupIndices(runs);
  const groups = new Map();
  for (const run of runs) {
    const file = run.evaluations;
    const list = (file && file.evaluations) || [];
    for (const [key, unit] of LENGTH_UNITS) {
      for (const one of list) {
        if (!one.length || typeof one[key] !== "number") continue;
        if (key === "loss" && one.bits_per_character !== undefined) continue;
        const protocol = (one.protocol || "").replace(/:.*/, "");
        const name = [
          key === "loss" ? `nats per ${one.unit || "token"}` : unit, file.text,
          protocol || one.objective
        ].filter(Boolean).join(", ");
        if (!groups.has(name)) groups.set(name, new Map());
        const lines = groups.get(name);
        if (!lines.has(run.name)) {
          lines.set(
              run.name,
              {name: run.name, group: groupOf(run), index: indices.get(groupOf(run)), points: []});
        }
        lines.get(run.name).points.push([one.length, one[key]]);
      }
    }
  }
  for (const lines of groups.values()) {
    for (const line of lines.values()) {
      line.points.sort((a, b) => a[0] - b[0]);
      line.x = line.points.map(([length]) => length);
      line.y = line.points.map(([, value]) => value);
    }
  }
  return groups;
}

/** Validation loss by position, grouped by protocol and length: others do not compare. */
function positionGroups(runs) {
  const indices = groupIndices(runs);
  const groups = new Map();
  for (const run of runs) {
    const validation = run.results && run.results.validation;
    const positions =
        ((validation && validation.positions) || []).filter((at) => typeof at.loss === "number");
    if (positions.length === 0) continue;
    const name = `${validation.protocol}, length ${validation.length}`;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push({
      name: lineName(run),
      group: groupOf(run),
      index: indices.get(groupOf(run)),
      x: positions.map((at) => (at.first + at.last) / 2 + 1),
      y: positions.map((at) => at.loss),
      label: (i) => `${positions[i].first} to ${positions[i].last}`,
    });
  }
  return groups;
}
