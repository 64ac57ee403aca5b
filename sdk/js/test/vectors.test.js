/** Every shared vector, in Node; test/vectors.js is what browsers run as well. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import * as vectors from "./vectors.js";

const read = async (file) => JSON.parse(await readFile(new URL(`../../../vectors/${file}`, import.meta.url), "utf-8"));

for (const [name, file] of [
  ["interop", "interop.json"],
  ["artefacts", "artefacts.json"],
  ["strict", "strict.json"],
  ["zeroKnowledge", "zero-knowledge.json"],
  ["unicode", "casefold.json"],
]) {
  test(`every vector of ${file} holds`, async () => {
    assert.deepEqual(await vectors[name](await read(file)), []);
  });
}

test("a vector that does not hold is reported", async () => {
  const strict = await read("strict.json");
  const [first] = strict.vectors;
  strict.vectors = [{ ...first, expect: "DecryptionFailed" }, { ...first, plaintext_hex: "00".repeat(32) }, first];
  assert.equal((await vectors.strict(strict)).length, 2);
  assert.notDeepEqual(vectors.unicode({ casefold: { "0061": "0062" }, assigned: ["0000-10FFFF"] }), []);
});
