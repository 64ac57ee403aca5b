// The envelope inspector: explains a value in the page and sends nothing.

import { explain } from "./strongroom/index.js";

const SAMPLES = {
  "Key encryption key":
    "Aes256Gcm.RGBOoUHlt5SN3xt-5TSta9nizRkGuET9u3HjTGSAYng=.LS0tCml2OiAhYmluYXJ5IHwtCiAgZlhQVUdhSm1JOG8xck9kUwphdDogIWJpbmFyeSB8LQogIDY1ZlVlRmRFWnBxM3hDbGRIYVBYaVE9PQphZDogc3IxOmtlazp0NVNKWDh0ZmhROHU5ai1fNmd3NS02Cg==",
  "The same as BSON":
    "Aes256Gcm._XJSLozwJLfl3HIfSaDYaUYWpFbLYii0rdmhi5ZwYGk=.QVoAAAAFaXYADAAAAAC_tRqZCWrtTRRX9U4FYXQAEAAAAABS0NPHC9A1aavlVNqjVTiIAmFkAB8AAABzcjE6a2VrOnQ1U0pYOHRmaFE4dTlqLV82Z3c1LTYAAA==",
  "Derivation artefacts":
    "eyJzYWx0IjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNIiwiaXRlciI6NjAwMDAwLCJsZW5ndGgiOjMyLCJoYXNoIjoiU0hBMjU2In0=",
};

const value = document.getElementById("value");
const result = document.getElementById("result");

function element(name, text, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

function facts(rows) {
  const list = element("dl", "", "facts");
  for (const [name, text] of rows) list.append(element("dt", name), element("dd", text, "mono"));
  return list;
}

async function show() {
  const text = value.value;
  if (text.trim() === "") {
    result.replaceChildren(element("p", "Nothing yet.", "muted"));
    return;
  }
  const { kind, rows, warnings } = await explain(text);
  // A slow answer must not replace the answer to a later input.
  if (value.value !== text) return;
  const title = kind === "unknown" ? "Unknown to this inspector" : kind[0].toUpperCase() + kind.slice(1);
  const notes = warnings.map((warning) => element("p", warning, "notice warn"));
  result.replaceChildren(element("p", title, "kind"), facts(rows), ...notes);
}

value.addEventListener("input", show);
for (const [label, sample] of Object.entries(SAMPLES)) {
  const button = element("button", label, "small quiet");
  button.type = "button";
  button.addEventListener("click", () => {
    value.value = sample;
    show();
  });
  document.getElementById("samples").append(button);
}
// From Try it: the part after the # is in no request, and is removed from the address here.
if (location.hash.length > 1) {
  value.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
}
show();
