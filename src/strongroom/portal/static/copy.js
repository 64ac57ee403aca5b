// Copy buttons: shown only where copying works; each confirms a copy for a moment.

const SHOWN_FOR = 2000;

function announce(button) {
  const label = button.firstChild;
  const before = label.textContent;
  label.textContent = "Copied";
  button.setAttribute("aria-live", "polite");
  setTimeout(() => {
    label.textContent = before;
  }, SHOWN_FOR);
}

if (navigator.clipboard) {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      announce(button);
    });
  }
}
