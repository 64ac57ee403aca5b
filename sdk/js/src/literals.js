/** Flat hashes in braces: the JSON some ports write for derivation artefacts, and the first scripts' Ruby literal. */

import { addField } from "./artefacts.js";
import { concat, decodeLatin1, decodePadded, encodeLatin1, encodeUtf8, padded } from "./encoding.js";
import { refuse } from "./errors.js";

const LIMIT = 2048;
const JSON_STRING = String.raw`"(?:[^"\\\x00-\x1f]|\\.)*"`;
const JSON_ENTRY = new RegExp(
  String.raw`[ \t\n\r]*(${JSON_STRING})[ \t\n\r]*:[ \t\n\r]*(${JSON_STRING}|0|[1-9][0-9]*)[ \t\n\r]*([,}])`,
  "y",
);
const RUBY_ENTRY =
  /[ \t-\r]*(?:"([a-z]{1,8})"|:([a-z]{1,8}))[ \t-\r]*=>[ \t-\r]*(?:"((?:[^"\\]|\\[^])*)"|([0-9]{1,10}))[ \t-\r]*([,}])/y;
// What String#inspect writes. `#{`, `#$` and `#@` would be code; inspect always puts a backslash before that `#`.
const RUBY_TOKEN =
  /\\x([0-9A-Fa-f]{1,2})|\\u([0-9A-Fa-f]{4})|\\u\{([0-9A-Fa-f]{1,6})\}|\\([0-7]{1,3})|\\([^xu0-7])|(#[{$@])|([^\\#]+|#)/y;
const RUBY_SHORT = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, e: 27, s: 32 };

const malformed = () => refuse("MalformedArtefacts");

function readEntries(text, entry, take) {
  if (text.length > LIMIT || text[0] !== "{") malformed();
  const fields = new Map();
  entry.lastIndex = 1;
  for (let closing = ","; closing === ","; ) {
    const match = entry.exec(text) ?? malformed();
    closing = match.at(-1);
    const [name, value] = take(match);
    addField(fields, name, value);
    if (closing === "}" && text.slice(entry.lastIndex).trim() !== "") malformed();
  }
  return fields;
}

/** The fields of one flat object, binary as Base64 text. MalformedArtefacts for nesting, duplicates or other types. */
export function readJson(bytes, compat) {
  // No nesting: no field has a use for a second bracket, not even inside a string.
  if (!/^[^{[\]]*\{[^{[\]]*$/.test(decodeLatin1(bytes))) malformed();
  return readEntries(decodeLatin1(bytes), JSON_ENTRY, ([, quotedName, written]) => {
    const name = jsonToken(quotedName);
    const value = jsonToken(written);
    if (!["iv", "at", "salt"].includes(name) || typeof value !== "string") return [name, value];
    // Writers disagree on padding here. Verification artefacts cover the text itself, so this loosens nothing.
    return [name, decodePadded(padded(value), compat)];
  });
}

function jsonToken(text) {
  try {
    return JSON.parse(text);
  } catch {
    return malformed();
  }
}

/** The fields of a literal such as `{"salt"=>"\x0E...", "iter"=>21129}`, as data by this grammar alone. */
export function readRuby(bytes) {
  return readEntries(decodeLatin1(bytes), RUBY_ENTRY, ([, quotedName, symbol, quoted, digits]) => {
    const name = quotedName ?? symbol;
    // A leading zero would be octal in Ruby.
    if (quoted === undefined) return [name, /^(0|[1-9][0-9]*)$/.test(digits) ? Number(digits) : malformed()];
    const value = unescape(quoted);
    return [name, ["iv", "at", "salt"].includes(name) ? value : decodeLatin1(value)];
  });
}

function unescape(quoted) {
  const parts = [];
  RUBY_TOKEN.lastIndex = 0;
  for (let at = 0; at < quoted.length; at = RUBY_TOKEN.lastIndex) {
    const [, byte, four, braced, octal, short, code, plain] = RUBY_TOKEN.exec(quoted) ?? malformed();
    if (code !== undefined) malformed();
    const point = four ?? braced;
    if (byte !== undefined) parts.push(Uint8Array.of(parseInt(byte, 16)));
    else if (point !== undefined) parts.push(character(parseInt(point, 16)));
    else if (octal !== undefined) parts.push(Uint8Array.of(parseInt(octal, 8) & 0xff));
    else if (short !== undefined) parts.push(Uint8Array.of(RUBY_SHORT[short] ?? short.charCodeAt(0)));
    else parts.push(encodeLatin1(plain));
  }
  return concat(...parts);
}

function character(point) {
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) malformed();
  return encodeUtf8(String.fromCodePoint(point));
}
