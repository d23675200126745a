// Keys of all pages: they move, find and explain. None counts in a field, or with a modifier.

import { land } from "./landing.js";

const dialog = document.querySelector("#keys");
const opener = document.querySelector("#show-keys");

const KEYS = {
  j: () => move("article.event", 1, "nearest"),
  k: () => move("article.event", -1, "nearest"),
  n: () => move("h2.exchange", 1, "start"),
  p: () => move("h2.exchange", -1, "start"),
  "/": find,
  "[": () => change(-1),
  "]": () => change(1),
  "{": () => toRequest(-1),
  "}": () => toRequest(1),
  "?": explain,
};

/** Focus the next or previous of some elements, seen from where the reader is. */
function move(selector, by, block) {
  const all = [...document.querySelectorAll(selector)];
  const next = by > 0 ? all.find(followsReader()) : all.findLast(precedesReader());
  if (next === undefined) return;
  next.tabIndex = -1;
  next.focus({ preventScroll: true });
  land(next, block);
}

/** Return the element that the reader is at, or null: then it is the window that tells. */
function elementOfReader() {
  const focused = document.activeElement;
  if (focused?.closest("main") && focused.id !== "main") return focused;
  return document.querySelector("article:target");
}

/** Return a function that tells whether an element comes after where the reader is. */
function followsReader() {
  const element = elementOfReader();
  if (element === null) return (each) => each.getBoundingClientRect().top >= 0;
  return (each) =>
    element.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING && !element.contains(each);
}

/** Return a function that tells whether an element comes before where the reader is. */
function precedesReader() {
  const element = elementOfReader();
  if (element === null) return (each) => each.getBoundingClientRect().bottom < 0;
  return (each) =>
    element.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_PRECEDING && !each.contains(element);
}

function find() {
  const field = document.querySelector("main input[type=search]");
  field?.focus();
  field?.select();
}

/** Go one version earlier or later: on a slider, else by a link that leads there. */
function change(by) {
  const slider = document.querySelector("main input[type=range]");
  if (slider === null) {
    document.querySelector(by < 0 ? "main a[rel=prev]" : "main a[rel=next]")?.click();
    return;
  }
  slider.valueAsNumber += by;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Move a slider to the next or previous of the versions that it marks: the requests that were sent. */
function toRequest(by) {
  const slider = document.querySelector("main input[type=range][list]");
  if (slider === null) return;
  const marks = [...slider.list.options].map((each) => Number(each.value)).sort((a, b) => a - b);
  const at = slider.valueAsNumber;
  const next = by > 0 ? marks.find((each) => each > at) : marks.findLast((each) => each < at);
  if (next !== undefined) change(next - at);
}

/** Show of the keys those that find something on this page, and open their dialog. */
function explain() {
  for (const each of dialog.querySelectorAll("[data-needs]")) {
    each.hidden = document.querySelector(each.dataset.needs) === null;
  }
  dialog.showModal();
}

function isTyping(target) {
  return target.closest("input:not([type=range]), select, textarea, [contenteditable]") !== null;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.isComposing && event.target.matches("input[type=search]")) {
    event.target.blur();
    return;
  }
  // On some keyboards AltGr is needed for [ and ]; it is told as Ctrl and Alt.
  const isModified = event.metaKey || event.ctrlKey || event.altKey;
  if (isModified && !event.getModifierState("AltGraph")) return;
  if (event.defaultPrevented || event.isComposing || dialog.open || isTyping(event.target)) return;
  if (!Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
});

opener.hidden = false;
opener.addEventListener("click", explain);
