/** Types of the package, written by hand; test/types.ts compares them with the modules. */

/** How a service is reached. */
export interface ServiceOptions {
  /** Where the service is, such as `https://vault.example`. */
  baseUrl: string;
  subscriptionKey: string;
  /** Called after each answer. Bodies are as they were sent: they hold tokens and login secrets. */
  onExchange?: (exchange: Exchange) => void;
}

/** One request and its answer. */
export interface Exchange {
  method: string;
  path: string;
  status: number;
  milliseconds: number;
  sent: unknown;
  received: unknown;
}

/** A service and the subscription key to call it with. */
export class Service {
  constructor(options: ServiceOptions);
  readonly baseUrl: string;
  /**
   * The JSON body of the answer, null for none. `authorization` is a provider API key or a session string.
   * Throws `Refused` or `Unreachable`.
   */
  call(method: string, path: string, options?: { body?: object; authorization?: string }): Promise<any>;
}

/** The service said no. */
export class Refused extends Error {
  constructor(status: number, problem: { code?: string; detail?: string; type?: string } | null);
  readonly status: number;
  /** What went wrong, such as `invalid_credentials`; `unknown` if the answer is no problem document. */
  readonly code: string;
  readonly type: string | null;
}

/** An answer that breaks the protocol. */
export class ProtocolViolation extends Error {
  constructor(message: string);
}

/** No answer came, or a redirect, which is never followed. */
export class Unreachable extends Error {}

/** An error of the formats or of the cryptography; `name` says which. */
export class CryptoError extends Error {
  constructor(name: CryptoErrorName);
}

export type CryptoErrorName =
  | "ContextRefused"
  | "DecryptionFailed"
  | "MalformedArtefacts"
  | "MalformedCiphertext"
  | "MalformedKey"
  | "ParametersRefused"
  | "PassphraseRefused"
  | "PlaintextRefused"
  | "RealmRefused"
  | "SessionStringRefused"
  | "UsernameRefused"
  | "VerificationFailed";

export interface Credentials {
  username: string;
  passphrase: string;
  /** The address by which users know the service; secrets made for one realm are of no use to another. */
  realm: string;
  /** 32 bytes that no server knows, from `derivation.readAccountSecret`. */
  accountSecret?: Uint8Array | null;
  /** Called when a step begins; `number` is null for work between the steps of the specification. */
  onStep?: (number: number | null, title: string) => void;
}

export interface Registration extends Credentials {
  /** From your server. */
  admissionToken?: string;
  /** Instead of a token, to issue one. This key belongs on a server, never in a browser or an app. */
  providerApiKey?: string;
}

/** Create a user and open the account. */
export function register(service: Service, options: Registration): Promise<Account>;

/** Open an account. Every value is checked before the next one is trusted. */
export function unlock(service: Service, options: Credentials): Promise<Account>;

/** An open account; `register` and `unlock` make it. */
export class Account {
  constructor(service: Service, username: string, tag: string, dek: DataEncryptionKey, vaultSession: string);
  readonly service: Service;
  readonly username: string;
  /** The 22 characters that stand for the username in bindings. */
  readonly tag: string;
  /** Encrypt under the account's key for data; `context` is 1 to 64 of `a-z`, `0-9`, `.`, `_`, `-`. */
  seal(bytes: Uint8Array, context?: string): Promise<string>;
  /** The bytes that were sealed for the same account and context; otherwise a `CryptoError`. */
  open(serialized: string, context?: string): Promise<Uint8Array>;
  /** The nodes of this scheme, or of all schemes. */
  classificationNodes(schemeName?: string): Promise<any[]>;
}

/** Strict mode reads what this package writes; compat mode also reads what older ports wrote. */
export interface Mode {
  compat?: boolean;
}

export type ArtefactFormat = "yaml" | "bson";

/** 32 secret bytes. */
interface Key {
  reveal(): Uint8Array;
  toString(): string;
}

/** The key that the passphrase leads to. It opens the key encryption key. */
export class PasswordDerivedKey implements Key {
  constructor(value: Uint8Array);
  reveal(): Uint8Array;
  wrap(kek: KeyEncryptionKey, account: string, format?: ArtefactFormat): Promise<string>;
  unwrap(serialized: string, account: string, mode?: Mode): Promise<KeyEncryptionKey>;
}

/** The key that opens data encryption keys and private keys. */
export class KeyEncryptionKey implements Key {
  constructor(value: Uint8Array);
  static generate(): KeyEncryptionKey;
  reveal(): Uint8Array;
  wrapDataEncryptionKey(dek: DataEncryptionKey, account: string, format?: ArtefactFormat): Promise<string>;
  unwrapDataEncryptionKey(serialized: string, account: string, mode?: Mode): Promise<DataEncryptionKey>;
  /** `tag` is the first external identifier of the keypair. */
  wrapPrivateKey(key: PrivateKey, account: string, tag: string, format?: ArtefactFormat): Promise<string>;
  unwrapPrivateKey(
    serialized: string,
    account: string,
    tag: string,
    publicKey: PublicKey,
    mode?: Mode,
  ): Promise<PrivateKey>;
}

/** The key that encrypts data. */
export class DataEncryptionKey implements Key {
  constructor(value: Uint8Array, purpose?: string | null, uid?: string | null);
  static generate(purpose: string): DataEncryptionKey;
  readonly purpose: string | null;
  readonly uid: string | null;
  reveal(): Uint8Array;
  seal(data: Uint8Array, account: string, context?: string, format?: ArtefactFormat): Promise<string>;
  open(serialized: string, account: string, context?: string, mode?: Mode): Promise<Uint8Array>;
}

