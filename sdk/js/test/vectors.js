/** Runs the shared vectors (vectors/README.md) in Node and in browsers; each function lists what did not hold. */

import * as strongroom from "../src/index.js";
import { readArtefacts } from "../src/artefacts.js";

const { compat, derivation, encoding } = strongroom;
const { equalBytes, hex, encodeUtf8 } = encoding;
const COMPAT = { compat: true };
const ANY_ACCOUNT = "A".repeat(22);

const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (byte) => parseInt(byte, 16));
const fromBase64 = (text) => encoding.decodePadded(text, true);

function same(one, other, what) {
  if (one !== other) throw new Error(`${what} differs`);
}

function sameBytes(one, other, what) {
  if (!equalBytes(one, other)) throw new Error(`${what} differs`);
}

async function failures(vectors, run) {
  const found = [];
  for (const vector of vectors) {
    try {
      await run(vector);
    } catch (error) {
      found.push(`${vector.id ?? JSON.stringify(vector).slice(0, 60)}: ${error.name}: ${error.message}`);
    }
  }
  return found;
}

/** Runs `work`; the name of the CryptoError it ends with, or null. */
async function refusal(work) {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof strongroom.CryptoError) return error.name;
    throw error;
  }
}

async function account(vector) {
  const { want } = vector;
  const artefacts = derivation.readDerivationArtefacts(vector.derivation_artefacts, COMPAT);
  const derived = await derivation.derive(derivation.exactPassphrase(vector.passphrase), artefacts, COMPAT);
  sameBytes(derived, fromBase64(want.pdk), "pdk");
  const pdk = new strongroom.PasswordDerivedKey(derived);
  const kek = await pdk.unwrap(vector.serialized_key_encryption_key, ANY_ACCOUNT, COMPAT);
  sameBytes(kek.reveal(), fromBase64(want.kek), "kek");
  const dek = await kek.unwrapDataEncryptionKey(vector.serialized_data_encryption_key, ANY_ACCOUNT, COMPAT);
  sameBytes(dek.reveal(), fromBase64(want.dek), "dek");
  sameBytes(await dek.open(vector.item_value, ANY_ACCOUNT, "data", COMPAT), encodeUtf8(want.item_value), "item");
  const publicKey = await strongroom.PublicKey.parse(vector.public_key);
  const wrapped = vector.encrypted_serialized_key;
  const privateKey = await kek.unwrapPrivateKey(wrapped, ANY_ACCOUNT, "vault", publicKey, COMPAT);
  same(privateKey.pem.trim(), want.private_key.replaceAll("\r", "").trim(), "private key");
  const encrypted = vector.encrypted_session_authentication_string;
  same(await strongroom.openVaultSession(privateKey, encrypted, "http://localhost", COMPAT), want.session, "session");
}

async function openedInterop(vector) {
  switch (vector.kind) {
    case "key":
      return compat.openWithKey(fromBase64(vector.key), vector.serialized);
    case "passphrase":
      return compat.openWithPassphrase(vector.passphrase, vector.serialized, vector.passphrase_encoding);
    case "derive":
      return compat.deriveKey(vector.passphrase, vector.serialized, vector.passphrase_encoding);
    case "rsa": {
      const privateKey = await strongroom.PrivateKey.parse(vector.private_key);
      if (!privateKey.publicKey.equals(await strongroom.PublicKey.parse(vector.public_key))) throw new Error("no pair");
      return privateKey.decrypt(vector.serialized, COMPAT);
    }
    case "signature":
      return (await strongroom.PublicKey.parse(vector.public_key)).verify(vector.serialized, COMPAT);
    default:
      throw new Error(`unknown kind ${vector.kind}`);
  }
}

/** Every value of other ports opens, or is refused, as stated. */
export const interop = ({ vectors }) =>
  failures(vectors, async (vector) => {
    if (vector.kind === "account") return account(vector);
    let opened;
    const refused = await refusal(async () => {
      opened = await openedInterop(vector);
    });
    const expect = vector.expect ?? "ok";
    if (expect !== "either") same(refused === null, expect === "ok", `outcome (${refused})`);
    if (refused !== null) return undefined;
    if ("effective_passphrase" in vector) {
      sameBytes(derivation.codeUnits(vector.passphrase), fromBase64(vector.effective_passphrase), "code units");
    }
    if ("plaintext_sha256" in vector) {
      same(opened.length, vector.plaintext_length, "length");
      return same(hex(await encoding.sha256(opened)), vector.plaintext_sha256, "digest");
    }
    const expected = "plaintext" in vector ? fromBase64(vector.plaintext) : encodeUtf8(vector.text);
    return sameBytes(opened, expected, "plaintext");
  });

/** Every spelling of an artefact hash is read, and says what is stated. */
export const artefacts = ({ vectors }) =>
  failures(vectors, (vector) => {
    if (vector.kind === "derivation") {
      const read = derivation.readDerivationArtefacts(vector.artefacts, COMPAT);
      sameBytes(read.salt, fromBase64(vector.salt), "salt");
      for (const name of ["iter", "length", "hash"]) same(read[name], vector[name], name);
      return;
    }
    const { fields } = readArtefacts(fromBase64(vector.artefacts), COMPAT);
    same([...fields.keys()].sort().join(), "ad,at,iv", "the names");
    for (const name of ["iv", "at"]) sameBytes(fields.get(name), fromBase64(vector[name]), name);
    same(fields.get("ad"), vector.ad, "ad");
  });

