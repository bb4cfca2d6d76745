// SPDX-License-Identifier: MIT
// Numbers, colours and elements, for all that follows.
"use strict";

/** An element with attributes and children; "on..." attributes are listeners. */
function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on"))
      node.addEventListener(name.slice(2), value);
    else
      node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return node;
}

/** A text as HTML that shows it and does nothing else, for a library that wants HTML. */
function htmlOf(text) {
  const node = document.createElement("span");
  node.textContent = text;
  return node.innerHTML;
}

const NO_NUMBER = "–";

/** A number for people: `digits` behind the point, or as few as say it. */
function formatNumber(value, digits) {
  if (typeof value !== "number" || !Number.isFinite(value)) return NO_NUMBER;
  if (Number.isInteger(value) && digits === undefined) return groupThousands(value);
  if (digits !== undefined) return minus(value.toFixed(digits));
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return minus(value.toExponential(2));
  return minus(String(Number(value.toPrecision(4))));
}

function minus(text) {
  return text.replace(/^-/, "−");
}

function groupThousands(value) {
  return minus(String(value)).replace(/\B(?=(\d{3})+(?!\d))/g, " ");
}

// Okabe and Ito's colours, which people with any common kind of colour blindness tell apart,
// without the yellow that white swallows; dashes go on where colours end.
const LIGHT_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#b8588f", "#3f9fd8", "#b97f00", "#555f6b"];
const DARK_COLOURS = ["#4ea6e6", "#ff8a3d", "#2fcf9f", "#e59ac6", "#9bd8ff", "#f2bd3a", "#b7c0ca"];
const DASHES = [null, [7, 3], [2, 3], [9, 3, 2, 3]];

const darkQuery = window.matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return darkQuery.matches;
}

function colourOf(index) {
  const colours = isDark() ? DARK_COLOURS : LIGHT_COLOURS;
  return colours[index % colours.length];
}

function dashOf(index) {
  return DASHES[Math.floor(index / LIGHT_COLOURS.length) % DASHES.length];
}

function styleValue(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A small picture of a line, for legends. */
function lineSample(index) {
  const dash = dashOf(index);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 26 6");
  svg.setAttribute("class", "sample");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [name, value] of Object.entries({x1: 0, x2: 26, y1: 3, y2: 3, "stroke-width": 3})) {
    line.setAttribute(name, value);
  }
  line.setAttribute("stroke", colourOf(index));
  if (dash) line.setAttribute("stroke-dasharray", dash.join(" "));
  svg.append(line);
  return svg;
}

/** A value deep in an object by "a.b.c", or undefined. */
function valueAt(object, path) {
  return path.split(".").reduce(
      (at, key) => (at === null || at === undefined ? at : at[key]), object);
}
