/** Opening the encrypted session string of the vault without becoming a decryption oracle for the server. */

import { decodeLatin1, decodeUnpadded, hasChecksum } from "./encoding.js";
import { refuse, refusingAs } from "./errors.js";
import { realmTag } from "./names.js";

const OURS = /^srv1_([0-9A-Za-z]{11})_([A-Za-z0-9_-]{16,512})[0-9A-Za-z]{6}$/;
const FOREIGN = /^[A-Za-z0-9_-]{16,128}$/;

/**
 * The session string, if the plaintext is one made for this realm; SessionStringRefused in every other case.
 * The server chose the ciphertext and will see the answer: whatever is not a session string must never leave.
 */
export async function openVaultSession(privateKey, serialized, realm, { compat = false } = {}) {
  const tag = await realmTag(realm);
  const text = decodeLatin1(await refusingAs("SessionStringRefused", () => privateKey.decrypt(serialized, { compat })));
  const match = OURS.exec(text);
  const isOurs = match !== null && match[1] === tag && hasChecksum(text) && decodeUnpadded(text.slice(17, -6)) !== null;
  return isOurs || (compat && isForeign(text)) ? text : refuse("SessionStringRefused");
}

function isForeign(text) {
  // A 32-byte key in any spelling, or one of our own tokens that failed our grammar, is no session string.
  if (!FOREIGN.test(text) || /^[0-9A-Fa-f]{64}$/.test(text) || text.length === 32) return false;
  return !/^sr[a-z]{1,2}[0-9]?_/.test(text) && decodeUnpadded(text)?.length !== 32;
}
