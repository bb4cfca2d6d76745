// SPDX-License-Identifier: MIT
// A line chart: dygraphs with a legend whose entries switch lines, a readout, keys, and a table of
// the numbers behind it. A series is {name, group, index, x: [], y: [], sd: [] or none, label(i)}.

/** Series as the rows of one table over all their x, as dygraphs wants them. */
function mergeSeries(series, withErrors) {
  const rows = new Map();
  series.forEach((one, column) => {
    one.x.forEach((x, i) => {
      let row = rows.get(x);
      if (!row) {
        row = new Array(series.length + 1).fill(withErrors ? [null, null] : null);
        row[0] = x;
        rows.set(x, row);
      }
      row[column + 1] = withErrors ? [one.y[i], one.sd[i] || 0] : one.y[i];
    });
  });
  return [...rows.values()].sort((a, b) => a[0] - b[0]);
}

/** The index of the x that is nearest. */
function nearestIndex(xs, x) {
  let low = 0;
  let high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x)
      low = middle;
    else
      high = middle;
  }
  return Math.abs(xs[high] - x) < Math.abs(xs[low] - x) ? high : low;
}

class LineChart {
  /** options: {id, title, note, xName, yName, digits, logX, points, range}. */
  constructor(options) {
    this.options = options;
    this.logX = options.logX || false;
    this.logY = false;
    this.hidden = new Set();
    this.selected = {series: 0, point: -1};
    this.plot = element("div", {
      class: "plot",
      tabindex: 0,
      role: "application",
      "aria-label": `${options.title}. Arrow keys go along a line and ` +
          "from line to line, plus and minus zoom, 0 shows all."
    });
    this.plot.addEventListener("keydown", (event) => this.key(event));
    this.readout = element("p", {class: "readout", "aria-live": "polite"}, this.hint());
    this.legend = element("div", {class: "legend", role: "group", "aria-label": "Lines"});
    this.controls = element(
        "div", {class: "controls"}, this.checkbox("log y axis", "logY"),
        this.checkbox("log x axis", "logX"),
        element("button", {type: "button", onclick: () => this.reset()}, "show all"));
    this.table = element("details", {class: "numbers"}, element("summary", {}, "Numbers"));
    this.table.addEventListener("toggle", () => this.fillTable());
    this.root = element(
        "figure", {class: "chart", id: options.id}, this.controls, this.legend, this.plot,
        this.readout, options.note ? element("figcaption", {}, options.note) : null, this.table);
  }

  hint() {
    return "Point at a line to read it; drag to zoom; with the keyboard: arrows, + and −, 0.";
  }

  checkbox(text, field) {
    const box = element("input", {type: "checkbox"});
    box.checked = this[field];
    box.addEventListener("change", () => {
      this[field] = box.checked;
      this.draw();
    });
    return element("label", {}, box, text);
  }

  /** Shows these lines; the zoom stays. */
  setSeries(series, yName) {
    this.series = series.filter((one) => one.x.length > 0);
    if (yName) this.options.yName = yName;
    if (this.selected.series >= this.series.length) this.selected = {series: 0, point: -1};
    this.drawLegend();
    this.draw();
    this.filled = false;
    this.fillTable();
  }

  drawLegend() {
    const groups = [...new Map(this.series.map((one) => [one.group, one.index])).entries()].sort(
        (a, b) => a[1] - b[1]);
    this.legend.replaceChildren(...groups.map(([group, index]) => {
      const button = element(
          "button", {type: "button", "aria-pressed": !this.hidden.has(group) ? "true" : "false"},
          lineSample(index), group);
      button.addEventListener("click", () => {
        if (!this.hidden.delete(group)) this.hidden.add(group);
        button.setAttribute("aria-pressed", this.hidden.has(group) ? "false" : "true");
        this.graph.updateOptions({visibility: this.visibility()});
      });
      return button;
    }));
  }

  visibility() {
    return this.series.map((one) => !this.hidden.has(one.group));
  }

