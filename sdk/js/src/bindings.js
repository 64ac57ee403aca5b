/** Bindings: the additional authenticated data (`ad`) that says what a ciphertext is, whose, and where it belongs. */

import { decodeLatin1, decodeUnpadded, decodeUtf8, encodeUnpadded, encodeUtf8, randomBytes } from "./encoding.js";
import { refuse } from "./errors.js";

export const PREFIX = "sr1:";
const TAG_LIMIT = 128;

/** 128 random bits as 22 Base64url characters. */
export const newUid = () => encodeUnpadded(randomBytes(16));

const matching = (pattern, text) => (pattern.test(text) ? text : refuse("ContextRefused"));
const account = (text) => matching(/^[A-Za-z0-9_-]{22}$/, text);
const purpose = (text) => matching(/^[a-z0-9-]{1,32}$/, text);
const context = (text) => matching(/^[a-z0-9._-]{1,64}$/, text);
const fingerprint = (text) => matching(/^[A-Za-z0-9_-]{43}$/, text);
const uid = (text) => (text.length === 22 && decodeUnpadded(text) !== null ? text : refuse("ContextRefused"));

export const keyEncryptionKey = (acct) => `sr1:kek:${account(acct)}`;

export const dataEncryptionKey = (acct, what, id) => `sr1:dek:${account(acct)}:${purpose(what)}:${uid(id)}`;

export const data = (acct, id, what = "data") => `sr1:data:${account(acct)}:${uid(id)}:${context(what)}`;

/** `tag` is the first external identifier, empty if the keypair has none. */
export const privateKey = (acct, tag, fp) => `sr1:key:${account(acct)}:${escaped(tag)}:${fingerprint(fp)}`;

/** `{purpose, uid}` from the `ad` of this account's data encryption key; ContextRefused for any other string. */
export function readDataEncryptionKey(ad, acct) {
  const parts = ad.split(":");
  if (parts.length !== 5 || ad !== dataEncryptionKey(acct, parts[3], parts[4])) refuse("ContextRefused");
  return { purpose: parts[3], uid: parts[4] };
}

function escaped(tag) {
  const bytes = encodeUtf8(tag);
  // Two tags must never share a text: what cannot be encoded or is too long for the service is refused.
  if (bytes.length > TAG_LIMIT || decodeUtf8(bytes) !== tag) refuse("ContextRefused");
  const percent = (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
  return decodeLatin1(bytes).replace(/[^A-Za-z0-9_.-]/g, percent);
}
