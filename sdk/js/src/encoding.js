/** Bytes and text: Base64 with one text for one value, base62, the checksum of tokens. */

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const CRC_DIGITS = 6;
const CHUNK = 0x8000;

const encoder = new TextEncoder();

/** The UTF-8 of the text; a lone surrogate becomes U+FFFD. */
export const encodeUtf8 = (text) => encoder.encode(text);

/** The text of UTF-8 bytes; throws for anything else. */
export const decodeUtf8 = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/** Text with one character for each byte. */
export function decodeLatin1(bytes) {
  let text = "";
  // Spreading a whole large value into arguments would overflow the stack.
  for (let start = 0; start < bytes.length; start += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(start, start + CHUNK));
  }
  return text;
}

/** The bytes of text whose characters are at most U+00FF. */
export const encodeLatin1 = (text) => Uint8Array.from(text, (character) => character.charCodeAt(0));

export function concat(...parts) {
  const joined = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export const equalBytes = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);

/** `count` bytes from the generator of WebCrypto. */
export const randomBytes = (count) => crypto.getRandomValues(new Uint8Array(count));

export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Standard Base64 with padding, as PEM and YAML have it. */
export const encodeStandard = (bytes) => btoa(decodeLatin1(bytes));

/** The bytes, or null unless `text` is what `encodeStandard` writes for them. */
export function decodeStandard(text) {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  const bytes = encodeLatin1(atob(text));
  // Bits beyond the last byte must be zero: otherwise several texts would stand for one value.
  const rest = bytes.subarray(bytes.length - (bytes.length % 3 || 3));
  return text === "" || text.slice(-4) === encodeStandard(rest) ? bytes : null;
}

/** URL-safe Base64 with padding: parts 2 and 3 of a serialized value. */
export const encodePadded = (bytes) => encodeStandard(bytes).replaceAll("+", "-").replaceAll("/", "_");

/** The bytes, or null unless `text` is what `encodePadded` writes for them. Compat also takes `+` and `/`. */
export function decodePadded(text, compat = false) {
  if (!compat && /[+/]/.test(text)) return null;
  return decodeStandard(text.replaceAll("-", "+").replaceAll("_", "/"));
}

/** URL-safe Base64 without padding: tokens, tags and fingerprints. */
export const encodeUnpadded = (bytes) => encodePadded(bytes).replace(/=+$/, "");

/** The bytes, or null unless `text` is what `encodeUnpadded` writes for them. */
export function decodeUnpadded(text, compat = false) {
  return text.includes("=") ? null : decodePadded(padded(text), compat);
}

/** The text with the padding it lacks. */
export const padded = (text) => text + "=".repeat((4 - (text.length % 4)) % 4);

/** A BigInt or number in base 62, most significant digit first, padded with `0` to `width` digits. */
export function base62(number, width) {
  let rest = BigInt(number);
  let digits = "";
  for (let at = 0; at < width; at += 1) {
    digits = BASE62[Number(rest % 62n)] + digits;
    rest /= 62n;
  }
  return digits;
}

/** CRC-32 of ASCII text as 6 base62 digits. It finds accidents and authenticates nothing. */
export function checksum(text) {
  let remainder = 0xffffffff;
  for (const byte of encodeUtf8(text)) {
    remainder ^= byte;
    for (let bit = 0; bit < 8; bit += 1) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0);
  }
  return base62((remainder ^ 0xffffffff) >>> 0, CRC_DIGITS);
}

export const withChecksum = (text) => text + checksum(text);

/** Whether the last 6 characters are the checksum of what stands before them. */
export function hasChecksum(text) {
  if (text.length <= CRC_DIGITS || !/^[\x00-\x7f]*$/.test(text)) return false;
  return checksum(text.slice(0, -CRC_DIGITS)) === text.slice(-CRC_DIGITS);
}
