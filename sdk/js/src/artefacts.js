/** Artefacts: the small hash beside a ciphertext or a salt, as YAML or BSON of fixed shapes and nothing more. */

import { concat, decodeLatin1, decodeStandard, encodeLatin1, encodeStandard } from "./encoding.js";
import { refuse } from "./errors.js";
import { evenBlock, flowScalar, literalBlock } from "./scalars.js";

export const ENCRYPTION = 0x41;
export const DERIVATION = 0x4b;
export const ARTEFACT_LIMIT = 1024;

const KINDS = { iv: "binary", at: "binary", salt: "binary", ad: "text", hash: "text" };
const INTEGERS = ["iter", "length", "i", "l"];
const INT32_MAX = 2 ** 31 - 1;

const ENTRY = /^(?:([a-z]+)|'([a-z]+)'|"([a-z]+)") *:(?: +(.*))?$/;
const TAGGED = /^!!?binary(?: +(.*))?$/;
const BLOCK = /^([|>])(?:([-+])?([1-9])?|([1-9])([-+])) *$/;
// Some readers take an exponent alone, such as `e3` or `e-3`, for a number.
const SAFE_PLAIN = /^(?![Ee]-?[0-9]+$)[A-Za-z](?:[A-Za-z0-9_.%:/-]*[A-Za-z0-9_.%/-])?$/;
// Readers of YAML 1.1 take these words for null or a truth value, so they are never written without quotes.
const WORDS = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

const malformed = () => refuse("MalformedArtefacts");

function kindOf(name) {
  // Only own names count: `constructor` and its like are on every object.
  return Object.hasOwn(KINDS, name) ? KINDS[name] : INTEGERS.includes(name) ? "integer" : "unknown";
}

/** MalformedArtefacts unless the value is of its field's kind: bytes not empty, printable ASCII, 0 to 2^31-1. */
export function checkField(name, value) {
  const kind = kindOf(name);
  const fits =
    (kind === "binary" && value instanceof Uint8Array && value.length > 0) ||
    (kind === "text" && typeof value === "string" && /^[ -~]*$/.test(value)) ||
    (kind === "integer" && Number.isInteger(value) && value >= 0 && value <= INT32_MAX);
  if (!fits) malformed();
}

/** Adds a checked field; the same name twice is refused. */
export function addField(fields, name, value) {
  if (fields.has(name)) malformed();
  checkField(name, value);
  fields.set(name, value);
}

/** `{fields: Map, format}` from at most 1 KiB; a first byte equal to `version` means BSON, any other YAML. */
export function readArtefacts(bytes, { compat = false, version = ENCRYPTION } = {}) {
  if (bytes.length < 1 || bytes.length > ARTEFACT_LIMIT) malformed();
  if (bytes[0] === version) return { fields: readBson(bytes.slice(1), compat), format: "bson" };
  return { fields: readYaml(decodeLatin1(bytes), compat), format: "yaml" };
}

/** The bytes of the hash; `entries` are `[name, value]` in the order they are written. */
export function writeArtefacts(entries, { format = "yaml", version = ENCRYPTION } = {}) {
  for (const [name, value] of entries) checkField(name, value);
  return format === "yaml" ? writeYaml(entries) : concat(Uint8Array.of(version), writeBson(entries));
}

function readYaml(given, compat) {
  const count = (text, end) => text.split(end).length;
  // Either every line ends in CRLF or none does: a single CR is damage, not a writer's habit.
  const text = compat && count(given, "\r\n") === count(given, "\n") ? given.replaceAll("\r\n", "\n") : given;
  if (/[^\n -~]/.test(text)) malformed();
  const fields = new Map();
  if (/^(?:--- *(?:\n)?)?\{\} *\n*$/.test(text)) return fields;
  // The last entry may be a block that keeps its line ends; strict mode has no such block.
  const lines = text.replace(compat ? /\n$/ : /\n+$/, "").split("\n");
  if (lines[0] === "---" || (compat && lines[0] === "--- ")) lines.shift();
  else if (!compat) malformed();
  // Ruby's writer ends a document that holds such a block with `...`.
  if (compat && lines.at(-1) === "...") lines.pop();
  if (lines.length === 0) malformed();
  while (lines.length > 0) {
    const entry = ENTRY.exec(lines.shift());
    if (entry === null) malformed();
    // Everything stands at column 0 or belongs to the entry above it.
    const more = [];
    while (lines.length > 0 && (lines[0] === "" || lines[0][0] === " ")) more.push(lines.shift());
    const name = entry[1] ?? entry[2] ?? entry[3];
    addField(fields, name, yamlValue(name, entry[4] ?? "", more, compat));
  }
  return fields;
}

