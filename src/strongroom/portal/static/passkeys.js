// Passkeys: fetches the options, lets the browser ask its user, and sends the proof. Forms marked data-passkey appear
// only where this can work.

async function post(form, path, fields) {
  const body = new URLSearchParams(new FormData(form));
  for (const [name, value] of Object.entries(fields)) {
    body.set(name, value);
  }
  const answer = await fetch(path, { method: "POST", body, credentials: "same-origin" });
  const type = answer.headers.get("content-type") ?? "";
  const data = type.startsWith("application/json") ? await answer.json() : {};
  if (!answer.ok) {
    throw new Error(data.error ?? "The portal refused this. Load the page again and retry.");
  }
  return data;
}

const ceremonies = {
  async make(options) {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    return navigator.credentials.create({ publicKey });
  },
  async use(options) {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    return navigator.credentials.get({ publicKey });
  },
};

function show(form, text) {
  const place = form.querySelector("[data-error]");
  place.textContent = text;
  place.hidden = text === "";
}

async function run(form) {
  const path = form.getAttribute("action");
  const button = form.querySelector("button[type=submit]");
  show(form, "");
  button.disabled = true;
  try {
    const options = await post(form, `${path}/options`, {});
    const credential = await ceremonies[form.dataset.passkey](options);
    const { next } = await post(form, path, { credential: JSON.stringify(credential.toJSON()) });
    location.assign(next);
  } catch (error) {
    // The browser's error when the user closes the dialogue, or after a time-out.
    const closed = error.name === "NotAllowedError" || error.name === "AbortError";
    show(form, closed ? "Nothing was changed: the request was cancelled." : error.message);
    button.disabled = false;
  }
}

const works = Boolean(window.PublicKeyCredential?.parseRequestOptionsFromJSON);
for (const notice of document.querySelectorAll("[data-unsupported]")) {
  notice.hidden = works;
}
if (works) {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      run(form);
    });
  }
}
