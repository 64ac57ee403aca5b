/** RSA-4096 keys: public keys in their one shape, private keys of the strategy `Rsa4096`, signatures of other ports. */

import {
  concat, decodeLatin1, decodePadded, decodeStandard, encodeLatin1, encodeStandard, encodeUnpadded, equalBytes,
  sha256,
} from "./encoding.js";
import { refuse } from "./errors.js";
import { formatValue, KEY_LIMIT, parseValue, VALUE_LIMIT } from "./values.js";

const PUBLIC_PEM_LIMIT = 1024;
const PRIVATE_PEM_LIMIT = 8 * 1024;
const PLAINTEXT_LIMIT = 470;
const MODULUS_SIZE = 512;
const PUBLIC_PEM = /^\s*-----BEGIN PUBLIC KEY-----\r?\n((?:[A-Za-z0-9+/]+={0,2}\r?\n)+)-----END PUBLIC KEY-----\s*$/;
const PRIVATE_PEM =
  /^\s*-----BEGIN (RSA )?PRIVATE KEY-----\r?\n((?:[A-Za-z0-9+/]+={0,2}\r?\n)+)-----END (RSA )?PRIVATE KEY-----\s*$/;
// RFC 3279 2.3.1 with exactly these lengths is the only DER of a 4096-bit key with exponent 65537.
const fromHex = (text) => Uint8Array.from(text.match(/../g), (byte) => parseInt(byte, 16));
const SPKI_HEAD = fromHex("30820222300d06092a864886f70d01010105000382020f003082020a0282020100");
const SPKI_TAIL = fromHex("0203010001");
const ALGORITHM = fromHex("300d06092a864886f70d0101010500");
const VERSION = fromHex("020100");

// OAEP needs no collision resistance, and every port expects SHA-1 here.
const OAEP = { name: "RSA-OAEP", hash: "SHA-1" };
const SIGNATURE = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
const GENERATE = { ...OAEP, modulusLength: 4096, publicExponent: Uint8Array.of(1, 0, 1) };

const decodePemBody = (body) => decodeStandard(body.replace(/[\r\n]+/g, "")) ?? refuse("MalformedKey");
const encodePem = (label, bytes) =>
  `-----BEGIN ${label}-----\n${encodeStandard(bytes).match(/.{1,64}/g).join("\n")}\n-----END ${label}-----\n`;

export class PublicKey {
  /** Use `parse` or `fromSpki`. */
  constructor(pemText, spki, fingerprint) {
    this.pem = pemText;
    this.spki = spki;
    /** SHA-256 of the SPKI in 43 Base64url characters. */
    this.fingerprint = fingerprint;
    Object.freeze(this);
  }

  /** One PEM block; MalformedKey unless it is the canonical SPKI of an RSA key of 4096 bits, odd, exponent 65537. */
  static async parse(pemText) {
    const match = pemText.length <= PUBLIC_PEM_LIMIT ? PUBLIC_PEM.exec(pemText) : null;
    return match === null ? refuse("MalformedKey") : PublicKey.fromSpki(decodePemBody(match[1]), pemText);
  }

  static async fromSpki(spki, pemText = encodePem("PUBLIC KEY", spki)) {
    const modulus = spki.subarray(SPKI_HEAD.length, -SPKI_TAIL.length);
    const isFramed =
      equalBytes(spki.subarray(0, SPKI_HEAD.length), SPKI_HEAD) && equalBytes(spki.slice(-SPKI_TAIL.length), SPKI_TAIL);
    if (!isFramed || modulus.length !== MODULUS_SIZE || modulus[0] < 0x80 || modulus.at(-1) % 2 === 0) {
      refuse("MalformedKey");
    }
    return new PublicKey(pemText, spki, encodeUnpadded(await sha256(spki)));
  }

  equals(other) {
    return equalBytes(this.spki, other.spki);
  }

  /** `Rsa4096.<data>.<empty hash>`; PlaintextRefused unless 1 to 470 bytes. */
  async encrypt(plaintext, format = "yaml") {
    if (plaintext.length < 1 || plaintext.length > PLAINTEXT_LIMIT) refuse("PlaintextRefused");
    const key = await crypto.subtle.importKey("spki", this.spki, OAEP, false, ["encrypt"]);
    return formatValue("Rsa4096", new Uint8Array(await crypto.subtle.encrypt(OAEP, key, plaintext)), [], format);
  }

