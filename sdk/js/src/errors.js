/** The errors of the package. Their messages are fixed sentences: none repeats its input, so no secret is in one. */

const MESSAGES = {
  ContextRefused: "a purpose, context, tag or identifier does not fit its grammar",
  DecryptionFailed: "decryption failed: wrong key, or the value was changed or belongs elsewhere",
  MalformedArtefacts: "the artefacts cannot be read",
  MalformedCiphertext: "not a serialized value of the expected strategy and shape",
  MalformedKey: "not an RSA key of exactly 4096 bits in an accepted form",
  ParametersRefused: "the derivation parameters are outside the accepted bounds",
  PassphraseRefused: "a passphrase has 1 to 1,024 bytes of valid text; an account secret is the text shown once",
  PlaintextRefused: "the plaintext is empty or longer than the strategy takes",
  RealmRefused: "a realm is an https address; http is for loopback only",
  SessionStringRefused: "the encrypted session string is refused",
  UsernameRefused: "a username has 1 to 128 characters, all assigned in Unicode 14, and no controls",
  VerificationFailed: "verification failed: wrong passphrase, or the data was changed",
};

/** An error of the formats or of the cryptography; `name` is its class in every port. */
export class CryptoError extends Error {
  constructor(name) {
    super(MESSAGES[name]);
    this.name = name;
  }
}

/** Throws the error of this name. */
export const refuse = (name) => {
  throw new CryptoError(name);
};

/** Runs `work`; every CryptoError inside becomes this one, so that a server cannot tell the causes apart. */
export async function refusingAs(name, work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CryptoError) refuse(name);
    throw error;
  }
}
