/** Values that older ports of the library wrote, opened with a key or a passphrase alone. */

import { codeUnits, derive, exactPassphrase, readDerivationArtefacts } from "./derivation.js";
import { refuse } from "./errors.js";
import { decrypt, parseValue } from "./values.js";

const LIMIT = 64 * 1024 * 1024;

/** The plaintext of a three-part `Aes256Gcm` value, its `ad` taken from the artefacts. */
export const openWithKey = async (key, serialized) =>
  decrypt(key, parseValue(serialized, "Aes256Gcm", { compat: true, limit: LIMIT }), null);

/** `Aes256Gcm.<data>.<artefacts>` and `Pbkdf2Hmac.<derivation artefacts>` of a five-part value. */
export function splitDerived(serialized) {
  const parts = serialized.length <= LIMIT ? serialized.split(".") : [];
  if (parts.length !== 5 || parts[0] !== "Aes256Gcm" || parts[3] !== "Pbkdf2Hmac") refuse("MalformedCiphertext");
  return [parts.slice(0, 3).join("."), parts.slice(3).join(".")];
}

/** The plaintext of a five-part value. */
export async function openWithPassphrase(passphrase, serialized, encoding = "utf-8") {
  const [value, derivation] = splitDerived(serialized);
  return openWithKey(await deriveKey(passphrase, derivation, encoding), value);
}

/** The 32-byte key for `Pbkdf2Hmac.<derivation artefacts>`, the passphrase taken exactly as given. */
export async function deriveKey(passphrase, serialized, encoding = "utf-8") {
  if (!serialized.startsWith("Pbkdf2Hmac.")) refuse("MalformedArtefacts");
  const given = encoding === "code-units" ? codeUnits(passphrase) : exactPassphrase(passphrase);
  return derive(given, readDerivationArtefacts(serialized, { compat: true }), { compat: true });
}
