/** The journeys: registration in the eleven steps of the specification, and unlocking from name and passphrase. */

import {
  checkParameters, checkVerification, derive, loginSecret, makeVerification, newDerivationArtefacts, passphraseForPdk,
  readDerivationArtefacts, writeDerivationArtefacts,
} from "./derivation.js";
import { DataEncryptionKey, KeyEncryptionKey, PasswordDerivedKey } from "./keys.js";
import { accountTag, canonicalUsername } from "./names.js";
import { PrivateKey, PublicKey } from "./rsa.js";
import { ProtocolViolation, Refused } from "./service.js";
import { openVaultSession } from "./session.js";

const VAULT = "vault";
const DATA = "data";
const DERIVATION = "/keystore/passphrase_derivation_artefact";
const KEK = "/keystore/key_encryption_key";
const DEKS = "/keystore/data_encryption_keys";

/** An open account: `seal` and `open` send nothing, `classificationNodes` asks the vault. */
export class Account {
  #dek;
  #vaultSession;

  constructor(service, username, tag, dek, vaultSession) {
    this.service = service;
    this.username = username;
    this.tag = tag;
    this.#dek = dek;
    this.#vaultSession = vaultSession;
  }

  /** Bytes encrypted under the data encryption key for `data`, bound to this account and context. */
  seal(bytes, context = DATA) {
    return this.#dek.seal(bytes, this.tag, context);
  }

  /** The bytes that `seal` was given, for the same account and context; otherwise a CryptoError. */
  open(serialized, context = DATA) {
    return this.#dek.open(serialized, this.tag, context);
  }

  /** The nodes of this scheme, or of all schemes: what a value can be filed under. */
  async classificationNodes(schemeName) {
    const query = schemeName ? `?scheme_name=${encodeURIComponent(schemeName)}` : "";
    const authorization = this.#vaultSession;
    const answer = await this.service.call("GET", `/vault/classification_nodes${query}`, { authorization });
    return answer.classification_nodes;
  }
}

/**
 * Create a user and open the account, in the eleven steps of the specification.
 * `onStep(number, title)` is called when a step begins, with null for work between two steps.
 * A registration that was interrupted cannot be resumed here; the Python client and the command line can.
 */
export async function register(service, options) {
  const { username, passphrase, realm, accountSecret = null } = options;
  const { admissionToken, providerApiKey, onStep: step = () => {} } = options;
  const acct = await accountTag(username);
  const call = service.call.bind(service);
  step(null, "Derive the login secret");
  const login = await loginSecret(passphrase, username, realm, accountSecret);
  step(1, "Obtain an admission token");
  const token = admissionToken || (await issueAdmissionToken(service, providerApiKey));
  step(2, "Create the key store user");
  await call("POST", "/keystore/users", { body: { admission_token: token, username, passphrase: login } });
  step(3, "Create a key store session");
  const authorization = await logIn(service, username, login);
  step(4, "Store the derivation artefacts");
  const artefacts = newDerivationArtefacts();
  const pdk = new PasswordDerivedKey(await derive(await passphraseForPdk(passphrase, accountSecret), artefacts));
  const derivationArtefacts = writeDerivationArtefacts(artefacts);
  const time = `${new Date().toISOString().slice(0, 19)}Z`;
  const claims = { account: acct, derivationArtefacts, iterations: artefacts.iter, generation: 1, time };
  const verification = await makeVerification(pdk.reveal(), claims);
  await store(call, DERIVATION, authorization, "passphrase_derivation_artefact", {
    derivation_artefacts: derivationArtefacts, verification_artefacts: verification,
  });
  step(5, "Store the encrypted key encryption key");
  const kek = KeyEncryptionKey.generate();
  await store(call, KEK, authorization, "key_encryption_key", {
    serialized_key_encryption_key: await pdk.wrap(kek, acct),
  });
  step(6, "Store the encrypted data encryption key");
  const dek = DataEncryptionKey.generate(DATA);
  await store(call, DEKS, authorization, "data_encryption_key", {
    serialized_data_encryption_key: await kek.wrapDataEncryptionKey(dek, acct),
  });
  step(7, "Store the keypair tagged vault");
  const keypair = await PrivateKey.generate();
  const { keypair: stored } = await call("POST", "/keystore/keypairs", {
    authorization,
    body: {
      encrypted_serialized_key: await kek.wrapPrivateKey(keypair, acct, VAULT),
      public_key: keypair.publicKey.pem, metadata: {}, external_identifiers: [VAULT],
    },
  });
  await openKeypair(kek, acct, stored);
  step(8, "Obtain a vault admission token");
  const external = await call("GET", "/keystore/external_admission_tokens", { authorization });
  step(9, "Create the vault user");
  const vaultToken = external.external_admission_token.vault_api_admission_token;
  const vaultUser = { public_key: keypair.publicKey.pem, admission_token: vaultToken };
  const created = await call("POST", "/vault/me", { body: { user: vaultUser } });
  step(10, "Decrypt the session string");
  const session = await openVaultSession(keypair, created.encrypted_session_authentication_string, realm);
  step(11, "Use it for a vault call");
  const account = new Account(service, username, acct, dek, session);
  await account.classificationNodes("tag");
  return account;
}

