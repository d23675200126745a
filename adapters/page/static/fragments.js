// Loads fragments of the page from this service, and puts them in by the one Trusted Types policy.

import { isPlainClick } from "./clicks.js";

const policy = window.trustedTypes
  ? window.trustedTypes.createPolicy("onrecord", { createHTML: (html) => html })
  : { createHTML: (html) => html };

/**
 * Return the fragment at a path of this origin, and its status.
 *
 * Of a page it is what `data-as-fragment` marks, else its `main`, as of an error's page.
 */
export async function answerAt(path, signal) {
  const url = new URL(path, location.href);
  if (url.origin !== location.origin) throw new Error("a fragment is of this origin");
  const answer = await fetch(url, { headers: { accept: "text/html" }, signal });
  const parsed = new DOMParser().parseFromString(
    policy.createHTML(await answer.text()),
    "text/html",
  );
  const content = document.createDocumentFragment();
  const part = parsed.querySelector("[data-as-fragment]") ?? parsed.querySelector("main");
  content.append(...(part ?? parsed.body).childNodes);
  return { status: answer.status, content };
}

/** Return the fragment at a path of this origin. */
export async function fragmentAt(path, signal) {
  return (await answerAt(path, signal)).content;
}

/** Put the fragment at a path in place of what an element has. */
export async function fill(element, path, signal) {
  element.setAttribute("aria-busy", "true");
  try {
    element.replaceChildren(await fragmentAt(path, signal));
    element.dispatchEvent(new CustomEvent("filled", { bubbles: true }));
  } catch (error) {
    if (error.name !== "AbortError") element.textContent = "This could not be loaded.";
  } finally {
    // Who asked again meanwhile still waits.
    if (!signal?.aborted) element.removeAttribute("aria-busy");
  }
}

/** Put the fragment that a link names in place of the element that holds the link. */
async function more(link) {
  const holder = link.closest("[data-holder]") ?? link;
  if (holder.getAttribute("aria-busy") === "true") return;
  holder.setAttribute("aria-busy", "true");
  try {
    const above = document.body.scrollHeight - window.scrollY;
    const isBefore = link.hasAttribute("data-before");
    holder.replaceWith(await fragmentAt(link.dataset.more));
    if (isBefore) window.scrollTo(0, document.body.scrollHeight - above);
  } catch {
    holder.removeAttribute("aria-busy");
    location.assign(link.href);
  }
}

// `<a data-more="path of a fragment">` puts more where it stands; `<a data-into="#id">` fills another
// element with a part of the page that it leads to.
document.addEventListener("click", (event) => {
  if (!isPlainClick(event)) return;
  const link = event.target.closest("a[data-more], a[data-into]");
  if (link === null) return;
  const target = link.dataset.into && document.querySelector(link.dataset.into);
  if (!link.dataset.more && !target) return;
  event.preventDefault();
  if (link.dataset.more) more(link);
  else fill(target, link.href);
});

// `<section data-fragment="path">` is filled once the page is there.
for (const element of document.querySelectorAll("[data-fragment]")) {
  fill(element, element.dataset.fragment);
}
