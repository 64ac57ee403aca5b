/**
 * Strongroom for browsers and Node: the formats of docs/protocol.md on WebCrypto, without any other code.
 *
 * Code that a server delivers can be changed by that server. An application whose users must not have to trust the
 * operator of the service ships this package with the application.
 */

export { Account, register, unlock } from "./account.js";
export * as compat from "./compat.js";
export * as derivation from "./derivation.js";
export * as encoding from "./encoding.js";
export { CryptoError } from "./errors.js";
export { explain } from "./inspect.js";
export { DataEncryptionKey, KeyEncryptionKey, PasswordDerivedKey } from "./keys.js";
export { accountTag, canonicalRealm, canonicalUsername, realmTag } from "./names.js";
export { PrivateKey, PublicKey } from "./rsa.js";
export { ProtocolViolation, Refused, Service, Unreachable } from "./service.js";
export { openVaultSession } from "./session.js";
export { casefold, isAssigned } from "./unicode14.js";
