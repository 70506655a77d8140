/** Milliseconds between two questions to the server. */
export const POLL_MS = 2000;

/**
 * Asks for the changed part of the page and puts it in place: what is unfolded stays so, the focus stays where it is. The
 * reader can switch it off.
 */
export const LIVE_SCRIPT = `
const live = document.getElementById('live');
const liveStatus = document.getElementById('live-status');
const unfoldable = () => [...document.querySelectorAll('#run details')];
const focusable = () => [...document.querySelectorAll('#run :is(a, button, summary, [tabindex])')];
async function showNews(html) {
  const open = unfoldable().map((details) => details.open);
  const focused = focusable().indexOf(document.activeElement);
  document.getElementById('run').outerHTML = html;
  unfoldable().forEach((details, i) => (details.open = open[i] ?? false));
  await drawCharts();
  focusable()[focused]?.focus({ preventScroll: true });
  liveStatus.textContent = document.getElementById('progress').textContent;
}
async function askForNews() {
  try {
    const { version } = document.getElementById('run').dataset;
    const response = live.checked ? await fetch('content?version=' + encodeURIComponent(version)) : null;
    if (response?.status === 200) await showNews(await response.text());
  } catch {
    liveStatus.textContent = 'Nobody answers: the run has ended or was stopped. Its report is report.html in its folder.';
  }
  setTimeout(askForNews, ${POLL_MS});
}
setTimeout(askForNews, ${POLL_MS});
`;