function yamlValue(name, first, more, compat) {
  const kind = kindOf(name);
  const tagged = TAGGED.exec(first);
  if (tagged !== null) {
    // Binary `ad` would give a server room to build a ciphertext that opens under many keys.
    if (kind !== "binary") malformed();
    return decodeStandard(binaryText(tagged[1] ?? "", more, compat)) ?? malformed();
  }
  const block = BLOCK.exec(first);
  if ((block !== null || more.length > 0) && !compat) malformed();
  const [isPlain, text] =
    block !== null
      ? [false, blockText(block[1], more, block[2] ?? block[5] ?? "", block[3] ?? block[4])]
      : flowScalar([first, ...more]);
  if (kind === "integer") return isPlain && /^(0|[1-9][0-9]{0,9})$/.test(text) ? Number(text) : malformed();
  if (kind === "text") return text;
  // Old writers left binary untagged where its bytes happened to be ASCII.
  return compat ? encodeLatin1(text) : malformed();
}

function blockText(style, lines, chomping, indent) {
  return style === ">" ? evenBlock(lines, true, chomping, indent) : literalBlock(lines, chomping, indent);
}

function binaryText(first, more, compat) {
  if (["|-", "|"].includes(first) || (first === ">-" && compat)) {
    return evenBlock(more, false, "-", undefined).replaceAll("\n", "");
  }
  if (more.length > 0 && !compat) malformed();
  return flowScalar([first, ...more])[1].replaceAll(" ", "");
}

function writeYaml(entries) {
  if (entries.length === 0) return encodeLatin1("--- {}\n");
  const lines = entries.map(([name, value]) => {
    if (value instanceof Uint8Array) return `${name}: !binary |-\n  ${encodeStandard(value)}`;
    if (typeof value === "number") return `${name}: ${value}`;
    const isSafe = SAFE_PLAIN.test(value) && !WORDS.includes(value.toLowerCase());
    return `${name}: ${isSafe ? value : `'${value.replaceAll("'", "''")}'`}`;
  });
  return encodeLatin1(`---\n${lines.join("\n")}\n`);
}

function readBson(document, compat) {
  const view = new DataView(document.buffer);
  const end = document.length - 1;
  // A length that matches and a NUL at the end leave no room for a second document or trailing bytes.
  if (end < 4 || document[end] !== 0 || view.getUint32(0, true) !== document.length) malformed();
  const fields = new Map();
  let at = 4;
  while (at < end) {
    const stop = document.indexOf(0, at + 1);
    if (stop < 0 || stop >= end) malformed();
    const name = decodeLatin1(document.subarray(at + 1, stop));
    const [value, next] = bsonElement(document, view, document[at], stop + 1, end, compat);
    addField(fields, name, value);
    at = next;
  }
  return fields;
}

function bsonElement(document, view, kind, at, end, compat) {
  if (kind === 0x10 || (kind === 0x12 && compat)) {
    const stop = at + (kind === 0x10 ? 4 : 8);
    if (stop > end) malformed();
    return [kind === 0x10 ? view.getInt32(at, true) : Number(view.getBigInt64(at, true)), stop];
  }
  if (at + 4 > end) malformed();
  // Sizes are compared before they are used, so a huge or negative one ends here.
  const size = view.getUint32(at, true);
  const start = at + 4;
  if (kind === 0x05) {
    if (size > end - start - 1 || document[start] !== 0) malformed();
    return [document.slice(start + 1, start + 1 + size), start + 1 + size];
  }
  if (kind !== 0x02 || size < 1 || size > end - start || document[start + size - 1] !== 0) malformed();
  return [decodeLatin1(document.subarray(start, start + size - 1)), start + size];
}

function writeBson(entries) {
  const int32 = (number) => new Uint8Array(Int32Array.of(number).buffer);
  const elements = entries.map(([name, value]) => {
    const head = (kind) => concat(Uint8Array.of(kind), encodeLatin1(`${name}\0`));
    if (value instanceof Uint8Array) return concat(head(0x05), int32(value.length), Uint8Array.of(0), value);
    if (typeof value === "string") return concat(head(0x02), int32(value.length + 1), encodeLatin1(`${value}\0`));
    return concat(head(0x10), int32(value));
  });
  const body = concat(...elements);
  return concat(int32(body.length + 5), body, Uint8Array.of(0));
}
