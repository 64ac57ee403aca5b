/** Calls to the service. Each call can be observed; each refusal becomes a `Refused`. */

/** The service said no: a problem document (RFC 9457), or an answer that is not one. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? `the service answered ${status}`);
    this.name = "Refused";
    this.status = status;
    this.code = problem?.code ?? "unknown";
    this.type = problem?.type ?? null;
  }
}

/** An answer that breaks the protocol: a stored value that differs, a session of another user, a missing part. */
export class ProtocolViolation extends Error {
  constructor(message) {
    super(message);
    this.name = "ProtocolViolation";
  }
}

/** No answer came, or a redirect, which is never followed. */
export class Unreachable extends Error {
  constructor() {
    super("the service could not be reached");
    this.name = "Unreachable";
  }
}

/** A service and the subscription key to call it with. */
export class Service {
  #subscriptionKey;

  /** `onExchange({method, path, status, milliseconds, sent, received})` is called after each answer, unmasked. */
  constructor({ baseUrl, subscriptionKey, onExchange = () => {} }) {
    this.baseUrl = baseUrl.replace(/\/+$/, "");
    this.#subscriptionKey = subscriptionKey;
    this.onExchange = onExchange;
  }

  /** The JSON body of the answer, null for none. `authorization` is a provider API key or a session string. */
  async call(method, path, { body, authorization } = {}) {
    const headers = { Accept: "application/json", "Service-Subscription-Key": this.#subscriptionKey };
    if (authorization !== undefined) headers.Authorization = authorization;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const started = performance.now();
    const { ok, status, text } = await send(this.baseUrl + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      // Cookies belong to the portal, and a redirect would carry credentials to another address.
      credentials: "omit",
      redirect: "error",
      cache: "no-store",
    });
    const received = parseJson(text);
    const milliseconds = Math.round(performance.now() - started);
    this.onExchange({ method, path, status, milliseconds, sent: body ?? null, received });
    if (!ok) throw new Refused(status, received);
    return received;
  }
}

async function send(url, options) {
  try {
    const answer = await fetch(url, options);
    return { ok: answer.ok, status: answer.status, text: await answer.text() };
  } catch {
    // Every runtime words its network errors differently, and browsers hide the cause on purpose.
    throw new Unreachable();
  }
}

/** The value, or null for what is not JSON: some proxies answer errors with HTML. */
function parseJson(text) {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
