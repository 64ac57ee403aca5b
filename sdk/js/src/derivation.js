/** From a passphrase to keys: derivation artefacts, PBKDF2, the login secret and verification artefacts. */

import { DERIVATION, readArtefacts, writeArtefacts } from "./artefacts.js";
import {
  concat, decodeLatin1, decodePadded, decodeUnpadded, decodeUtf8, encodePadded, encodeUnpadded, encodeUtf8,
  hasChecksum, randomBytes, sha256, withChecksum,
} from "./encoding.js";
import { CryptoError, refuse } from "./errors.js";
import { readJson, readRuby } from "./literals.js";
import { canonicalRealm, canonicalUsername } from "./names.js";

export const LOGIN_ITERATIONS = 600_000;
export const DEFAULT_ITERATIONS = 1_000_000;
const MIN_ITERATIONS = 600_000;
const MAX_ITERATIONS = 10_000_000;
const PASSPHRASE_LIMIT = 1024;
const TEXT_LIMIT = 4 * 1024;
const VERIFICATION_LABEL = "strongroom/1/verification-artefacts";
const TIME = /^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z$/;

/** PBKDF2-HMAC-SHA256 with 32 bytes of output (RFC 8018 5.2), off the main thread. */
async function pbkdf2(passphrase, salt, iterations) {
  const key = await crypto.subtle.importKey("raw", passphrase, "PBKDF2", false, ["deriveBits"]);
  const algorithm = { name: "PBKDF2", hash: "SHA-256", salt, iterations };
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, 256));
}

const hmacKey = (key, use) => crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, [use]);

const hmac = async (key, message) =>
  new Uint8Array(await crypto.subtle.sign("HMAC", await hmacKey(key, "sign"), message));

/** HKDF-Expand-SHA256(secret, label, 32) (RFC 5869 2.3): a single block is all that 32 bytes need. */
const expand = (secret, label) => hmac(secret, concat(encodeUtf8(label), Uint8Array.of(1)));

/** UTF-8 of the passphrase as given, as other ports use it. PassphraseRefused unless 1 to 1,024 bytes. */
export function exactPassphrase(passphrase) {
  const bytes = encodeUtf8(passphrase);
  // The encoder replaces a lone surrogate, and two passphrases would become one.
  const isLossless = decodeUtf8(bytes) === passphrase;
  if (!isLossless || bytes.length < 1 || bytes.length > PASSPHRASE_LIMIT) refuse("PassphraseRefused");
  return bytes;
}

/** What early JavaScript ports gave to PBKDF2: one byte per UTF-16 unit, high bytes run into the one before. */
export function codeUnits(passphrase) {
  const size = passphrase.length;
  if (size < 1 || size > PASSPHRASE_LIMIT) refuse("PassphraseRefused");
  return Uint8Array.from({ length: size }, (_, at) => {
    const carried = at % 4 !== 3 && at + 1 < size ? passphrase.charCodeAt(at + 1) >> 8 : 0;
    return (passphrase.charCodeAt(at) & 0xff) ^ carried;
  });
}

/** The 32 bytes of an account secret from its text form, white space ignored. PassphraseRefused for other text. */
export function readAccountSecret(text) {
  const compact = text.replace(/\s+/g, "");
  const value = compact.startsWith("srx1_") && hasChecksum(compact) ? decodeUnpadded(compact.slice(5, -6)) : null;
  return value?.length === 32 ? value : refuse("PassphraseRefused");
}

/** A new account secret in its text form: what the user writes down. */
export const newAccountSecret = () => withChecksum(`srx1_${encodeUnpadded(randomBytes(32))}`);

/**
 * The bytes that go to PBKDF2: P in docs/protocol.md, or P2 with an account secret.
 * @param {Uint8Array | null} accountSecret 32 bytes
 */
export async function passphraseForPdk(passphrase, accountSecret = null) {
  const canonical = exactPassphrase(passphrase.normalize("NFC"));
  if (accountSecret === null) return canonical;
  const mixed = await hmac(accountSecret, concat(encodeUtf8("strongroom/1/pdk-input\0"), canonical));
  return encodeUtf8(`srx2_${encodeUnpadded(mixed)}`);
}

/**
 * What a client sends in the field `passphrase`: `srl1_...`, or `srl2_...` with an account secret.
 * Takes half a second or so.
 * @param {Uint8Array | null} accountSecret 32 bytes
 */
export async function loginSecret(passphrase, username, realm, accountSecret = null) {
  // The salt comes from name and realm alone: nothing is fetched before login, so no server can weaken it.
  const salted = `strongroom/1/login-salt\0${canonicalRealm(realm)}\0${canonicalUsername(username)}`;
  const input = await passphraseForPdk(passphrase, accountSecret);
  const stretched = await pbkdf2(input, await sha256(encodeUtf8(salted)), LOGIN_ITERATIONS);
  const secret = await expand(stretched, "strongroom/1/login-secret");
  return withChecksum(`${accountSecret === null ? "srl1_" : "srl2_"}${encodeUnpadded(secret)}`);
}

/** `{salt, iter, length, hash}` with a fresh salt. */
export const newDerivationArtefacts = (iter = DEFAULT_ITERATIONS) => ({
  salt: randomBytes(32), iter, length: 32, hash: "SHA256",
});