  /** The data of `Sign.Rsa4096.<signature>.<data>`; MalformedCiphertext, or VerificationFailed. */
  async verify(serialized, { compat = false } = {}) {
    const [label, strategy, ...encoded] = serialized.length <= VALUE_LIMIT ? serialized.split(".") : [];
    const [signature, data] = encoded.map((part) => decodePadded(part, compat));
    const isShaped = label === "Sign" && strategy === "Rsa4096" && encoded.length === 2;
    if (!isShaped || !data || signature?.length !== MODULUS_SIZE) refuse("MalformedCiphertext");
    const key = await crypto.subtle.importKey("spki", this.spki, SIGNATURE, false, ["verify"]);
    return (await crypto.subtle.verify(SIGNATURE, key, signature, data)) ? data : refuse("VerificationFailed");
  }
}

export class PrivateKey {
  #pkcs1;
  #key;

  constructor(pkcs1, key, publicKey) {
    this.#pkcs1 = pkcs1;
    this.#key = key;
    this.publicKey = publicKey;
    Object.freeze(this);
  }

  /** A new key; takes about a second, sometimes three, off the main thread. */
  static async generate() {
    const pair = await crypto.subtle.generateKey(GENERATE, true, ["encrypt", "decrypt"]);
    return PrivateKey.#fromPkcs8(new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey)));
  }

  /** One unencrypted PEM block, PKCS#1 or PKCS#8, at most 8 KiB; MalformedKey otherwise. */
  static async parse(pemText) {
    const match = pemText.length <= PRIVATE_PEM_LIMIT ? PRIVATE_PEM.exec(pemText) : null;
    if (match === null || match[1] !== match[3]) refuse("MalformedKey");
    const bytes = decodePemBody(match[2]);
    return PrivateKey.#fromPkcs8(match[1] ? pkcs8(bytes) : bytes);
  }

  static async #fromPkcs8(bytes) {
    const pkcs1 = bytes.slice(4 + VERSION.length + ALGORITHM.length + 4);
    // Only this one frame is taken: no attributes, no other algorithm, no other spelling of a length.
    if (pkcs1.length < MODULUS_SIZE || !equalBytes(pkcs8(pkcs1), bytes)) refuse("MalformedKey");
    let parts;
    let key;
    try {
      const extractable = await crypto.subtle.importKey("pkcs8", bytes, OAEP, true, ["decrypt"]);
      parts = await crypto.subtle.exportKey("jwk", extractable);
      key = await crypto.subtle.importKey("pkcs8", bytes, OAEP, false, ["decrypt"]);
    } catch {
      refuse("MalformedKey");
    }
    const modulus = encodeLatin1(atob(parts.n.replaceAll("-", "+").replaceAll("_", "/")));
    if (parts.e !== "AQAB") refuse("MalformedKey");
    return new PrivateKey(pkcs1, key, await PublicKey.fromSpki(concat(SPKI_HEAD, modulus, SPKI_TAIL)));
  }

  /** The key in clear as PKCS#1 PEM, which every port reads. */
  get pem() {
    return encodePem("RSA PRIVATE KEY", this.#pkcs1);
  }

  /** The plaintext of an `Rsa4096` value. MalformedCiphertext, or DecryptionFailed whatever was wrong inside. */
  async decrypt(serialized, { compat = false } = {}) {
    const value = parseValue(serialized, "Rsa4096", { compat, limit: KEY_LIMIT });
    try {
      return new Uint8Array(await crypto.subtle.decrypt(OAEP, this.#key, value.data));
    } catch {
      // One error for every padding fault: telling them apart is Manger's attack.
      return refuse("DecryptionFailed");
    }
  }

  toString() {
    return "PrivateKey(********)";
  }
}

/** The PKCS#8 frame around a PKCS#1 key: WebCrypto reads no other. */
function pkcs8(pkcs1) {
  const length = (size) => Uint8Array.of(0x82, size >> 8, size & 0xff);
  const body = concat(VERSION, ALGORITHM, Uint8Array.of(0x04), length(pkcs1.length), pkcs1);
  return concat(Uint8Array.of(0x30), length(body.length), body);
}

/** The private key's PEM as bytes, for wrapping. */
export const pemBytes = (privateKey) => encodeLatin1(privateKey.pem);

/** A private key from the bytes an authenticated decryption returned. */
export const parsePemBytes = (bytes) => PrivateKey.parse(decodeLatin1(bytes));
