/** Explains what a value is made of, without any key. */

import { readArtefacts } from "./artefacts.js";
import { splitDerived } from "./compat.js";
import { checkParameters, readDerivationArtefacts } from "./derivation.js";
import { decodeLatin1, decodePadded, decodeUnpadded, hasChecksum, hex } from "./encoding.js";
import { CryptoError } from "./errors.js";
import { PublicKey } from "./rsa.js";
import { parseValue } from "./values.js";

const LIMIT = 64 * 1024 * 1024;
const TOKENS = {
  srk_: "subscription key",
  srp_: "provider API key",
  sra_: "admission token",
  srs_: "key store session string",
  srv1_: "vault session string",
  srl1_: "login secret",
  srl2_: "login secret with an account secret",
  srx1_: "account secret",
  srx2_: "passphrase replaced by an account secret",
};
const BINDINGS = {
  kek: ["key encryption key", "account"],
  dek: ["data encryption key", "account", "purpose", "uid"],
  key: ["private key", "account", "tag", "fingerprint"],
  data: ["data", "account", "uid of the key", "context"],
  ikey: ["item key", "account", "uid of the key", "item"],
  item: ["item", "account", "item", "revision"],
  akey: ["attachment key", "account", "item", "attachment"],
};

export const WARNINGS = {
  compat: "Another port wrote this, or not in our spelling: strict mode refuses it, compat mode opens it.",
  unbound: "Bound to nothing: a server could put it in the place of another value under the same key.",
  cheap: "Too cheap to derive, or outside the strict bounds: strict mode refuses these parameters.",
  clear: "A private key in clear. Treat it as known to whoever has seen this text.",
  secret: "A secret in itself: whoever has it needs nothing else.",
  checksum: "The checksum does not hold: mistyped, or cut off.",
};

const bytes = (count) => `${count.toLocaleString("en")} ${count === 1 ? "byte" : "bytes"}`;
const explanation = (kind, rows, ...warnings) => ({ kind, rows, warnings: warnings.filter(Boolean) });

/** `{kind, rows: [[name, text]], warnings}`, with the kind `unknown` for unknown formats. Never throws for a string. */
export async function explain(given) {
  const text = given.trim();
  const characters = [["Length", `${text.length.toLocaleString("en")} characters`]];
  if (text.includes("PRIVATE KEY-----")) return explanation("private key", [], WARNINGS.clear);
  const readers = [token, verification, publicKey, value, derived, signature, derivation, bare];
  for (const read of text.length > LIMIT ? [] : readers) {
    try {
      const found = await read(text);
      if (found !== null) return found;
    } catch (error) {
      if (!(error instanceof CryptoError)) throw error;
    }
  }
  return explanation("unknown", characters);
}

function token(text) {
  const prefix = Object.keys(TOKENS).find((known) => text.startsWith(known));
  if (prefix === undefined) return null;
  // The replaced passphrase is input to a derivation and carries no checksum.
  const holds = prefix === "srx2_" || hasChecksum(text);
  const rows = [["Length", `${text.length} characters`]];
  if (prefix !== "srx2_") rows.push(["Checksum", holds ? "holds" : "does not hold"]);
  return explanation(TOKENS[prefix], rows, WARNINGS.secret, !holds && WARNINGS.checksum);
}

function verification(text) {
  const [label, encoded, tag] = text.split(".");
  const payload = label === "srva1" && encoded && tag ? decodeUnpadded(encoded) : null;
  if (payload === null) return null;
  return explanation("verification artefacts", [
    ["Payload", decodeLatin1(payload)],
    ["Tag", "HMAC-SHA256 under a key only the passphrase leads to"],
  ]);
}

async function publicKey(text) {
  if (!text.startsWith("-----BEGIN")) return null;
  const key = await PublicKey.parse(text);
  return explanation("public key", [
    ["Algorithm", "RSA, 4096 bits, exponent 65537"],
    ["Fingerprint", key.fingerprint],
  ]);
}