/** The text for the service: Base64 of the YAML hash `salt`, `iter`, `length`, `hash`. */
export const writeDerivationArtefacts = ({ salt, iter, length, hash }) =>
  encodePadded(writeArtefacts(Object.entries({ salt, iter, length, hash }), { version: DERIVATION }));

/** Read the field `derivation_artefacts` in any of its forms; MalformedArtefacts for anything else. */
export function readDerivationArtefacts(text, { compat = false } = {}) {
  if (text.length > TEXT_LIMIT) refuse("MalformedArtefacts");
  const bare = compat ? text.replace(/^Pbkdf2Hmac\./, "") : text;
  const bytes = compat && bare.startsWith("{") ? encodeUtf8(bare) : decodePadded(bare, compat);
  if (bytes === null || bytes.length === 0) refuse("MalformedArtefacts");
  if (/^\{\s*"[a-z]+"\s*:/.test(decodeLatin1(bytes))) return fromFields(readJson(bytes, compat), compat);
  if (compat && bytes[0] === 0x7b) return fromFields(readRuby(bytes), compat);
  return fromFields(readArtefacts(bytes, { compat, version: DERIVATION }).fields, compat);
}

function fromFields(fields, compat) {
  const names = fields.has("salt") ? ["salt", "iter", "length"] : ["iv", "i", "l"];
  const hasHash = fields.has("hash");
  // Ruby ports leave the hash out where it is the only one they know.
  if (!names.every((name) => fields.has(name)) || fields.size !== names.length + Number(hasHash)) {
    refuse("MalformedArtefacts");
  }
  if (!hasHash && !compat) refuse("MalformedArtefacts");
  const [salt, iter, length] = names.map((name) => fields.get(name));
  return { salt, iter, length, hash: hasHash ? fields.get("hash") : "SHA256" };
}

/** ParametersRefused outside the bounds of the profile, or of what other ports wrote. */
export function checkParameters({ salt, iter, length, hash }, { compat = false } = {}) {
  const [least, shortest, longest] = compat ? [1, 1, 1024] : [MIN_ITERATIONS, 16, 64];
  const fits = iter >= least && iter <= MAX_ITERATIONS && salt.length >= shortest && salt.length <= longest;
  if (!fits || length !== 32 || hash !== "SHA256") refuse("ParametersRefused");
}

/** The 32 bytes of the password derived key; a second or so. ParametersRefused before any work is done. */
export async function derive(passphrase, artefacts, { compat = false } = {}) {
  checkParameters(artefacts, { compat });
  return pbkdf2(passphrase, artefacts.salt, artefacts.iter);
}

const digestOf = async (text) => encodeUnpadded(await sha256(encodeUtf8(text)));
const canonicalJson = ({ a, d, f, g, i, t }) => JSON.stringify({ a, d, f, g, i, t });
const labelled = (payload) => concat(encodeUtf8(`${VERIFICATION_LABEL}\0`), payload);

/** `srva1.<payload>.<tag>` over the derivation artefacts exactly as sent. */
export async function makeVerification(pdk, { account, derivationArtefacts, iterations, generation, time }) {
  if (!TIME.test(time) || generation < 1 || iterations < 1) refuse("ContextRefused");
  const digest = await digestOf(derivationArtefacts);
  const fields = { a: account, d: digest, f: ["ad"], g: generation, i: iterations, t: time };
  const payload = encodeUtf8(canonicalJson(fields));
  const tag = await hmac(await expand(pdk, VERIFICATION_LABEL), labelled(payload));
  return `srva1.${encodeUnpadded(payload)}.${encodeUnpadded(tag)}`;
}

/** `{generation, iterations, time}` if this key made them for these artefacts; otherwise VerificationFailed. */
export async function checkVerification(pdk, text, { account, derivationArtefacts }) {
  const [label, encoded, encodedTag, ...more] = text.length <= TEXT_LIMIT ? text.split(".") : [];
  const payload = label === "srva1" && more.length === 0 ? decodeUnpadded(encoded ?? "=") : null;
  const tag = payload === null ? null : decodeUnpadded(encodedTag ?? "=");
  if (payload === null || tag === null) refuse("VerificationFailed");
  const key = await hmacKey(await expand(pdk, VERIFICATION_LABEL), "verify");
  // `verify` compares in constant time.
  if (!(await crypto.subtle.verify("HMAC", key, tag, labelled(payload)))) refuse("VerificationFailed");
  return readVerification(payload, account, await digestOf(derivationArtefacts));
}

function readVerification(payload, account, digest) {
  try {
    const written = decodeUtf8(payload);
    const fields = JSON.parse(written);
    const isCounted = [fields.g, fields.i].every((number) => Number.isSafeInteger(number) && number >= 1);
    const isOurs = fields.a === account && fields.d === digest && Array.isArray(fields.f) && fields.f.includes("ad");
    const isCanonical = canonicalJson(fields) === written;
    if (!isCanonical || !isCounted || !isOurs || !TIME.test(fields.t)) refuse("VerificationFailed");
    return { generation: fields.g, iterations: fields.i, time: fields.t };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) refuse("VerificationFailed");
    throw error instanceof CryptoError ? error : new CryptoError("VerificationFailed");
  }
}
