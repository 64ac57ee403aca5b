/** Calls to the service: each is shown to an observer, and each refusal becomes a `Refused`. */

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

/** What does not fit the protocol: an echo that differs, a session for somebody else, a missing part. */
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

export class Service {
  #subscriptionKey;

  /** `observe` hears `{method, path, status, milliseconds, sent, received}` after every call. */
  constructor({ baseUrl, subscriptionKey, observe = () => {} }) {
    this.baseUrl = baseUrl.replace(/\/+$/, "");
    this.#subscriptionKey = subscriptionKey;
    this.observe = observe;
  }

  /** The JSON body of the answer, null for none. `authorization` is a provider API key or a session string. */
  async call(method, path, { body, authorization } = {}) {
    const headers = { Accept: "application/json", "Service-Subscription-Key": this.#subscriptionKey };
    if (authorization !== undefined) headers.Authorization = authorization;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const started = performance.now();
    const { ok, status, text } = await fetched(this.baseUrl + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      // Cookies belong to the portal, and a redirect would carry credentials to another address.
      credentials: "omit",
      redirect: "error",
      cache: "no-store",
    });
    const received = parsed(text);
    const milliseconds = Math.round(performance.now() - started);
    this.observe({ method, path, status, milliseconds, sent: body ?? null, received });
    if (!ok) throw new Refused(status, received);
    return received;
  }
}

async function fetched(url, given) {
  try {
    const answer = await fetch(url, given);
    return { ok: answer.ok, status: answer.status, text: await answer.text() };
  } catch {
    // What a network stack says is of no use to anybody.
    throw new Unreachable();
  }
}

function parsed(text) {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