/** What the readers make of each text: its fields, bytes in hexadecimal, or null where it is refused. */
export const readings = (cases) =>
  cases.map(([kind, text, compat]) => {
    const plain = (value) => (value instanceof Uint8Array ? hex(value) : value);
    const shown = (entries) => Object.fromEntries(Array.from(entries, ([name, value]) => [name, plain(value)]));
    try {
      if (kind === "encryption") return shown(readArtefacts(fromHex(text), { compat }).fields);
      return shown(Object.entries(derivation.readDerivationArtefacts(text, { compat })));
    } catch (error) {
      if (error instanceof strongroom.CryptoError) return null;
      throw error;
    }
  });

/** Every value of the strict profile opens to what is stated; every bad one is refused with the stated error. */
export async function strict({ account: given, vectors }) {
  const pdk = new strongroom.PasswordDerivedKey(fromHex(given.pdk_hex));
  const kek = new strongroom.KeyEncryptionKey(fromHex(given.kek_hex));
  const dek = new strongroom.DataEncryptionKey(fromHex(given.dek_hex), "notes", given.dek_uid);
  const publicKey = await strongroom.PublicKey.parse(given.public_key);
  const privateKey = await strongroom.PrivateKey.parse(given.private_key);
  const { acct } = given;
  same(publicKey.fingerprint, given.fingerprint, "fingerprint");
  const openers = {
    key_encryption_key: async (v) => ({ plaintext_hex: hex((await pdk.unwrap(v.serialized, acct)).reveal()) }),
    data_encryption_key: async (v) => {
      const opened = await kek.unwrapDataEncryptionKey(v.serialized, acct);
      return { plaintext_hex: hex(opened.reveal()), purpose: opened.purpose, uid: opened.uid };
    },
    private_key: async (v) => {
      const opened = await kek.unwrapPrivateKey(v.serialized, acct, v.tag, publicKey);
      same(opened.pem, given.private_key, "private key");
      return {};
    },
    data: async (v) => ({ plaintext_hex: hex(await dek.open(v.serialized, acct, v.context)) }),
    vault_session: async (v) => ({
      plaintext_hex: hex(encodeUtf8(await strongroom.openVaultSession(privateKey, v.serialized, given.realm))),
    }),
    derivation_artefacts: async (v) => {
      derivation.checkParameters(derivation.readDerivationArtefacts(v.derivation_artefacts));
      return {};
    },
    verification_artefacts: async (v) => {
      const vouched = { account: acct, derivationArtefacts: v.derivation_artefacts };
      const { generation, iterations } = await derivation.checkVerification(
        pdk.reveal(), v.verification_artefacts, vouched,
      );
      return { generation, iterations };
    },
  };
  return failures(vectors, async (vector) => {
    let opened = {};
    const refused = await refusal(async () => {
      opened = await openers[vector.kind](vector);
    });
    same(refused ?? "ok", vector.expect, `outcome (${refused})`);
    for (const [name, value] of Object.entries(opened)) same(value, vector[name], name);
  });
}

/** Names, realms, login secrets, verification artefacts and checksums of the profile. */
export async function zeroKnowledge({ login, verification, checksum }) {
  const found = await failures(login, async (vector) => {
    const secret = vector.account_secret_hex === null ? null : fromHex(vector.account_secret_hex);
    same(strongroom.canonicalUsername(vector.username), vector.canonical_username, "username");
    same(await strongroom.accountTag(vector.username), vector.acct, "account tag");
    same(await strongroom.realmTag(vector.realm), vector.realm_tag, "realm tag");
    same(
      await derivation.loginSecret(vector.passphrase, vector.username, vector.realm, secret),
      vector.login_secret,
      "login secret",
    );
    if (vector.passphrase_for_pdk !== null) {
      const given = await derivation.passphraseForPdk(vector.passphrase, secret);
      sameBytes(given, encodeUtf8(vector.passphrase_for_pdk), "passphrase for the PDK");
    }
  });
  const single = await failures([verification], async (vector) => {
    const derivationArtefacts = vector.derivation_artefacts;
    const artefacts = derivation.readDerivationArtefacts(derivationArtefacts);
    const pdk = await derivation.derive(encodeUtf8(vector.passphrase), artefacts);
    same(hex(pdk), vector.pdk_hex, "pdk");
    const acct = await strongroom.accountTag(vector.username);
    const { generation, time, iter: iterations } = vector;
    const given = { account: acct, derivationArtefacts, iterations, generation, time };
    same(await derivation.makeVerification(pdk, given), vector.verification_artefacts, "verification artefacts");
    const read = await derivation.checkVerification(pdk, vector.verification_artefacts, given);
    same(read.generation, generation, "generation");
  });
  const tokens = await failures([checksum], async ({ body, token }) => {
    same(encoding.withChecksum(body), token, "checksum");
    same(encoding.hasChecksum(`${token.slice(0, -1)}~`), false, "a wrong checksum");
  });
  return [...found, ...single, ...tokens];
}

/** Folding and assignment, over every code point there is. */
export function unicode({ casefold, assigned }) {
  const ranges = assigned.map((pair) => pair.split("-").map((digits) => parseInt(digits, 16)));
  const isAssigned = new Uint8Array(0x110000);
  for (const [first, last] of ranges) isAssigned.fill(1, first, last + 1);
  const folded = new Map(
    Object.entries(casefold).map(([before, after]) => [
      parseInt(before, 16),
      String.fromCodePoint(...after.split(" ").map((digits) => parseInt(digits, 16))),
    ]),
  );
  const wrong = [];
  for (let point = 0; point < 0x110000; point += 1) {
    const character = String.fromCodePoint(point);
    const isRight =
      strongroom.isAssigned(point) === Boolean(isAssigned[point]) &&
      strongroom.casefold(character) === (folded.get(point) ?? character);
    if (!isRight) wrong.push(`U+${point.toString(16)}`);
  }
  return wrong.slice(0, 20);
}
