/** Canonical usernames and realms, and the short tags computed from them. Every client must compute the same ones. */

import { base62, concat, encodeUnpadded, encodeUtf8, sha256 } from "./encoding.js";
import { refuse } from "./errors.js";
import { casefold, isAssigned } from "./unicode14.js";

const LOOPBACK = "http://localhost";
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
const AUTHORITY = /^(https?):\/\/([^/?#]*)(?:\/[^?#]*)?$/i;

/** NFC(casefold(NFKC(username))). UsernameRefused unless 1 to 128 code points of Unicode 14.0, none a control. */
export function canonicalUsername(username) {
  const points = Array.from(username);
  if (points.length < 1 || points.length > 128) refuse("UsernameRefused");
  for (const character of points) {
    // A character newer than the tables could fold differently on two machines.
    if (!isAssigned(character.codePointAt(0)) || /\p{Cc}/u.test(character)) refuse("UsernameRefused");
  }
  return casefold(username.normalize("NFKC")).normalize("NFC");
}

/** `acct`: 22 characters that stand for the canonical name in bindings. */
export async function accountTag(username) {
  const digest = await sha256(concat(encodeUtf8("strongroom/1/acct\0"), encodeUtf8(canonicalUsername(username))));
  return encodeUnpadded(digest).slice(0, 22);
}

/** `https://host[:port]`, lower case, ASCII, no path or default port; every loopback address is `http://localhost`. */
export function canonicalRealm(url) {
  const match = /[\x00-\x20\x7f\\?#]/.test(url) ? null : AUTHORITY.exec(url);
  const authority = match ? /^(\[[^\]]*\]|[^:[\]@]*)(?::([0-9]*))?$/.exec(match[2]) : null;
  if (authority === null) refuse("RealmRefused");
  const [host, isLoopback] = canonicalHost(authority[1]);
  const port = authority[2] ? Number(authority[2]) : null;
  if (port !== null && port > 65535) refuse("RealmRefused");
  if (isLoopback) return LOOPBACK;
  // Anyone on the way could rewrite what an http server says, the realm's whole meaning included.
  if (match[1].toLowerCase() === "http" || port === 0) refuse("RealmRefused");
  return port === null || port === 443 ? `https://${host}` : `https://${host}:${port}`;
}

/** 11 base62 digits that name the realm inside a vault session string. */
export async function realmTag(realm) {
  const digest = await sha256(concat(encodeUtf8("strongroom/1/realm\0"), encodeUtf8(canonicalRealm(realm))));
  return base62(new DataView(digest.buffer).getBigUint64(0), 11);
}

function canonicalHost(host) {
  if (host.startsWith("[")) return canonicalIpv6(host);
  const ascii = /^[\x00-\x7f]*$/.test(host) ? host : parsedHost(host);
  const name = ascii.toLowerCase().replace(/\.$/, "");
  const labels = name.split(".");
  const last = labels.at(-1);
  // A last label that is a number makes an IPv4 address, of which only the dotted form has one spelling.
  if (/^([0-9]+|0x.*)$/.test(last)) {
    const octets = labels.map((label) => (/^(0|[1-9][0-9]{0,2})$/.test(label) ? Number(label) : 256));
    if (octets.length !== 4 || octets.some((octet) => octet > 255)) refuse("RealmRefused");
    return [name, octets[0] === 127];
  }
  if (name.length > 253 || !labels.every((label) => LABEL.test(label))) refuse("RealmRefused");
  return [name, last === "localhost"];
}

function canonicalIpv6(host) {
  if (!/^\[[0-9a-f:.]+\]$/i.test(host)) refuse("RealmRefused");
  // The URL parser compresses the address as RFC 5952 says.
  const address = parsedHost(host);
  return [address, address === "[::1]" || /^\[::ffff:7f[0-9a-f]{2}:/.test(address)];
}

function parsedHost(host) {
  try {
    return new URL(`https://${host}/`).hostname;
  } catch {
    return refuse("RealmRefused");
  }
}
