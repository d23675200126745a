// A slider over the versions of a conversation: shows the request that the model saw at each.

import { fill } from "./fragments.js";

const PAUSE = 150; // in milliseconds: so long the slider rests before a request is asked for

const form = document.querySelector("form[data-slider]");
const requestElement = document.querySelector(form.dataset.slider);
const { at, api } = form.elements;
const FIELDS = ["api", "exchanges", "messages", "strategy"];
let isChosen = "chosen" in form.dataset;
let loading = new AbortController();
let restTimer = 0;

/** Return the query that the form asks with: what is left open is not in it. */
function queryOfForm() {
  const query = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...query]) if (!value) query.delete(name);
  // Without a choice of an API or a window, each request is shown as it was sent.
  if (!isChosen) for (const name of FIELDS) query.delete(name);
  if (!query.has("messages")) query.delete("strategy");
  return query;
}

function show() {
  loading.abort();
  loading = new AbortController();
  const base = form.getAttribute("action");
  const query = queryOfForm();
  history.replaceState(null, "", `${base}?${query}`);
  query.delete("api"); // The path of the fragment names it.
  const apiOrSent = isChosen ? api.value : "sent";
  fill(requestElement, `${base}/${encodeURIComponent(apiOrSent)}?${query}`, loading.signal);
}

/** Set the fields to what the request that is shown was made with. */
requestElement.addEventListener("filled", () => {
  const sum = requestElement.querySelector(".seen-sum");
  if (isChosen || sum === null) return;
  for (const name of FIELDS) {
    const field = form.elements[name];
    const value = sum.dataset[name];
    field.value = value;
    if (field.value !== value) field.add(new Option(value, value, true, true));
  }
});

at.addEventListener("input", () => {
  form.querySelector("output").textContent = at.value;
  requestElement.setAttribute("aria-busy", "true");
  clearTimeout(restTimer);
  restTimer = setTimeout(show, PAUSE);
});
form.addEventListener("change", ({ target }) => {
  if (target === at) return;
  isChosen = true;
  // A window counts exchanges or messages: the one that is chosen last.
  if (target.dataset.instead && target.value) form.elements[target.dataset.instead].value = "";
  show();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});

// The form of a comparison comes with each request that is shown.
requestElement.addEventListener("submit", (event) => {
  const compareForm = event.target.closest("form[data-into]");
  if (compareForm === null) return;
  event.preventDefault();
  const query = new URLSearchParams(new FormData(compareForm));
  fill(document.querySelector(compareForm.dataset.into), `${compareForm.getAttribute("action")}?${query}`);
});
