/** Keeps a live page up to date until the reader unticks the box. */
import { byId } from '../../browser/dom.js';

type Control = HTMLInputElement | HTMLSelectElement;
const all = <E extends HTMLElement>(selector: string): E[] => [
  ...document.querySelectorAll<E>(`#run ${selector}`),
];
const details = () => all<HTMLDetailsElement>('details');
const controls = () => all<Control>(':is(input, select)[id]');
const focusable = () => all(':is(a, button, summary, input, select, [tabindex])');

/** Returns a function that copies this control's state to another one. */
function controlState(from: Control): (to: Control) => void {
  const { value } = from;
  if (from instanceof HTMLSelectElement) return (to) => (to.value = value);
  const { max, checked, type } = from;
  // A slider at its end stays at the end.
  if (type === 'range' && value === max) return () => undefined;
  return (to) => {
    const input = to as HTMLInputElement;
    // Another run may have fewer steps.
    if (type === 'range' && Number(max) > Number(input.max)) input.max = max;
    Object.assign(input, { value, checked });
  };
}

/** Replaces the content, keeping unfolded details, controls and the focus. */
async function update(html: string, start: () => Promise<void>): Promise<void> {
  const open = details().map((element) => element.open);
  const states = new Map(controls().map((control) => [control.id, controlState(control)]));
  const focused = focusable().findIndex((element) => element === document.activeElement);
  byId('run')!.outerHTML = html;
  details().forEach((element, i) => (element.open = open[i] ?? false));
  for (const control of controls()) states.get(control.id)?.(control);
  await start();
  focusable()[focused]?.focus({ preventScroll: true });
  byId('live-status')!.textContent = byId('progress')?.textContent ?? '';
}

/** @param start called again for new content */
export function keepLive(start: () => Promise<void>): void {
  const live = byId<HTMLInputElement>('live');
  if (!live) return;
  const poll = async (): Promise<void> => {
    if (!live.checked) return;
    const { version = '', source = '' } = byId('run')!.dataset;
    const response = await fetch(`${source}version=${encodeURIComponent(version)}`);
    if (response.status === 200) await update(await response.text(), start);
  };
  const keepPolling = async (): Promise<void> => {
    const offline = 'No response: the server has ended.';
    await poll().catch(() => (byId('live-status')!.textContent = offline));
    setTimeout(() => void keepPolling(), Number(live.dataset.pollMs));
  };
  setTimeout(() => void keepPolling(), Number(live.dataset.pollMs));
}
