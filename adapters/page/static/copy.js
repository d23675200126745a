// `<a data-copy="what it is">` puts the text that it leads to on the clipboard, and says so.

import { isPlainClick } from "./clicks.js";

const status = document.querySelector("#copied");

async function copy(link) {
  status.textContent = "";
  try {
    const answer = await fetch(link.href);
    if (!answer.ok) throw new Error("there is no such text");
    await navigator.clipboard.writeText(await answer.text());
    status.textContent = `Copied: ${link.dataset.copy}.`;
  } catch {
    // There is no clipboard without TLS. Then the text is shown, as it is without JavaScript.
    location.assign(link.href);
  }
}

document.addEventListener("click", (event) => {
  if (!isPlainClick(event)) return;
  const link = event.target.closest("a[data-copy]");
  if (link === null) return;
  event.preventDefault();
  copy(link);
});