  seriesOptions() {
    const options = {};
    const groups = new Map();
    for (const one of this.series) groups.set(one.group, (groups.get(one.group) || 0) + 1);
    for (const one of this.series) {
      options[one.name] = {
        color: colourOf(one.index),
        strokePattern: dashOf(one.index),
        strokeWidth: groups.get(one.group) > 1 ? 0.9 : 1.6
      };
    }
    return options;
  }

  dygraphOptions() {
    const grid = styleValue("--grid");
    const short = (value) => formatNumber(value);
    return {
      labels: [this.options.xName, ...this.series.map((one) => one.name)],
      series: this.seriesOptions(),
      visibility: this.visibility(),
      legend: "never",
      errorBars: this.withErrors(),
      sigma: 1,
      fillAlpha: 0.18,
      connectSeparatedPoints: true,
      drawPoints: Boolean(this.options.points),
      pointSize: 3,
      logscale: this.logY,
      xlabel: htmlOf(this.options.xName),
      ylabel: htmlOf(this.options.yName),
      gridLineColor: grid,
      axisLineColor: grid,
      axisLabelWidth: 58,
      rightGap: 22,
      xRangePad: 6,
      yRangePad: 8,
      axes: {
        x: {logscale: this.logX, axisLabelFormatter: short, axisLabelWidth: 50, ...this.ownTicks()},
        y: {axisLabelFormatter: short}
      },
      showRangeSelector: Boolean(this.options.range) && !this.logX,
      rangeSelectorHeight: 28,
      rangeSelectorPlotFillColor: grid,
      rangeSelectorPlotFillGradientColor: grid,
      rangeSelectorPlotStrokeColor: styleValue("--muted"),
      rangeSelectorBackgroundStrokeColor: grid,
      rangeSelectorForegroundStrokeColor: styleValue("--muted"),
      highlightCircleSize: 4,
      animatedZooms: false,
      interactionModel: this.touchModel(),
      highlightCallback: (event, x, points) => this.showNumbers(x, this.nearestName(event, points)),
      unhighlightCallback: () => {
        this.readout.textContent = this.hint();
      },
    };
  }

  /** Few measured places are marked themselves. */
  ownTicks() {
    const places = [...new Set(this.series.flatMap((one) => one.x))].sort((a, b) => a - b);
    if (!this.options.logX || places.length > 8) return {};
    return {ticker: () => places.map((x) => ({v: x, label: formatNumber(x)}))};
  }

  withErrors() {
    return this.series.some((one) => one.sd);
  }

  /** One finger scrolls the page and reads the line under it; two zoom. */
  touchModel() {
    const model = {...Dygraph.defaultInteractionModel};
    for (const name of ["touchstart", "touchmove", "touchend"]) {
      const library = model[name];
      model[name] = (event, graph, context) => {
        if (event.touches.length >= 2)
          library(event, graph, context);
        else if (event.touches.length === 1)
          graph.mouseMove_(event.touches[0]);
      };
    }
    return model;
  }

  draw() {
    if (this.series.length === 0) {
      this.plot.replaceChildren(element("p", {class: "empty"}, "Nothing to draw yet."));
      return;
    }
    const rows =
        mergeSeries(this.series.map((one) => ({...one, sd: one.sd || []})), this.withErrors());
    const options = this.dygraphOptions();
    const window = this.graph && this.graph.isZoomed("x") ? this.graph.xAxisRange() : null;
    if (this.graph) this.graph.destroy();
    this.plot.replaceChildren();
    this.graph = new Dygraph(this.plot, rows, {...options, dateWindow: window});
  }

  reset() {
    if (this.graph) this.graph.resetZoom();
  }

  nearestName(event, points) {
    if (!points.length) return undefined;
    const box = this.plot.getBoundingClientRect();
    const y = event && event.clientY ? event.clientY - box.top : null;
    if (y === null) return undefined;
    return points
        .reduce(
            (best, point) =>
                (Math.abs(point.canvasy - y) < Math.abs(best.canvasy - y) ? point : best))
        .name;
  }

