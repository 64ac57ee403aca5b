/** Keys do not print what they hold. */

import assert from "node:assert/strict";
import test from "node:test";
import { inspect } from "node:util";

import { DataEncryptionKey, encoding, KeyEncryptionKey } from "../src/index.js";

test("a key shows itself only when asked to", () => {
  for (const key of [KeyEncryptionKey.generate(), DataEncryptionKey.generate("data")]) {
    const secret = encoding.hex(key.reveal());
    const shown = `${key} ${inspect(key, { showHidden: true })} ${JSON.stringify(key)}`;
    assert.equal(secret.length, 64);
    assert.ok(!shown.includes(secret) && !shown.includes(key.reveal().join(",")) && !shown.includes("Uint8Array"));
  }
});

test("data opens under its key, account and context alone", async () => {
  const [account, other] = ["A".repeat(22), "B".repeat(22)];
  const key = DataEncryptionKey.generate("data");
  const sealed = await key.seal(encoding.encodeUtf8("Dear diary"), account, "diary");
  assert.equal(encoding.decodeUtf8(await key.open(sealed, account, "diary")), "Dear diary");
  for (const wrong of [
    () => key.open(sealed, other, "diary"),
    () => key.open(sealed, account),
    () => DataEncryptionKey.generate("data").open(sealed, account, "diary"),
  ]) {
    await assert.rejects(wrong, { name: "DecryptionFailed" });
  }
});
