/** Calls over a real connection: what is sent, and what becomes of each kind of answer. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import test from "node:test";

import { Refused, Service, Unreachable } from "../src/index.js";

/** A service on loopback that gives `answer(request, body, response)` until the test ends. */
async function serving(context, answer, options = {}) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    answer(request, body, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${server.address().port}/`;
  return new Service({ baseUrl, subscriptionKey: "a subscription key", ...options });
}

const giving = (status, type, text) => (_, __, response) => response.writeHead(status, { "Content-Type": type }).end(text);

test("a call carries both credentials and is shown with its answer", async (context) => {
  const exchanges = [];
  const answer = (request, body, response) => {
    const { method, url, headers } = request;
    const keys = [headers["service-subscription-key"], headers.authorization, headers.cookie];
    response.writeHead(201).end(JSON.stringify({ method, url, keys, body: JSON.parse(body) }));
  };
  const service = await serving(context, answer, { onExchange: (exchange) => exchanges.push(exchange) });
  const received = await service.call("POST", "/keystore/session", { body: { username: "ada" }, authorization: "key" });
  assert.deepEqual(received, {
    method: "POST", url: "/keystore/session", keys: ["a subscription key", "key", null], body: { username: "ada" },
  });
  const [{ milliseconds, ...shown }] = exchanges;
  assert.ok(milliseconds >= 0);
  assert.deepEqual(shown, {
    method: "POST", path: "/keystore/session", status: 201, sent: { username: "ada" }, received,
  });
});

test("an answer without a body is null", async (context) => {
  const service = await serving(context, (_, __, response) => response.writeHead(204).end());
  assert.equal(await service.call("DELETE", "/keystore/session"), null);
});

test("a problem document becomes a refusal with its code", async (context) => {
  const problem = JSON.stringify({ code: "not_found", detail: "There is none.", type: "https://vault.example/refusals" });
  const service = await serving(context, giving(404, "application/problem+json", problem));
  await assert.rejects(service.call("GET", "/vault/session"), (error) => {
    assert.ok(error instanceof Refused);
    assert.deepEqual([error.status, error.code, error.message], [404, "not_found", "There is none."]);
    return true;
  });
});

test("an error page of a proxy is a refusal without a code", async (context) => {
  const service = await serving(context, giving(502, "text/html", "<h1>Bad gateway</h1>"));
  await assert.rejects(service.call("GET", "/vault/session"), { name: "Refused", status: 502, code: "unknown" });
});

test("a redirect is not followed", async (context) => {
  const asked = [];
  const service = await serving(context, (request, _, response) => {
    asked.push(request.url);
    response.writeHead(307, { Location: "/elsewhere" }).end();
  });
  await assert.rejects(service.call("GET", "/vault/session"), Unreachable);
  assert.deepEqual(asked, ["/vault/session"]);
});

test("without a service the error says so, and not what the network stack said", async () => {
  // Port 9 of loopback has no listener: fetch itself refuses it as a bad port.
  const service = new Service({ baseUrl: "http://127.0.0.1:9", subscriptionKey: "a subscription key" });
  await assert.rejects(service.call("GET", "/vault/session"), { name: "Unreachable", message: /could not be reached/ });
});

test("the subscription key is not shown when the service is printed", async () => {
  const { inspect } = await import("node:util");
  const service = new Service({ baseUrl: "http://127.0.0.1:9", subscriptionKey: "a subscription key" });
  assert.doesNotMatch(inspect(service, { showHidden: true }) + JSON.stringify(service), /a subscription key/);
});
