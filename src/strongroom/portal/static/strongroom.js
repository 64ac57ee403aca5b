/**
 * Strongroom in a browser: the formats of docs/protocol.md on WebCrypto, without any other code.
 *
 * Code that a server delivers can be changed by that server. Use this to try the service and to learn the formats; an
 * application whose users must not have to trust its operator ships its client with the application.
 */

export { Account, register, unlock } from "./strongroom/account.js";
export * as compat from "./strongroom/compat.js";
export * as derivation from "./strongroom/derivation.js";
export * as encoding from "./strongroom/encoding.js";
export { CryptoError } from "./strongroom/errors.js";
export { explain } from "./strongroom/inspect.js";
export { DataEncryptionKey, KeyEncryptionKey, PasswordDerivedKey } from "./strongroom/keys.js";
export { accountTag, canonicalRealm, canonicalUsername, realmTag } from "./strongroom/names.js";
export { PrivateKey, PublicKey } from "./strongroom/rsa.js";
export { ProtocolViolation, Refused, Service, Unreachable } from "./strongroom/service.js";
export { openVaultSession } from "./strongroom/session.js";
export { casefold, isAssigned } from "./strongroom/unicode14.js";