/** An RSA public key of 4096 bits. */
export class PublicKey {
  constructor(pem: string, spki: Uint8Array, fingerprint: string);
  static parse(pem: string): Promise<PublicKey>;
  static fromSpki(spki: Uint8Array, pem?: string): Promise<PublicKey>;
  readonly pem: string;
  readonly spki: Uint8Array;
  /** SHA-256 of the SPKI in 43 Base64url characters. */
  readonly fingerprint: string;
  equals(other: PublicKey): boolean;
  /** 1 to 470 bytes. */
  encrypt(plaintext: Uint8Array, format?: ArtefactFormat): Promise<string>;
  /** The signed data. */
  verify(serialized: string, mode?: Mode): Promise<Uint8Array>;
}

/** An RSA private key of 4096 bits; `parse` and `generate` make it. */
export class PrivateKey {
  constructor(pkcs1: Uint8Array, key: CryptoKey, publicKey: PublicKey);
  static generate(): Promise<PrivateKey>;
  static parse(pem: string): Promise<PrivateKey>;
  readonly publicKey: PublicKey;
  /** The key in clear as PKCS#1 PEM. */
  readonly pem: string;
  decrypt(serialized: string, mode?: Mode): Promise<Uint8Array>;
  toString(): string;
}

/** The session string of the vault, if the plaintext is one made for this realm. */
export function openVaultSession(
  privateKey: PrivateKey,
  serialized: string,
  realm: string,
  mode?: Mode,
): Promise<string>;

export function canonicalUsername(username: string): string;
export function canonicalRealm(url: string): string;
/** The 22 characters that stand for the username in bindings. */
export function accountTag(username: string): Promise<string>;
/** The 11 characters that name the realm in vault session strings. */
export function realmTag(realm: string): Promise<string>;
/** Case folding of Unicode 14.0, in every runtime. */
export function casefold(text: string): string;
/** Whether Unicode 14.0 assigns the code point. */
export function isAssigned(codePoint: number): boolean;

/** What a value is made of, found without a key. `kind` is `unknown` for other formats. */
export function explain(text: string): Promise<Explanation>;

export interface Explanation {
  kind: string;
  rows: string[][];
  warnings: string[];
}

/** From a passphrase to keys. */
export namespace derivation {
  const LOGIN_ITERATIONS: number;
  const DEFAULT_ITERATIONS: number;

  interface DerivationArtefacts {
    salt: Uint8Array;
    iter: number;
    length: number;
    hash: string;
  }

  interface Verification {
    generation: number;
    iterations: number;
    /** Seconds, in UTC: `2026-01-31T12:00:00Z`. */
    time: string;
  }

  /** What verification artefacts are bound to. */
  interface Verified {
    account: string;
    derivationArtefacts: string;
  }

  function exactPassphrase(passphrase: string): Uint8Array;
  function codeUnits(passphrase: string): Uint8Array;
  function newAccountSecret(): string;
  function readAccountSecret(text: string): Uint8Array;
  function passphraseForPdk(passphrase: string, accountSecret?: Uint8Array | null): Promise<Uint8Array>;
  function loginSecret(
    passphrase: string,
    username: string,
    realm: string,
    accountSecret?: Uint8Array | null,
  ): Promise<string>;
  function newDerivationArtefacts(iterations?: number): DerivationArtefacts;
  function writeDerivationArtefacts(artefacts: DerivationArtefacts): string;
  function readDerivationArtefacts(text: string, mode?: Mode): DerivationArtefacts;
  function checkParameters(artefacts: DerivationArtefacts, mode?: Mode): void;
  function derive(passphrase: Uint8Array, artefacts: DerivationArtefacts, mode?: Mode): Promise<Uint8Array>;
  function makeVerification(pdk: Uint8Array, claims: Verified & Verification): Promise<string>;
  function checkVerification(pdk: Uint8Array, text: string, expected: Verified): Promise<Verification>;
}

/** Values of older ports, opened with a key or a passphrase alone. */
export namespace compat {
  type PassphraseEncoding = "utf-8" | "code-units";

  function openWithKey(key: Uint8Array, serialized: string): Promise<Uint8Array>;
  function openWithPassphrase(
    passphrase: string,
    serialized: string,
    encoding?: PassphraseEncoding,
  ): Promise<Uint8Array>;
  function deriveKey(passphrase: string, serialized: string, encoding?: PassphraseEncoding): Promise<Uint8Array>;
  /** The encrypted value and the derivation artefacts of a five-part value. */
  function splitDerived(serialized: string): string[];
}

/** Bytes and text. A decoder returns null for text that its encoder would not write. */
export namespace encoding {
  function encodeUtf8(text: string): Uint8Array;
  function decodeUtf8(bytes: Uint8Array): string;
  function encodeLatin1(text: string): Uint8Array;
  function decodeLatin1(bytes: Uint8Array): string;
  function encodeStandard(bytes: Uint8Array): string;
  function decodeStandard(text: string): Uint8Array | null;
  function encodePadded(bytes: Uint8Array): string;
  function decodePadded(text: string, compat?: boolean): Uint8Array | null;
  function encodeUnpadded(bytes: Uint8Array): string;
  function decodeUnpadded(text: string, compat?: boolean): Uint8Array | null;
  function padded(text: string): string;
  function base62(number: number | bigint, width: number): string;
  function checksum(text: string): string;
  function withChecksum(text: string): string;
  function hasChecksum(text: string): boolean;
  function concat(...parts: Uint8Array[]): Uint8Array;
  function equalBytes(one: Uint8Array, other: Uint8Array): boolean;
  function hex(bytes: Uint8Array): string;
  function randomBytes(count: number): Uint8Array;
  function sha256(bytes: Uint8Array): Promise<Uint8Array>;
}
