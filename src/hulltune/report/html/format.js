// Numbers and texts as the page shows them, and small helpers for elements. Texts are always set as text, never as markup.

/** A number with so many significant digits and no trailing zeros, as Python's format "g" writes it. */
function short(number, digits = 5) {
  if (!Number.isFinite(number)) return number > 0 ? "∞" : number < 0 ? "−∞" : "?";
  if (number === 0) return "0";
  const exponent = Number(number.toExponential(digits - 1).split("e")[1]);
  let text;
  if (exponent < -4 || exponent >= digits) {
    const [mantissa, power] = number.toExponential(digits - 1).split("e");
    text = `${trimmed(mantissa)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  } else text = trimmed(number.toFixed(digits - 1 - exponent));
  return text.replace(/-/g, "−");
}

const trimmed = text => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

/** A score in units as a decimal number. */
function scoreText(units, digits) {
  if (isGap(units)) return "–";
  const sign = units < 0 ? "−" : "",
    text = String(Math.abs(units)).padStart(digits + 1, "0");
  return sign + text.slice(0, text.length - digits) + (digits ? `.${text.slice(-digits)}` : "");
}

/** The difference of two scores in units with its sign, turned so that positive is better. */
function gainText(units, metric) {
  const gain = metric.higher ? units : -units;
  return `${gain < 0 ? "−" : "+"}${scoreText(Math.abs(gain), metric.digits)}`;
}

/** An effect with two digits: "▲ 0.0034", "▼ 0.00012", "0". */
function effectText(effect) {
  if (Math.abs(effect) < 1e-12) return "0";
  return `${effect > 0 ? "▲" : "▼"} ${short(Math.abs(effect), 2)}`;
}

const judged = number => (Math.abs(number) < 1e-12 ? "" : number > 0 ? "better" : "worse");
const whole = number => number.toLocaleString("en");
const byId = id => document.getElementById(id);

/** An element with properties, attributes (those with a dash, or of SVG) and children; strings become text. */
function make(tag, properties = {}, ...children) {
  const isSvg = SVG_TAGS.has(tag);
  const element = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (isSvg || name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}
const SVG_TAGS = new Set(["svg", "path", "line", "circle", "rect", "text", "g", "polyline"]);

/** Set a text only if it is another one: the browser need not lay it out again. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Pieces of two texts: [kind, text], where kind is "same", "old" or "new"; by words, or by characters where no text has a space. */
function difference(old, text) {
  const byWords = old.trim().split(/\s+/).length > 1 || text.trim().split(/\s+/).length > 1;
  const split = value => (byWords ? value.trim().split(/\s+/).filter(Boolean) : Array.from(value.trim()));
  const a = split(old),
    b = split(text),
    space = byWords ? " " : "";
  const pieces = [[], []];
  const add = (side, kind, word) => {
    const last = pieces[side][pieces[side].length - 1];
    if (last && last[0] === kind) last[1].push(word);
    else pieces[side].push([kind, [word]]);
  };
  if (a.length * b.length > 1e6) return [[["same", old]], [["same", text]]]; // too long to be compared while dragging
  const width = b.length + 1,
    table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i * width + j] =
        a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
  let i = 0,
    j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add(0, "same", a[i++]);
      add(1, "same", b[j++]);
    } else if (j >= b.length || (i < a.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) add(0, "old", a[i++]);
    else add(1, "new", b[j++]);
  }
  return pieces.map(side =>
    side
      .map(([kind, words]) => [kind, words.join(space)])
      .map(([kind, value], k, all) => [kind, value, k + 1 < all.length ? space : ""]),
  );
}

/** The pieces of a text as elements. */
function marked(pieces) {
  const fragment = document.createDocumentFragment();
  for (const [kind, value, space] of pieces)
    fragment.append(kind === "same" ? value : make(kind === "old" ? "del" : "ins", {}, value), space || "");
  return fragment;
}
