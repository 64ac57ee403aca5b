/** Serialized values, `<Strategy>.<data>.<artefacts>`, and the encryption strategy `Aes256Gcm`. */

import { ARTEFACT_LIMIT, readArtefacts, writeArtefacts } from "./artefacts.js";
import { concat, decodePadded, encodeLatin1, encodePadded, randomBytes } from "./encoding.js";
import { CryptoError, refuse } from "./errors.js";

export const KEY_LIMIT = 8 * 1024;
export const VALUE_LIMIT = 64 * 1024;
export const KEY_SIZE = 32;
const IV_SIZE = 12;
const TAG_SIZE = 16;
const RSA_SIZE = 512;
const AD_LIMIT = 512;
const ARTEFACT_CHARACTERS = Math.ceil(ARTEFACT_LIMIT / 3) * 4;

/** The length of the longest serialized value that holds `size` bytes of data. */
export const charactersFor = (size) => "Aes256Gcm..".length + Math.ceil(size / 3) * 4 + ARTEFACT_CHARACTERS;

/**
 * Read a value of the one strategy the caller expects; `limit` counts characters.
 * MalformedCiphertext unless it has exactly three parts in canonical Base64 and the artefacts of that strategy.
 */
export function parseValue(text, strategy, { compat = false, limit = VALUE_LIMIT } = {}) {
  const parts = text.length <= limit ? text.split(".") : [];
  // The strategy is compared, never looked up: a relabelled value must not choose another cipher.
  if (parts.length !== 3 || parts[0] !== strategy || parts[2].length > ARTEFACT_CHARACTERS) {
    refuse("MalformedCiphertext");
  }
  const data = decodePadded(parts[1], compat);
  const { fields, format } = cipherArtefacts(parts[2], compat);
  if (data === null || data.length === 0) refuse("MalformedCiphertext");
  if (strategy === "Rsa4096") {
    if (data.length !== RSA_SIZE || fields.size !== 0) refuse("MalformedCiphertext");
    return { strategy, data, format };
  }
  const iv = fields.get("iv");
  const at = fields.get("at");
  // A shorter tag would be easier to forge, and GCM takes any length it is given.
  if (fields.size !== 3 || !fields.has("ad") || iv?.length !== IV_SIZE || at?.length !== TAG_SIZE) {
    refuse("MalformedCiphertext");
  }
  return { strategy, data, format, iv, at, ad: fields.get("ad") };
}

function cipherArtefacts(encoded, compat) {
  try {
    return readArtefacts(decodePadded(encoded, compat) ?? new Uint8Array(), { compat });
  } catch (error) {
    if (error instanceof CryptoError) refuse("MalformedCiphertext");
    throw error;
  }
}

/** The text of a value; `entries` are its artefacts. */
export const formatValue = (strategy, data, entries, format) =>
  `${strategy}.${encodePadded(data)}.${encodePadded(writeArtefacts(entries, { format }))}`;

const importKey = (key) =>
  key.length === KEY_SIZE
    ? crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"])
    : refuse("MalformedKey");

const gcm = (iv, ad) => ({ name: "AES-GCM", iv, additionalData: encodeLatin1(ad), tagLength: TAG_SIZE * 8 });

/** `Aes256Gcm.<data>.<artefacts>` bound to `ad`. PlaintextRefused if empty, ContextRefused beyond printable ASCII. */
export async function encrypt(key, plaintext, ad, format = "yaml") {
  if (plaintext.length === 0) refuse("PlaintextRefused");
  if (ad.length > AD_LIMIT || !/^[ -~]*$/.test(ad)) refuse("ContextRefused");
  const iv = randomBytes(IV_SIZE);
  const sealed = new Uint8Array(await crypto.subtle.encrypt(gcm(iv, ad), await importKey(key), plaintext));
  const cut = sealed.length - TAG_SIZE;
  const entries = [["iv", iv], ["at", sealed.slice(cut)], ["ad", ad]];
  return formatValue("Aes256Gcm", sealed.subarray(0, cut), entries, format);
}

/** The plaintext of a parsed value under the binding `ad` the caller expects; null takes what the value says. */
export async function decrypt(key, value, ad) {
  if (ad !== null && ad !== value.ad) refuse("DecryptionFailed");
  const imported = await importKey(key);
  try {
    // The caller's own string goes to GCM, so the comparison above is never what security rests on.
    const algorithm = gcm(value.iv, ad ?? value.ad);
    return new Uint8Array(await crypto.subtle.decrypt(algorithm, imported, concat(value.data, value.at)));
  } catch {
    return refuse("DecryptionFailed");
  }
}