  /** Each line's number at the recorded x nearest to `x`. */
  showNumbers(x, current) {
    const shown = this.series.filter((one) => !this.hidden.has(one.group));
    const list = shown.map((one) => {
      const i = nearestIndex(one.x, x);
      const where = one.x[i] === x ? "" : ` at ${formatNumber(one.x[i])}`;
      const spread = one.sd && one.sd[i] !== undefined && one.sd[i] !== null ?
          ` ± ${formatNumber(one.sd[i], this.options.digits)}` :
          "";
      return element(
          "span", {class: one.name === current ? "reading current" : "reading"},
          lineSample(one.index),
          `${one.name} ${formatNumber(one.y[i], this.options.digits)}${spread}${where}`);
    });
    const first = shown[0];
    const label = first && first.label ? first.label(nearestIndex(first.x, x)) : formatNumber(x);
    this.readout.replaceChildren(element("b", {}, `${this.options.xName} ${label}`), ...list);
  }

  key(event) {
    const moves = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
    if (!this.graph || event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key])
      this.move(...moves[event.key], event.shiftKey ? 20 : 1);
    else if (event.key === "+" || event.key === "=")
      this.zoom(0.5);
    else if (event.key === "-")
      this.zoom(2);
    else if (event.key === "0" || event.key === "Escape")
      this.reset();
    else if (event.key === "Home")
      this.move(-1, 0, 1e9);
    else if (event.key === "End")
      this.move(1, 0, 1e9);
    else
      return;
    event.preventDefault();
  }

  move(along, across, far) {
    const count = this.series.length;
    const before = this.series[this.selected.series];
    const x = this.selected.point >= 0 ? before.x[this.selected.point] : null;
    if (across !== 0) {
      do this.selected.series = (this.selected.series + across + count) % count;
      while (this.hidden.has(this.series[this.selected.series].group) &&
             this.series[this.selected.series] !== before);
    }
    const one = this.series[this.selected.series];
    let point = x === null ? 0 :
        across !== 0       ? nearestIndex(one.x, x) :
                             this.selected.point + along * far;
    point = Math.max(0, Math.min(one.x.length - 1, point));
    this.selected.point = point;
    this.graph.setSelection(this.graph.getRowForX(one.x[point]), one.name);
    this.showNumbers(one.x[point], one.name);
  }

  zoom(factor) {
    const [low, high] = this.graph.xAxisRange();
    const one = this.series[this.selected.series];
    const log = this.logX;
    const to = (x) => (log ? Math.log(x) : x);
    const from = (x) => (log ? Math.exp(x) : x);
    const middle =
        this.selected.point >= 0 ? to(one.x[this.selected.point]) : (to(low) + to(high)) / 2;
    const [first, last] = this.graph.xAxisExtremes();
    const next =
        [from(middle - (middle - to(low)) * factor), from(middle + (to(high) - middle) * factor)];
    if (next[0] <= first && next[1] >= last)
      this.reset();
    else
      this.graph.updateOptions({dateWindow: [Math.max(first, next[0]), Math.min(last, next[1])]});
  }

  fillTable() {
    if (!this.table.open || this.filled) return;
    this.filled = true;
    const most = 300;
    const rows = mergeSeries(this.series, false);
    const stride = Math.max(1, Math.ceil(rows.length / most));
    const used = rows.filter((row, i) => i % stride === 0 || i === rows.length - 1);
    const body = used.map(
        (row) =>
            [formatNumber(row[0]),
             ...row.slice(1).map((y) => formatNumber(y, this.options.digits))]);
    this.table.replaceChildren(
        element("summary", {}, "Numbers"),
        stride > 1 ? element("p", {}, `Every ${stride}th of ${rows.length} rows.`) : "",
        plainTable([this.options.xName, ...this.series.map((one) => one.name)], body));
  }
}

/** A table of texts in a box that scrolls by itself. */
function plainTable(head, rows) {
  return element(
      "div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Table"},
      element(
          "table", {},
          element(
              "thead", {},
              element("tr", {}, head.map((text) => element("th", {scope: "col"}, text)))),
          element(
              "tbody", {},
              rows.map(
                  (row) => element(
                      "tr", {},
                      row.map(
                          (text, i) =>
                              (i === 0 ? element("th", {scope: "row"}, text) :
                                         element("td", {}, text))))))));
}
