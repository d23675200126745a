// Brings an element into the window, and keeps it there while the layout around it settles:
// an event out of the window has no exact height yet, and fragments come later.

const SETTLING = 3000; // in milliseconds: after this the page stands
const INPUTS = ["wheel", "touchstart", "pointerdown", "keydown"];

let landing = null;

/** Scroll to an element, in each frame until the page stands or the reader does something. */
export function land(element, block) {
  const mine = { until: performance.now() + SETTLING };
  landing = mine;
  const align = () => {
    if (landing !== mine || performance.now() > mine.until) return;
    element.scrollIntoView({ block, behavior: "instant" });
    requestAnimationFrame(align);
  };
  align();
}

/** Land at the event that the address names. */
function landAtTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target?.matches("article.event")) land(target, "start");
}

for (const each of INPUTS) {
  window.addEventListener(each, () => { landing = null; }, { capture: true, passive: true });
}
// Whoever comes back to a page stands where they were.
if (performance.getEntriesByType("navigation")[0]?.type === "navigate") landAtTarget();
window.addEventListener("hashchange", landAtTarget);