/** Open an account from name and passphrase alone. Every value is checked before the next one is trusted. */
export async function unlock(service, options) {
  const { username, passphrase, realm, accountSecret = null, onStep: step = () => {} } = options;
  const acct = await accountTag(username);
  step(null, "Derive the login secret");
  const login = await loginSecret(passphrase, username, realm, accountSecret);
  step(null, "Log in");
  const authorization = await logIn(service, username, login);
  const read = (path) => existing(service.call("GET", path, { authorization }));
  step(null, "Derive the password derived key");
  const { passphrase_derivation_artefact: stored } = await read(DERIVATION);
  const artefacts = readDerivationArtefacts(stored.derivation_artefacts);
  checkParameters(artefacts);
  const pdk = new PasswordDerivedKey(await derive(await passphraseForPdk(passphrase, accountSecret), artefacts));
  const expected = { account: acct, derivationArtefacts: stored.derivation_artefacts };
  // Before the key encryption key is opened: HMAC commits to its key, so a hostile answer tests one guess at most.
  const { iterations } = await checkVerification(pdk.reveal(), stored.verification_artefacts, expected);
  if (iterations !== artefacts.iter) throw new ProtocolViolation("the derivation artefacts are not those vouched for");
  step(null, "Open the key encryption key");
  const kek = await pdk.unwrap((await read(KEK)).key_encryption_key.serialized_key_encryption_key, acct);
  step(null, "Open the data encryption keys");
  const dek = await openDataKey(kek, acct, (await read(DEKS)).data_encryption_keys);
  step(null, "Open the keypair tagged vault");
  const keypair = await openKeypair(kek, acct, (await read(`/keystore/keypairs/external_id/${VAULT}`)).keypair);
  step(null, "Log in to the vault");
  const { session } = await service.call("POST", "/vault/session", { body: { public_key: keypair.publicKey.pem } });
  const vaultSession = await openVaultSession(keypair, session.encrypted_session_authentication_string, realm);
  return new Account(service, username, acct, dek, vaultSession);
}

async function issueAdmissionToken(service, providerApiKey) {
  const answer = await service.call("POST", "/keystore/admission_tokens", { authorization: providerApiKey });
  return answer.admission_token.token_value;
}

async function logIn(service, username, login) {
  const { session } = await service.call("POST", "/keystore/session", { body: { username, passphrase: login } });
  if (canonicalUsername(session.username) !== canonicalUsername(username)) {
    throw new ProtocolViolation("the session is for another user");
  }
  return session.session_authentication_string;
}

/** Store, and compare what the service says it stored: nothing may rest on values that it changed. */
async function store(call, path, authorization, name, body) {
  const stored = (await call("POST", path, { authorization, body }))[name];
  if (Object.entries(body).some(([field, value]) => stored[field] !== value)) {
    throw new ProtocolViolation("the service did not store what it was given");
  }
}

/** The answer; what every finished registration has stored must not be missing. */
async function existing(answer) {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== "not_found") throw error;
    throw new ProtocolViolation("the registration of this account was never finished");
  }
}

async function openDataKey(kek, acct, records) {
  const keys = await Promise.all(
    records.map((record) => kek.unwrapDataEncryptionKey(record.serialized_data_encryption_key, acct)),
  );
  if (new Set(keys.map((key) => key.uid)).size !== keys.length) {
    throw new ProtocolViolation("a data encryption key is listed twice");
  }
  // The list begins with the oldest, so all devices choose the same key.
  return keys.find((key) => key.purpose === DATA) ?? Promise.reject(new ProtocolViolation("there is no key for data"));
}

async function openKeypair(kek, acct, record) {
  if (record.external_identifiers[0]?.identifier !== VAULT) {
    throw new ProtocolViolation("the keypair does not carry the tag asked for");
  }
  const publicKey = await PublicKey.parse(record.public_key);
  return kek.unwrapPrivateKey(record.encrypted_serialized_key, acct, VAULT, publicKey);
}
