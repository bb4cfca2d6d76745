// SPDX-License-Identifier: MIT
// Pictures of a trained model: heat maps on a canvas, read with the pointer or the arrow keys, with
// a table behind each. A picture is {title, note, rowNames, columnNames, rowTitle, columnTitle,
// rows, columns, scale, signed, data}: data are 16-bit integers in base64, a number is scale times
// one.

const SIGNED_LIGHT =
    [[5, 72, 122], [109, 174, 214], [247, 247, 245], [240, 155, 100], [150, 50, 0]];
const SIGNED_DARK = [[155, 216, 255], [60, 120, 170], [28, 31, 36], [180, 90, 30], [255, 190, 120]];
const POSITIVE_LIGHT =
    [[252, 252, 250], [190, 214, 232], [92, 151, 197], [27, 92, 150], [8, 40, 82]];
const POSITIVE_DARK =
    [[22, 25, 30], [28, 66, 104], [46, 122, 168], [122, 190, 214], [236, 248, 236]];

function blend(stops, share) {
  const at = Math.max(0, Math.min(1, share)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(at));
  return stops[i].map((low, channel) => Math.round(low + (at - i) * (stops[i + 1][channel] - low)));
}

function decode(picture) {
  const bytes = Uint8Array.from(atob(picture.data), (c) => c.charCodeAt(0));
  const words = new DataView(bytes.buffer);
  const values = new Float64Array(picture.rows * picture.columns);
  for (let i = 0; i < values.length; ++i) {
    const word = words.getInt16(2 * i, true);
    values[i] = word === -32768 ? NaN : word * picture.scale;
  }
  return values;
}

class HeatMap {
  constructor(picture, id) {
    this.picture = picture;
    this.values = decode(picture);
    this.at = null;
    this.canvas = element("canvas", {
      tabindex: 0,
      role: "img",
      id,
      "aria-label": `${picture.title}: ${picture.rows} by ` +
          `${picture.columns} numbers. Arrow keys read them.`
    });
    this.canvas.style.aspectRatio = this.ratio();
    this.readout = element("p", {class: "readout", "aria-live": "polite"}, this.range());
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.point(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    const table = element("details", {class: "numbers"}, element("summary", {}, "Numbers"));
    table.addEventListener("toggle", () => this.fillTable(table));
    const beside = picture.rowNames && picture.rows <= 24 && picture.columns > 2 * picture.rows ?
        element(
            "div", {class: "row-names", "aria-hidden": "true"},
            picture.rowNames.map((name) => element("span", {}, name))) :
        "";
    this.colours = element("div", {class: "colours", "aria-hidden": "true"});
    this.root = element(
        "figure", {class: beside ? "heat named" : "heat"}, element("h4", {}, picture.title),
        element("div", {class: "field"}, beside, this.canvas),
        element(
            "div", {class: "axis"}, element("span", {}, this.name("column", 0)),
            element("span", {}, picture.columnTitle),
            element("span", {}, this.name("column", picture.columns - 1))),
        this.colours, this.readout, picture.note ? element("figcaption", {}, picture.note) : null,
        table);
  }

  /** Cells are square where that gives a picture of a sensible height. */
  ratio() {
    const {rows, columns} = this.picture;
    return String(Math.min(16, Math.max(1, columns / rows)));
  }

  limits() {
    const finite = this.values.filter(Number.isFinite);
    return [Math.min(...finite), Math.max(...finite)];
  }

  range() {
    const [low, high] = this.limits();
    return `Down: ${this.picture.rowTitle}. Across: ${this.picture.columnTitle}. Lowest ` +
        `${formatNumber(low)}, highest ${formatNumber(high)}.`;
  }

  name(axis, i) {
    const names = this.picture[`${axis}Names`];
    const first = this.picture[`${axis}First`];
    return names ? names[i] : String((first || 0) + i);
  }

  draw() {
    const {rows, columns, signed} = this.picture;
    const stops = signed ? (isDark() ? SIGNED_DARK : SIGNED_LIGHT) :
                           (isDark() ? POSITIVE_DARK : POSITIVE_LIGHT);
    const [low, high] = this.limits();
    const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
    this.canvas.width = columns;
    this.canvas.height = rows;
    const context = this.canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const nothing = isDark() ? [40, 44, 50] : [225, 228, 232];
    this.values.forEach((value, i) => {
      const share = signed ? 0.5 + value / most / 2 : Math.sqrt(Math.max(0, value) / most);
      const colour = Number.isNaN(value) ? nothing : blend(stops, share);
      image.data.set([...colour, 255], 4 * i);
    });
    context.putImageData(image, 0, 0);
    this.drawColours(stops, signed ? -most : 0, most);
  }

  /** Which colour is which number. */
  drawColours(stops, low, high) {
    const colours = stops.map((stop) => `rgb(${stop.join(" ")})`).join(", ");
    const bar = element("span", {class: "bar"});
    bar.style.background = `linear-gradient(to right, ${colours})`;
    this.colours.replaceChildren(formatNumber(low), bar, formatNumber(high));
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const {rows, columns} = this.picture;
    const share = (value, size) => Math.max(0, Math.min(size - 1, Math.floor(value * size)));
    this.show(
        share((event.clientY - box.top) / box.height, rows),
        share((event.clientX - box.left) / box.width, columns));
  }

  key(event) {
    const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const {rows, columns} = this.picture;
    const [row, column] = this.at || [0, 0];
    const next = this.at ? [row + move[0], column + move[1]] : [0, 0];
    this.show(
        Math.max(0, Math.min(rows - 1, next[0])), Math.max(0, Math.min(columns - 1, next[1])));
  }

  show(row, column) {
    this.at = [row, column];
    const value = this.values[row * this.picture.columns + column];
    this.readout.textContent = `${this.picture.rowTitle} ${this.name("row", row)}, ` +
        `${this.picture.columnTitle} ${this.name("column", column)}: ${formatNumber(value)}`;
  }

  fillTable(table) {
    if (!table.open || table.children.length > 1) return;
    const {rows, columns} = this.picture;
    const head = [this.picture.rowTitle];
    for (let c = 0; c < columns; ++c) head.push(this.name("column", c));
    const body = [];
    for (let r = 0; r < rows; ++r) {
      body.push([
        this.name("row", r),
        ...Array.from(
            this.values.subarray(r * columns, (r + 1) * columns), (value) => formatNumber(value))
      ]);
    }
    table.append(plainTable(head, body));
  }
}
