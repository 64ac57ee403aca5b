/** Compiled and never run: the types agree with the modules, and a program that uses the package is well typed. */

import * as modules from "../src/index.js";
import * as strongroom from "strongroom";
import { Account, derivation, Refused, register, Service, unlock } from "strongroom";

// What the compiler finds in the modules fits what is declared.
export const declared: typeof strongroom = modules;
// And nothing is exported without a declaration.
export const names: Record<keyof typeof modules, unknown> = strongroom;
export const ofDerivation: Record<keyof typeof modules.derivation, unknown> = strongroom.derivation;
export const ofCompat: Record<keyof typeof modules.compat, unknown> = strongroom.compat;
export const ofEncoding: Record<keyof typeof modules.encoding, unknown> = strongroom.encoding;

export async function journey(baseUrl: string, subscriptionKey: string, admissionToken: string): Promise<string> {
  const service = new Service({ baseUrl, subscriptionKey, onExchange: ({ method, status }) => `${method} ${status}` });
  const accountSecret = derivation.readAccountSecret(derivation.newAccountSecret());
  const credentials = { username: "ada", passphrase: "correct horse battery staple", realm: baseUrl, accountSecret };
  const account: Account = await register(service, { ...credentials, admissionToken });
  const sealed = await account.seal(new TextEncoder().encode("Dear diary"), "diary");
  try {
    const opened: Uint8Array = await (await unlock(service, credentials)).open(sealed, "diary");
    return new TextDecoder().decode(opened);
  } catch (error) {
    return error instanceof Refused ? error.code : "unknown";
  }
}

// @ts-expect-error a realm is asked for: it is part of what the passphrase is derived with
export const withoutRealm = unlock(null!, { username: "ada", passphrase: "correct horse battery staple" });
// @ts-expect-error text is encoded first
export const ofText = (account: Account) => account.seal("Dear diary");
