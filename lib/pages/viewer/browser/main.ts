/** Starts the viewer: unpacks the data, builds form, list and detail. */
import { plural, countText } from '../../../text/english.js';
import { h, unpackElement } from '../../browser/dom.js';
import type { ViewerData, ViewerTrajectory } from '../data.js';
import { detailNode, signed, verdict } from './detail.js';
import { createFilter, findPartner, orderItems } from './filter.js';
import { createControls, createVirtualList } from './list.js';

/** In pixels, as in the style sheet. */
const ROW_HEIGHT = 68;

function createRow(trajectory: ViewerTrajectory, { labelTitles }: ViewerData) {
  const { question, method, step, exactMatch, numTurns, rewards, labels } = trajectory;
  const shown = labels.map((label) => labelTitles[label]).join(' · ');
  const steps = step === undefined ? [] : [`step ${step}`];
  const facts = [verdict(trajectory), ...steps, plural(numTurns, 'turn'), signed(rewards.total)];
  const methodName = h('span.row-method', { title: method }, method);
  const content = [
    h('span.row-title', { title: question }, question),
    h('span.row-facts', methodName, h('span', facts.join(' · '))),
    h('span.row-labels', { title: shown }, shown),
  ];
  return { className: exactMatch ? 'right' : 'wrong', content };
}

function buildViewer(root: HTMLElement, data: ViewerData): void {
  const filter = createFilter(data);
  const status = h('p.count', { role: 'status' });
  const detail = h('main.detail', { id: 'trajectory', tabindex: 0, 'aria-label': 'Trajectory' });
  let shown: number | null = null;

  /** Writes filters, order and selection to the address, so that it can be shared. */
  const writeAddress = (): void => {
    const filled = Object.entries(controls.values()).filter(([, value]) => value !== '');
    const state = new URLSearchParams(filled);
    // An address without a trajectory shows the first one.
    if (shown !== null && shown !== listed[0]) state.set('trajectory', String(shown));
    const hash = state.size > 0 ? `#${state.toString()}` : '';
    if (hash !== location.hash) history.replaceState(null, '', hash || '#');
  };

  const show = (index: number | null): void => {
    shown = index;
    const method = controls.values().partner;
    const partner = index === null || !method ? null : findPartner(data, index, method);
    const columns = [index, partner].filter((i) => i !== null);
    detail.classList.toggle('two', columns.length > 1);
    detail.replaceChildren(...columns.map((i) => detailNode(i, { data, onPick: pick })));
    if (method && columns.length === 1)
      detail.prepend(h('p.missing', `No other trajectory of ${method} on this question.`));
    detail.scrollTop = 0;
    writeAddress();
  };
  const list = createVirtualList({
    label: 'Trajectories',
    rowHeight: ROW_HEIGHT,
    onSelect: show,
    createRow: (item) => createRow(data.trajectories[item], data),
  });
  const pick = (index: number): void => {
    if (!list.select(index)) show(index);
  };
  const total = countText(data.trajectories.length);
  let listed: readonly number[] = [];
  const refresh = (): void => {
    const values = controls.values();
    listed = orderItems(data, filter(values), values.order);
    status.textContent = `${countText(listed.length)} of ${total} trajectories`;
    list.setItems(listed);
    if (listed.length > 0) return;
    show(null);
    const onclick = () => controls.node.reset();
    const reset = h('button', { type: 'button', onclick }, 'Show all trajectories');
    detail.replaceChildren(
      h('p.missing', 'Nothing found: no trajectory matches the search and all filters.'),
      h('p', reset),
    );
  };
  const controls = createControls(data, refresh, () => show(shown));

  const side = h('section.side', { 'aria-label': 'List' }, status, list.node);
  const about = document.getElementById('about');
  document.querySelector('main.static')?.remove();
  root.replaceChildren(h('header', h('h1', document.title), about, controls.node), side, detail);
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof Element && event.target.matches('input, select');
    if (event.key !== '/' || isTyping) return;
    event.preventDefault();
    controls.search.focus();
  });
  const showAddress = (): void => {
    const address = new URLSearchParams(location.hash.slice(1));
    const wanted = Number(address.get('trajectory') ?? NaN);
    controls.setValues(address);
    refresh();
    if (!list.select(wanted) && listed.length > 0) list.select(listed[0]);
  };
  addEventListener('hashchange', showAddress);
  showAddress();
  list.node.focus();
}

async function start(root: HTMLElement): Promise<void> {
  root.hidden = false;
  try {
    buildViewer(root, (await unpackElement('data').json()) as ViewerData);
    document.getElementById('data')!.remove();
    root.dataset.ready = '';
  } catch (error) {
    root.replaceChildren(
      h('p', { role: 'alert' }, `Cannot show the trajectories: ${String(error)}`),
    );
    throw error;
  }
}

void start(document.getElementById('viewer')!);
