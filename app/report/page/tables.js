// SPDX-License-Identifier: MIT
// Tables: verdicts, an ablation's cells, runs and their results, config differences.

function scrollBox(label, table) {
  return element("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": label}, table);
}

/** A cell with a number of results.json, which keeps all its digits in data-value. */
function numberCell(run, key, digits) {
  const value = valueAt(run.results, key);
  return element(
      "td", {class: "number", "data-run": run.name, "data-key": key, "data-value": value ?? ""},
      formatNumber(value, digits));
}

const RUN_COLUMNS = [
  ["steps", "steps"],
  ["parameters", "parameters"],
  ["best.validation_loss", "best loss", 4],
  ["best.step", "at step"],
  ["validation.loss", "last loss", 4],
  ["validation.bits_per_character", "bits/char", 4],
  ["validation.perplexity", "perplexity", 3],
  ["validation.exact_match", "exact match", 4],
];

function protocolOf(run) {
  const validation = run.results && run.results.validation;
  if (!validation) return "";
  const unit = validation.unit ? `nats per ${validation.unit}` : "nats per token";
  return [
    validation.objective || "causal", validation.protocol,
    validation.length && `length ${validation.length}`, unit
  ].filter(Boolean)
      .join(", ");
}

/**
 * A table per way of measuring: numbers of different protocols or units do not stand side by side.
 */
function runTables(runs) {
  const groups = new Map();
  for (const run of runs) {
    const name = protocolOf(run);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(run);
  }
  return [...groups.entries()].map(([name, members]) => {
    const columns = RUN_COLUMNS.filter(
        ([key]) => members.some((run) => (valueAt(run.results, key) ?? undefined) !== undefined));
    const head = element(
        "tr", {}, ["run", "positions", "state"].map((text) => element("th", {scope: "col"}, text)),
        columns.map((column) => element("th", {scope: "col", class: "number"}, column[1])));
    const rows = members.map(
        (run) => element(
            "tr", {}, element("th", {scope: "row"}, run.name), element("td", {}, positionOf(run)),
            element("td", {}, run.state),
            columns.map(([key, , digits]) => numberCell(run, key, digits))));
    return [
      element("h3", {}, name ? `Validation: ${name}` : "Without results"),
      scrollBox(
          name || "runs",
          element("table", {}, element("thead", {}, head), element("tbody", {}, rows)))
    ];
  });
}

function positionOf(run) {
  return (run.config && run.config["model.position.kind"]) ||
      (run.results && run.results.position) || "?";
}

function cellOf(results, arm, measure) {
  return results.cells.find((cell) => cell.arm === arm.name && cell.measure === measure.name);
}

function armCell(results, arm, measure) {
  const cell = cellOf(results, arm, measure);
  if (!cell || cell.n === 0 || typeof cell.mean !== "number") {
    return element(
        "td", {
          class: "number missing",
          "data-arm": arm.name,
          "data-measure": measure.name,
          "data-value": ""
        },
        NO_NUMBER);
  }
  const spread = cell.n > 1 && typeof cell.sd === "number" ? ` ± ${formatNumber(cell.sd, 4)}` : "";
  const part = cell.n < cell.wanted ?
      element(
          "span", {class: "part", title: "seeds that there are, of those wanted"},
          ` (${cell.n}/${cell.wanted})`) :
      null;
  return element(
      "td", {
        class: "number",
        "data-arm": arm.name,
        "data-measure": measure.name,
        "data-value": cell.mean
      },
      formatNumber(cell.mean, 4), spread, part);
}

function armTable(results, group) {
  const head = ["parameters", ...group.map((measure) => measure.label || measure.name)];
  const rows = results.arms.map(
      (arm) => element(
          "tr", {}, element("th", {scope: "row", title: changesText(arm)}, arm.label || arm.name),
          element("td", {class: "number"}, formatNumber(arm.parameters)),
          group.map((measure) => armCell(results, arm, measure))));
  return element(
      "div", {}, element("h4", {}, `Here: ${measureGroupName(group)}`),
      scrollBox(
          measureGroupName(group),
          element(
              "table", {},
              element(
                  "thead", {},
                  element(
                      "tr", {}, element("th", {scope: "col"}, "arm"),
                      head.map((text) => element("th", {scope: "col", class: "number"}, text)))),
              element("tbody", {}, rows))));
}

function changesText(arm) {
  return Object.entries(arm.changes || {}).map(([key, value]) => `${key}: ${value}`).join(", ");
}

