// A slider over the versions of a conversation: shows the request that the model saw at each.

import { fill } from "./fragments.js";

const PAUSE = 150; // in milliseconds: so long the slider rests before a request is asked for

const form = document.querySelector("form[data-slider]");
const place = document.querySelector(form.dataset.slider);
const { at, api, exchanges } = form.elements;
let asked = new AbortController();
let pause = 0;

function show() {
  asked.abort();
  asked = new AbortController();
  const query = new URLSearchParams({ at: at.value });
  if (exchanges.value) query.set("exchanges", exchanges.value);
  const base = form.getAttribute("action");
  fill(place, `${base}/${encodeURIComponent(api.value)}?${query}`, asked.signal);
  query.set("api", api.value);
  history.replaceState(null, "", `${base}?${query}`);
}

at.addEventListener("input", () => {
  form.querySelector("output").textContent = at.value;
  clearTimeout(pause);
  pause = setTimeout(show, PAUSE);
});
api.addEventListener("change", show);
exchanges.addEventListener("change", show);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});