function value(text) {
  const strategy = ["Aes256Gcm", "Rsa4096"].find((known) => text.startsWith(`${known}.`));
  if (strategy === undefined || text.split(".").length !== 3) return null;
  const parts = parseValue(text, strategy, { compat: true, limit: LIMIT });
  return explanation("encrypted value", valueRows(parts), ...valueWarnings(parts, readsStrictly(text, strategy)));
}

function valueRows(parts) {
  const rows = [
    ["Part 1, strategy", parts.strategy],
    ["Part 2, data", `${bytes(parts.data.length)} of ciphertext`],
    ["Part 3, artefacts", `a ${parts.format.toUpperCase()} hash${parts.iv ? " of iv, at and ad" : ", empty"}`],
  ];
  if (parts.iv === undefined) return rows;
  rows.push(["iv (initialisation vector)", hex(parts.iv)], ["at (authentication tag)", hex(parts.at)]);
  rows.push(["ad (additional data)", parts.ad], ...bindingRows(parts.ad));
  return rows;
}

function bindingRows(ad) {
  const [prefix, kind, ...parts] = ad.split(":");
  const [holds, ...names] = prefix === "sr1" && Object.hasOwn(BINDINGS, kind) ? BINDINGS[kind] : [null];
  if (holds === null || names.length !== parts.length) return [];
  return [["Holds", holds], ...names.map((name, at) => [`Bound to ${name}`, parts[at] || "(none)"])];
}

const valueWarnings = (parts, isStrict) => [
  !isStrict && WARNINGS.compat,
  parts.ad !== undefined && bindingRows(parts.ad).length === 0 && WARNINGS.unbound,
];

function readsStrictly(text, strategy) {
  try {
    parseValue(text, strategy, { limit: LIMIT });
    return true;
  } catch {
    return false;
  }
}

function derived(text) {
  if (text.split(".").length !== 5) return null;
  const [serialized, artefacts] = splitDerived(text);
  const parts = parseValue(serialized, "Aes256Gcm", { compat: true, limit: LIMIT });
  const inner = derivation(artefacts);
  const warnings = new Set([...valueWarnings(parts, false), ...inner.warnings]);
  return explanation("encrypted value with a derived key", [...valueRows(parts), ...inner.rows], ...warnings);
}

function signature(text) {
  const [label, strategy, ...encoded] = text.split(".");
  const [signed, data] = encoded.map((part) => decodePadded(part, true));
  if (label !== "Sign" || strategy !== "Rsa4096" || encoded.length !== 2 || !signed || !data) return null;
  return explanation("signature", [
    ["Signature", bytes(signed.length)],
    ["Data, readable by anyone", bytes(data.length)],
  ]);
}

function derivation(text) {
  const artefacts = readDerivationArtefacts(text, { compat: true });
  return explanation(
    "derivation artefacts",
    [
      ["Function", `PBKDF2-HMAC-${artefacts.hash}`],
      ["Iterations", artefacts.iter.toLocaleString("en")],
      ["Salt", bytes(artefacts.salt.length)],
      ["Key length", bytes(artefacts.length)],
    ],
    isRefused(() => checkParameters(artefacts)) && WARNINGS.cheap,
    isRefused(() => readDerivationArtefacts(text)) && WARNINGS.compat,
  );
}

function isRefused(work) {
  try {
    work();
    return false;
  } catch {
    return true;
  }
}

function bare(text) {
  const decoded = decodePadded(text, true);
  if (decoded === null || decoded.length === 0) return null;
  const { fields, format } = readArtefacts(decoded, { compat: true });
  const shown = (field) => (field instanceof Uint8Array ? hex(field) : String(field));
  return explanation("encryption artefacts", [
    ["Format", format.toUpperCase()],
    ...Array.from(fields, ([name, field]) => [name, shown(field)]),
  ]);
}
