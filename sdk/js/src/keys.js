/** The key hierarchy as three classes: a password derived key opens the key encryption key, that one all others. */

import * as binding from "./bindings.js";
import { equalBytes, randomBytes } from "./encoding.js";
import { refuse, refusingAs } from "./errors.js";
import { parsePemBytes, pemBytes } from "./rsa.js";
import { charactersFor, decrypt, encrypt, KEY_LIMIT, KEY_SIZE, parseValue } from "./values.js";

const DATA_LIMIT = 16 * 1024 * 1024;

class Key {
  #value;

  /** MalformedKey unless exactly 32 bytes. */
  constructor(value) {
    if (value.length !== KEY_SIZE) refuse("MalformedKey");
    this.#value = value;
  }

  /** The 32 bytes. */
  reveal() {
    return this.#value;
  }

  toString() {
    return `${this.constructor.name}(********)`;
  }
}

/** Decrypt under the binding `expected`; in compat mode a value of another port opens under the `ad` it carries. */
function openBound(key, value, expected, compat) {
  // A value that carries one of our bindings is held to it in either mode: compat is no way around them.
  return decrypt(key.reveal(), value, compat && !value.ad.startsWith(binding.PREFIX) ? null : expected);
}

const keyBytes = (plaintext) => (plaintext.length === KEY_SIZE ? plaintext : refuse("DecryptionFailed"));

export class DataEncryptionKey extends Key {
  constructor(value, purpose = null, uid = null) {
    super(value);
    this.purpose = purpose;
    this.uid = uid;
  }

  static generate(purpose) {
    return new DataEncryptionKey(randomBytes(KEY_SIZE), purpose, binding.newUid());
  }

  /** Data encrypted for this account and context. */
  async seal(data, account, context = "data", format = "yaml") {
    return encrypt(this.reveal(), data, binding.data(account, this.uid ?? "", context), format);
  }

  /** The data sealed under the same account and context. MalformedCiphertext or DecryptionFailed. */
  async open(serialized, account, context = "data", { compat = false } = {}) {
    const value = parseValue(serialized, "Aes256Gcm", { compat, limit: charactersFor(DATA_LIMIT) });
    if (value.data.length > DATA_LIMIT) refuse("MalformedCiphertext");
    const expected = this.uid === null ? "" : binding.data(account, this.uid, context);
    return openBound(this, value, expected, compat);
  }
}

export class KeyEncryptionKey extends Key {
  static generate() {
    return new KeyEncryptionKey(randomBytes(KEY_SIZE));
  }

  async wrapDataEncryptionKey(dek, account, format = "yaml") {
    return encrypt(this.reveal(), dek.reveal(), binding.dataEncryptionKey(account, dek.purpose, dek.uid), format);
  }

  /** The key with purpose and uid from its binding, everything else in it compared. */
  async unwrapDataEncryptionKey(serialized, account, { compat = false } = {}) {
    const value = parseValue(serialized, "Aes256Gcm", { compat, limit: KEY_LIMIT });
    if (compat && !value.ad.startsWith(binding.PREFIX)) {
      return new DataEncryptionKey(keyBytes(await openBound(this, value, "", compat)));
    }
    return refusingAs("DecryptionFailed", async () => {
      const { purpose, uid } = binding.readDataEncryptionKey(value.ad, account);
      const expected = binding.dataEncryptionKey(account, purpose, uid);
      return new DataEncryptionKey(keyBytes(await openBound(this, value, expected, compat)), purpose, uid);
    });
  }

  /** The PKCS#1 PEM, encrypted; `tag` is the first external identifier. */
  async wrapPrivateKey(privateKey, account, tag, format = "yaml") {
    const ad = binding.privateKey(account, tag, privateKey.publicKey.fingerprint);
    return encrypt(this.reveal(), pemBytes(privateKey), ad, format);
  }

  /** The private key that belongs to exactly this public key, account and tag. */
  async unwrapPrivateKey(serialized, account, tag, publicKey, { compat = false } = {}) {
    const value = parseValue(serialized, "Aes256Gcm", { compat, limit: KEY_LIMIT });
    const expected = binding.privateKey(account, tag, publicKey.fingerprint);
    return refusingAs("DecryptionFailed", async () => {
      const privateKey = await parsePemBytes(await openBound(this, value, expected, compat));
      // The server keeps public keys in clear: without this it could hand out one of its own.
      if (!privateKey.publicKey.equals(publicKey)) refuse("DecryptionFailed");
      const probe = randomBytes(KEY_SIZE);
      const returned = await privateKey.decrypt(await publicKey.encrypt(probe));
      return equalBytes(returned, probe) ? privateKey : refuse("DecryptionFailed");
    });
  }
}

export class PasswordDerivedKey extends Key {
  async wrap(kek, account, format = "yaml") {
    return encrypt(this.reveal(), kek.reveal(), binding.keyEncryptionKey(account), format);
  }

  /** The key encryption key of this account. Check the verification artefacts first: GCM does not commit to its key. */
  async unwrap(serialized, account, { compat = false } = {}) {
    const value = parseValue(serialized, "Aes256Gcm", { compat, limit: KEY_LIMIT });
    const opened = await openBound(this, value, binding.keyEncryptionKey(account), compat);
    return new KeyEncryptionKey(keyBytes(opened));
  }
}
