// Tells the clicks that the page's scripts may answer from those that are the browser's.

/**
 * Tell whether a click follows a link in this window, and nothing has answered it yet.
 *
 * With a modifier, or by another button, the browser opens the link elsewhere or saves it.
 */
export function isPlainClick(event) {
  const isModified = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
  return !event.defaultPrevented && event.button === 0 && !isModified;
}
