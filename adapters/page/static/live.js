// Follows a conversation whose end is shown: new events, what they change above, calls that wait.

import { answerAt, fill } from "./fragments.js";

const PAUSE = 2000; // in milliseconds: so long a service is left alone that did not answer, or that counts
const GAP = 100; // in milliseconds: so far apart the questions for what is new are at least
const NEAR = 48; // in pixels: so near to its end a page goes on with it

const events = document.querySelector("#events");
const line = document.querySelector("#live");
const follows = line.querySelector("input");
const unread = line.querySelector("[data-unread]");
const path = line.dataset.live;

let stream = null;
let pause = 0;
let count = 0; // of new events that the reader has not seen
let loading = null;
let isStale = false;
let totals = 0; // the timer until they are counted anew

const versions = () => [...events.querySelectorAll("article.event")].map((each) => Number(each.id.slice(1)));
const showsEnd = () => events.querySelector("a[data-more]:not([data-before])") === null;
const isAtEnd = () => window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - NEAR;
const counted = (number) => `${number} new event${number === 1 ? "" : "s"}`;

let last = versions().at(-1) ?? 0;

/** Show one of the states of the line, or none. */
function showState(state) {
  for (const each of line.querySelectorAll("[data-state]")) each.hidden = each.dataset.state !== state;
}

function stop() {
  clearTimeout(pause);
  stream?.close();
  stream = null;
}

/** Follow from the last event that is shown, where the page shows the end and somebody looks at it. */
function follow() {
  stop();
  line.hidden = !showsEnd();
  if (line.hidden || document.hidden || !follows.checked) return;
  stream = new EventSource(`${path}/live?after=${last}`);
  stream.addEventListener("message", load);
  stream.addEventListener("error", again);
}

/** Find out why a stream ended, and follow again where it may be. */
async function again() {
  stop();
  pause = setTimeout(async () => {
    const status = await load();
    if (status === 200) follow();
    else if (status !== 401) again();
  }, PAUSE);
}

/** Show what is new, one answer after the other; return the status of the last, 0 where none came. */
function load() {
  isStale = true;
  loading ??= loaded().finally(() => {
    loading = null;
  });
  return loading;
}

async function loaded() {
  let status = 200;
  while (isStale && status === 200) {
    isStale = false;
    const asked = performance.now();
    status = await showChanges();
    // An answer took its time already: what came meanwhile waits for the rest of the gap alone.
    const rest = GAP - (performance.now() - asked);
    if (isStale && rest > 0) await new Promise((over) => setTimeout(over, rest));
  }
  showState(status === 200 ? "" : status === 401 ? "over" : "away");
  // What was erased is shown no more.
  if (status === 404 || status === 410) location.reload();
  return status;
}

async function showChanges() {
  try {
    const first = versions()[0] ?? 1;
    const { status, content } = await answerAt(`${path}/changes?after=${last}&first=${first}`);
    if (status === 200) show(content);
    return status;
  } catch {
    return 0;
  }
}

function show(content) {
  const stayed = isAtEnd();
  const added = content.querySelector('[data-part="new"]');
  document.querySelector("#facts").replaceWith(content.querySelector("#facts"));
  renew(document.querySelector("#approvals"), content.querySelector("#approvals"));
  replace(content.querySelector('[data-part="changed"]'));
  const came = [...added.querySelectorAll("article.event")];
  events.append(...added.children);
  last = Number(added.dataset.last);
  isStale ||= last < Number(added.dataset.version);
  if (came.length) announce(came, stayed);
  refreshTotals();
}

/** Count anew what was used, not at each event: the service reads the whole conversation for it. */
function refreshTotals() {
  const totalsElement = document.querySelector("[data-fragment$='/totals']");
  if (totalsElement === null || totals) return;
  totals = setTimeout(() => {
    totals = 0;
    fill(totalsElement, totalsElement.dataset.fragment);
  }, PAUSE);
}

/** Let what is the same stand, with what was typed into it. */
function renew(old, fresh) {
  const lacks = (parent, child) => ![...parent.children].some((each) => each.outerHTML === child.outerHTML);
  for (const each of [...old.children]) if (lacks(fresh, each)) each.remove();
  for (const each of [...fresh.children]) if (lacks(old, each)) old.append(each);
}

/** Put events that are told otherwise now in their places, each with the headings above it. */
function replace(changed) {
  let headings = [];
  for (const each of [...changed.children]) {
    if (!each.matches("article.event")) {
      headings.push(each);
      continue;
    }
    const old = document.getElementById(each.id);
    if (old !== null) {
      while (old.previousElementSibling?.matches(":not(article, .more)")) old.previousElementSibling.remove();
      old.before(...headings);
      old.replaceWith(each);
    }
    headings = [];
  }
}

/** Go on with the end where the reader was there; else say how much came. */
function announce(came, stayed) {
  line.querySelector("[role=status]").textContent = counted(came.length);
  if (stayed) {
    toEnd();
    requestAnimationFrame(toEnd); // Only now the height of what came is known.
    return;
  }
  if (unread.hidden) unread.href = `#${came[0].id}`;
  count += came.length;
  unread.textContent = counted(count);
  unread.hidden = false;
}

function toEnd() {
  window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}

function seen() {
  count = 0;
  unread.hidden = true;
}

unread.addEventListener("click", () => setTimeout(seen));
document.addEventListener("scroll", () => {
  if (!unread.hidden && isAtEnd()) seen();
}, { passive: true });
document.addEventListener("visibilitychange", follow);
follows.addEventListener("change", follow);
// "Later events" may have brought the end.
new MutationObserver(() => {
  if (stream === null && line.hidden && showsEnd()) {
    last = versions().at(-1) ?? 0;
    follow();
  }
}).observe(events, { childList: true });
follow();
