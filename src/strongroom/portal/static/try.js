// Try it: the whole encrypted journey in this page, with every request as it was sent.

import {
  CryptoError, derivation, ProtocolViolation, Refused, register, Service, unlock, Unreachable,
} from "./strongroom/index.js";

const SHOWN = 96;
const at = (id) => document.getElementById(id);
const place = at("try-it");
let account = null;

function element(name, text, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

const shortened = (text) =>
  text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}… (${text.length.toLocaleString("en")} characters)`;

/** A body as indented JSON, long strings cut and secrets that open something without further proof masked. */
function shown(body) {
  const masked = (key, text) =>
    /^(token_value|admission_token|vault_api_admission_token|session_authentication_string|passphrase)$/.test(key)
      ? `${text.slice(0, 8)}…`
      : shortened(text);
  return JSON.stringify(body, (key, value) => (typeof value === "string" ? masked(key, value) : value), 2);
}

function bodyBlock(title, body) {
  const block = element("div", "", "snippet");
  const head = element("div", "", "snippet-head");
  head.append(element("span", title));
  const content = element("pre", "");
  content.tabIndex = 0;
  content.append(element("code", body === null ? "no body" : shown(body)));
  block.append(head, content);
  return block;
}

function showExchange({ method, path, status, milliseconds, sent, received }) {
  const item = document.createElement("li");
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  summary.append(
    element("span", method, `method ${method.toLowerCase()}`),
    element("code", path),
    element("span", `${status} · ${milliseconds.toLocaleString("en")} ms`, status < 400 ? "muted" : "error"),
  );
  details.append(summary, bodyBlock("Sent", sent), bodyBlock("Received", received));
  item.append(details);
  at("requests").append(item);
  at("no-requests").hidden = true;
}

function fail(error) {
  const box = element("div", "", "notice bad");
  box.append(element("p", error.message));
  if (error instanceof Refused && error.code !== "unknown") {
    const line = element("p", "");
    const link = element("a", error.code);
    link.href = `docs/errors/${encodeURIComponent(error.code)}`;
    line.append("Refused with ", link, ".");
    box.append(line);
  }
  at("failure").replaceChildren(box);
  at("progress").textContent = "";
}

function message(error) {
  if (error instanceof Unreachable) return new Error("The service could not be reached.");
  const known = error instanceof CryptoError || error instanceof ProtocolViolation || error instanceof Refused;
  // A missing part, or a number in place of a text: the fault is in the service's answer.
  return known ? error : new Error("The answer of the service does not follow the protocol.");
}

function complain(id, text) {
  const hint = at(`${id}-error`);
  hint.textContent = text;
  hint.hidden = text === "";
  if (text === "") at(id).removeAttribute("aria-invalid");
  else at(id).setAttribute("aria-invalid", "true");
  return text !== "";
}

/** The bytes of the account secret; null without one, undefined for what is none. */
function accountSecret() {
  const text = at("account-secret").value.trim();
  try {
    return text === "" ? null : derivation.readAccountSecret(text);
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error;
    return undefined;
  }
}

function checked(isNew) {
  const missing = (id, what) => complain(id, at(id).value.trim() === "" ? `Enter ${what}.` : "");
  const wrong = [
    missing("subscription-key", "a subscription key"),
    isNew ? missing("admission", "an admission token or a provider API key") : complain("admission", ""),
    missing("username", "a username"),
    missing("passphrase", "a passphrase"),
    complain("account-secret", accountSecret() === undefined ? "Look for a typing error: the checksum does not hold." : ""),
  ];
  document.querySelector("#journey [aria-invalid]")?.focus();
  return !wrong.includes(true);
}

function busy(isBusy) {
  for (const button of place.querySelectorAll("button")) button.disabled = isBusy;
  place.setAttribute("aria-busy", String(isBusy));
}

function credentials() {
  const admission = at("admission").value.trim();
  const isProviderKey = admission.startsWith("srp_");
  return {
    username: at("username").value,
    passphrase: at("passphrase").value,
    accountSecret: accountSecret(),
    realm: place.dataset.realm,
    admissionToken: isProviderKey ? undefined : admission,
    providerApiKey: isProviderKey ? admission : undefined,
    onStep: (number, title) => {
      at("progress").textContent = number === null ? `${title}…` : `Step ${number} of 11: ${title}…`;
    },
  };
}

async function journey(isNew) {
  at("failure").replaceChildren();
  if (!checked(isNew)) return;
  busy(true);
  account = null;
  at("sealing").hidden = true;
  at("opened").replaceChildren();
  const started = performance.now();
  const subscriptionKey = at("subscription-key").value.trim();
  const service = new Service({ baseUrl: place.dataset.api, subscriptionKey, onExchange: showExchange });
  try {
    account = await (isNew ? register : unlock)(service, credentials());
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    at("progress").textContent = `${isNew ? "Registered" : "Unlocked"} in ${seconds} seconds.`;
    at("account").textContent = `The account of ${account.username} is open in this page. Its tag is ${account.tag}.`;
    at("sealing").hidden = false;
  } catch (error) {
    fail(message(error));
  }
  busy(false);
}

async function sealOrOpen(isSeal) {
  const note = (text, kind) => at("opened").replaceChildren(element("p", text, `notice ${kind}`));
  try {
    if (isSeal) {
      at("sealed").value = await account.seal(new TextEncoder().encode(at("plaintext").value));
      note("Sealed here, under a key the service holds only encrypted. Nothing was sent.", "good");
    } else {
      const bytes = await account.open(at("sealed").value.trim());
      note(`Opened: ${new TextDecoder().decode(bytes)}`, "good");
    }
  } catch (error) {
    note(message(error).message, "bad");
  }
}

// The inspector reads the value behind the #, which no browser sends anywhere.
at("inspect").addEventListener("click", () => {
  at("inspect").hash = encodeURIComponent(at("sealed").value.trim());
});

function pick(count, alphabet) {
  return Array.from(crypto.getRandomValues(new Uint8Array(count)), (byte) => alphabet[byte % alphabet.length]).join("");
}

at("journey").addEventListener("submit", (event) => {
  event.preventDefault();
  journey(event.submitter?.value !== "unlock");
});
at("sealing").addEventListener("submit", (event) => {
  event.preventDefault();
  sealOrOpen(event.submitter?.value !== "open");
});

at("new-account-secret").addEventListener("click", () => {
  at("account-secret").value = derivation.newAccountSecret();
  complain("account-secret", "");
});

if (globalThis.crypto?.subtle === undefined) {
  at("unable").hidden = false;
  busy(true);
} else {
  at("username").value ||= `try-${pick(6, "abcdefghjkmnpqrstuvwxyz23456789")}`;
  at("passphrase").value ||= Array.from({ length: 4 }, () => pick(5, "abcdefghijkmnopqrstuvwxyz")).join(" ");
}
