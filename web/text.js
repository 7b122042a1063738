// Numbers and small pieces of the page. Nothing from a file is ever put in as markup.

const locale = document.documentElement.lang || "en";
const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });

export const NBSP = "\u00a0";
export const count = (value) => whole.format(value);
export const decimal = (value) => tenth.format(value);

/** `1 machine`, `2 machines`. */
export const of = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** Bytes with the unit that suits them. */
export function bytes(value) {
  if (value < 1024) return `${count(value)}${NBSP}bytes`;
  if (value < 1048576) return `${decimal(value / 1024)}${NBSP}KiB`;
  if (value < 1073741824) return `${decimal(value / 1048576)}${NBSP}MiB`;
  return `${decimal(value / 1073741824)}${NBSP}GiB`;
}

/** MiB with the unit that suits them. */
export const mib = (value) =>
  value >= 1048576 ? `${decimal(value / 1048576)}${NBSP}TiB`
    : value >= 1024 ? `${decimal(value / 1024)}${NBSP}GiB`
      : `${count(value)}${NBSP}MiB`;

/** GiB with the unit that suits them. */
export const gib = (value) => mib(value * 1024);

export function seconds(value) {
  if (value < 10) return `${decimal(value)}${NBSP}s`;
  if (value < 120) return `${count(value)}${NBSP}s`;
  return `${count(value / 60)}${NBSP}min`;
}

/** Share of a whole as a percentage, never rounded up to 100. */
export const share = (done, total) => (total > 0 ? Math.min(100, Math.floor((100 * done) / total)) : 0);

/** An amount with its currency's code: signs such as $ belong to several. */
export const money = (value) => `${count(value.amount)}${NBSP}${value.currency}`;

export const date = (text) =>
  new Intl.DateTimeFormat(locale, { dateStyle: "long" }).format(new Date(text));

/** An element with attributes and children; strings become text. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "onclick") node.addEventListener("click", value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An SVG drawing from trusted parts of this page. */
export function svg(attributes, shapes) {
  const space = "http://www.w3.org/2000/svg";
  const node = document.createElementNS(space, "svg");
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  for (const [name, shape] of shapes) {
    const child = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(shape)) child.setAttribute(key, value);
    node.append(child);
  }
  return node;
}

/** A bar; `fill(percent)` sets it. */
export function bar(label) {
  const node = svg({
    class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "progressbar",
    "aria-label": label, "aria-valuemin": "0", "aria-valuemax": "100",
  }, [["rect", { width: "100", height: "10", class: "f3" }], ["rect", { width: "0", height: "10", class: "acf" }]]);
  return node;
}

export function fill(node, percent) {
  node.lastElementChild.setAttribute("width", String(percent));
  node.setAttribute("aria-valuenow", String(percent));
}

const SEVERITIES = {
  error: ["stop", "Left out", [["path", { d: "M4 1h6l3 3v6l-3 3H4l-3-3V4z" }]]],
  warning: ["warn", "Care", [["path", { d: "M7 1l6.5 12h-13z" }]]],
  note: ["note", "Note", [["circle", { cx: "7", cy: "7", r: "5.2" }]]],
};

/** A severity with its shape and a word. */
export function severity(id, words) {
  const [style, word, shapes] = SEVERITIES[id] || SEVERITIES.note;
  return el("span", { class: `sev ${style}` }, svg({ viewBox: "0 0 14 14", "aria-hidden": "true" }, shapes), words || word);
}
