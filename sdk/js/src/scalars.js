/** The scalars of YAML as artefacts use them: block, plain, single- and double-quoted, folded as other writers fold. */

import { refuse } from "./errors.js";

// YAML 1.2, 7.3.3: what may start a plain scalar, given that collections, anchors and tags are refused.
const PLAIN = /^(?:[^-?:,[\]{}#&*!|>'"%@` ]|[-?:](?=[^ ]))[ -~]*$/;
const PLAIN_BREAK = /: | #|:$/;
const SINGLE = /^'((?:[^']|'')*)'$/;
const DOUBLE = /^"((?:[^"\\]|\\.)*)"$/;
const ESCAPE = /\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/g;
const SHORT = new Map(
  Object.entries({
    0: "\0", a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r", e: "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\",
  }),
);

const malformed = () => refuse("MalformedArtefacts");
const isBlank = (text) => /^ *$/.test(text);
const indentation = (line) => line.length - line.replace(/^ +/, "").length;
const trimmed = (text) => text.replace(/^ +| +$/g, "");

/** The text of `|` or `>` whose lines are indented alike; blank lines are allowed at the end only. */
export function evenBlock(given, folded, chomping, indent) {
  const lines = [...given];
  while (lines.length > 0 && isBlank(lines.at(-1))) lines.pop();
  if (lines.length === 0) malformed();
  const margin = indent ? Number(indent) : indentation(lines[0]);
  if (margin < 1 || lines.some((line) => !isBlank(line.slice(0, margin)) || isBlank(line.slice(margin)))) malformed();
  // Folding keeps the line ends around a line that is indented further: joining it with a space would be misreading.
  if (lines.length > 1 && lines.some((line) => line[margin] === " ")) malformed();
  const text = lines.map((line) => line.slice(margin)).join(folded ? " " : "\n");
  return chomping === "-" ? text : `${text}\n`;
}

/** The text of `|`, which may hold blank and further indented lines (YAML 1.2, 8.1). */
export function literalBlock(lines, chomping, indent) {
  const margin = indent ? Number(indent) : indentation(lines.find((line) => !isBlank(line)) ?? "");
  if (margin < 1 || lines.some((line) => !isBlank(line.slice(0, margin)))) malformed();
  const text = lines.map((line) => line.slice(margin)).join("\n");
  const content = text.replace(/\n+$/, "");
  // An empty block follows other chomping rules, and no field consists of line ends alone.
  if (content === "") malformed();
  if (chomping === "+") return `${text}\n`;
  return chomping === "-" ? content : `${content}\n`;
}

/** `[isPlain, text]` of a scalar that may go on over further indented lines. */
export function flowScalar(lines) {
  const text = fold(lines);
  if (text[0] === "'") {
    const single = SINGLE.exec(text) ?? malformed();
    return [false, single[1].replaceAll("''", "'")];
  }
  if (text[0] === '"') {
    const double = DOUBLE.exec(text) ?? malformed();
    return [false, double[1].replace(ESCAPE, unescape)];
  }
  if (!PLAIN.test(text) || PLAIN_BREAK.test(text)) malformed();
  return [true, text];
}

function fold([first, ...more]) {
  let text = trimmed(first);
  let blank = 0;
  for (const line of more) {
    const content = trimmed(line);
    if (content === "") {
      blank += 1;
      continue;
    }
    const isEscaped = text[0] === '"' && /\\*$/.exec(text)[0].length % 2 === 1;
    if (isEscaped && blank > 0) malformed();
    // A backslash at the end of a line joins without a space. Each blank line is a line end of the text.
    const between = blank > 0 ? "\n".repeat(blank) : " ";
    if (isEscaped) text = text.slice(0, -1) + content;
    else text = text ? text + between + content : content;
    blank = 0;
  }
  return text;
}

function unescape(_, two, four, eight, short) {
  const code = two ?? four ?? eight;
  if (code === undefined) return SHORT.get(short) ?? malformed();
  const point = parseInt(code, 16);
  return point > 0x7f ? malformed() : String.fromCharCode(point);
}
