// Follows a conversation whose end is shown: new events, what they change above, calls that wait.

import { answerAt, fill } from "./fragments.js";

const PAUSE = 2000; // in milliseconds: so long a service is left alone that did not answer, or that counts
const GAP = 100; // in milliseconds: so far apart the questions for what is new are at least
const NEAR = 48; // in pixels: so near to its end a page goes on with it

const events = document.querySelector("#events");
const statusLine = document.querySelector("#live");
const followBox = statusLine.querySelector("input");
const unread = statusLine.querySelector("[data-unread]");
const path = statusLine.dataset.live;

let stream = null;
let retryTimer = 0;
let unreadCount = 0; // of new events that the reader has not seen
let loading = null;
let isStale = false;
let totalsTimer = 0; // until the totals are counted anew

const versions = () => [...events.querySelectorAll("article.event")].map((each) => Number(each.id.slice(1)));
const showsEnd = () => events.querySelector("a[data-more]:not([data-before])") === null;
const isAtEnd = () => window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - NEAR;
const counted = (number) => `${number} new event${number === 1 ? "" : "s"}`;

let last = versions().at(-1) ?? 0;

/** Show one of the states of the status line, or none. */
function showState(state) {
  for (const each of statusLine.querySelectorAll("[data-state]")) each.hidden = each.dataset.state !== state;
}

function stop() {
  clearTimeout(retryTimer);
  stream?.close();
  stream = null;
}

/** Follow from the last event that is shown, where the page shows the end and somebody looks at it. */
function follow() {
  stop();
  statusLine.hidden = !showsEnd();
  if (statusLine.hidden || document.hidden || !followBox.checked) return;
  stream = new EventSource(`${path}/live?after=${last}`);
  stream.addEventListener("message", load);
  stream.addEventListener("error", reconnect);
}

/** Find out why a stream ended, and follow again where it may be. */
function reconnect() {
  stop();
  retryTimer = setTimeout(async () => {
    const status = await load();
    if (status === 200) follow();
    else if (status !== 401) reconnect();
  }, PAUSE);
}

/** Show what is new, one answer after the other; return the status of the last, 0 where none came. */
function load() {
  isStale = true;
  loading ??= loadAll().finally(() => {
    loading = null;
  });
  return loading;
}

/** Load until nothing is new any more; return the status of the last answer. */
async function loadAll() {
  let status = 200;
  while (isStale && status === 200) {
    isStale = false;
    const startedAt = performance.now();
    status = await showChanges();
    // What came meanwhile waits for the rest of the gap; a slow service rests as long as it took to answer.
    const took = performance.now() - startedAt;
    if (isStale) await new Promise((resolve) => setTimeout(resolve, Math.max(GAP - took, took)));
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
  const wasAtEnd = isAtEnd();
  const added = content.querySelector('[data-part="new"]');
  document.querySelector("#facts").replaceWith(content.querySelector("#facts"));
  renew(document.querySelector("#approvals"), content.querySelector("#approvals"));
  replace(content.querySelector('[data-part="changed"]'));
  const newEvents = [...added.querySelectorAll("article.event")];
  events.append(...added.children);
  last = Number(added.dataset.last);
  isStale ||= last < Number(added.dataset.version);
  if (newEvents.length) announce(newEvents, wasAtEnd);
  refreshTotals();
}

/** Count anew what was used, not at each event: the service reads the whole conversation for it. */
function refreshTotals() {
  const totalsElement = document.querySelector("[data-fragment$='/totals']");
  if (totalsElement === null || totalsTimer) return;
  totalsTimer = setTimeout(() => {
    totalsTimer = 0;
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
function announce(newEvents, wasAtEnd) {
  statusLine.querySelector("[role=status]").textContent = counted(newEvents.length);
  if (wasAtEnd) {
    toEnd();
    requestAnimationFrame(toEnd); // Only now the height of what came is known.
    return;
  }
  if (unread.hidden) unread.href = `#${newEvents[0].id}`;
  unreadCount += newEvents.length;
  unread.textContent = counted(unreadCount);
  unread.hidden = false;
}

function toEnd() {
  window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}

function clearUnread() {
  unreadCount = 0;
  unread.hidden = true;
}

unread.addEventListener("click", () => setTimeout(clearUnread));
document.addEventListener("scroll", () => {
  if (!unread.hidden && isAtEnd()) clearUnread();
}, { passive: true });
document.addEventListener("visibilitychange", follow);
followBox.addEventListener("change", follow);
// "Later events" may have brought the end.
new MutationObserver(() => {
  if (stream === null && statusLine.hidden && showsEnd()) {
    last = versions().at(-1) ?? 0;
    follow();
  }
}).observe(events, { childList: true });
follow();