function paperTable(results) {
  const paper = results.paper;
  if (!paper || !(paper.rows || []).length) return null;
  const label = (name) => (results.arms.find((arm) => arm.name === name) || {}).label || name;
  return element(
      "div", {}, element("h4", {}, `Published: ${paper.source}`),
      plainTable(
          ["arm", ...paper.columns],
          paper.rows.map(
              (row) =>
                  [row.label || label(row.arm),
                   ...row.values.map(
                       (value) =>
                           (typeof value === "number" ? formatNumber(value) :
                                                        value || NO_NUMBER))])));
}

/** Every seed's own value, and why a seed has none. */
function seedTable(results) {
  const rows = [];
  for (const cell of results.cells) {
    const arm = results.arms.find((one) => one.name === cell.arm) || {name: cell.arm};
    const measure =
        results.measures.find((one) => one.name === cell.measure) || {name: cell.measure};
    const first = [
      arm.label || arm.name, measure.label || measure.name,
      [measure.unit, measure.split, measure.protocol].filter(Boolean).join(", ")
    ];
    for (const one of cell.values || []) {
      rows.push([...first, String(one.seed), formatNumber(one.value, 6), ""]);
    }
    for (const one of cell.missing || []) {
      rows.push([...first, String(one.seed), NO_NUMBER, one.reason]);
    }
  }
  const details =
      element("details", {class: "numbers"}, element("summary", {}, "Each seed's numbers"));
  details.append(
      plainTable(["arm", "measure", "unit", "seed", "value", "why it is missing"], rows));
  return details;
}

// Beside the words that `ablate` writes; any other verdict is open.
const VERDICT_MARKS = {
  holds: ["✓", "good"],
  contradicted: ["✗", "bad"],
  "within noise": ["≈", "open"]
};

function verdictItem(claim) {
  const [mark, kind] = VERDICT_MARKS[claim.verdict] || ["?", "open"];
  const numbers = [
    claim.comparison,
    typeof claim.difference === "number" ? `difference ${formatNumber(claim.difference)}` : null,
    typeof claim.sd === "number" ? `sd ${formatNumber(claim.sd)}` : null,
    typeof claim.p === "number" ? `p ${formatNumber(claim.p)}` : null,
    typeof claim.n === "number" ? `${claim.n} seeds` : null
  ].filter(Boolean).join(" · ");
  return element(
      "li", {class: `verdict ${kind}`, "data-claim": claim.id},
      element(
          "span", {class: "mark"}, element("span", {"aria-hidden": "true"}, `${mark} `),
          claim.verdict),
      element(
          "span", {class: "claim"}, claim.claim, " ",
          element(
              "small", {},
              [claim.source, claim.core === false ? "not a core claim" : null].filter(Boolean).join(
                  " · "))),
      element("span", {class: "evidence"}, numbers, claim.note ? ` · ${claim.note}` : ""));
}

function verdictList(results) {
  const claims = results.claims || [];
  if (claims.length === 0) return element("p", {class: "empty"}, "This ablation states no claims.");
  const chance = results.chance;
  return element(
      "div", {}, element("ul", {class: "verdicts"}, claims.map(verdictItem)),
      chance ?
          element(
              "p", {class: "note"},
              `Of ${chance.verdicts} verdicts, ` +
                  `${
                      formatNumber(
                          chance.expected)} would be expected to come out so by chance alone.`) :
          null);
}

/** One run for each arm, whose seeds differ in nothing else, and every run that is of no arm. */
function configColumns(runs) {
  const columns = new Map();
  for (const run of runs) {
    const name = groupOf(run);
    const has = Object.keys(run.config || {}).length > 0;
    if (!columns.has(name) || (!columns.get(name).has && has)) columns.set(name, {name, has, run});
  }
  return [...columns.values()].map(({name, run}) => ({name, config: run.config, arm: run.arm}));
}

/** Keys whose values are not the same in all runs. */
function configTable(all) {
  const runs = configColumns(all);
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.config || {})))];
  const shown = runs.filter((run) => Object.keys(run.config || {}).length > 0);
  const differing = keys.filter(
      (key) => new Set(shown.map((run) => run.config[key])).size > 1 &&
          !(key === "trainer.seed" && shown.every((run) => run.arm !== undefined)));
  if (shown.length < 2) return null;
  if (differing.length === 0) {
    return element("p", {}, "The configs are the same in every key.");
  }
  return plainTable(
      ["key", ...shown.map((run) => run.name)],
      differing.map(
          (key) =>
              [key,
               ...shown.map(
                   (run) => (run.config[key] === undefined ? NO_NUMBER : run.config[key]))]));
}

/** Every key of every run. */
function fullConfigs(runs) {
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.config || {})))];
  return element(
      "details", {class: "numbers"}, element("summary", {}, "The whole configs"),
      plainTable(
          ["key", ...runs.map((run) => run.name)],
          keys.map((key) => [key, ...runs.map((run) => (run.config || {})[key] ?? NO_NUMBER)])));
}
