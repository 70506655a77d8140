/** Starts the viewer: unpacks the data, builds the controls, the list and the place for the trajectory. */
import type { ViewerData } from '../data.js';
import { createControls } from './controls.js';
import { detailNode } from './detail.js';
import { element, signed } from './dom.js';
import { createFilter } from './filter.js';
import { createGroups } from './groups.js';
import { createVirtualList } from './list.js';
import { loadData } from './load.js';

/** Pixels; the style sheet gives rows the same height. */
const ROW_HEIGHT = 58;

function createRow(): HTMLElement {
  const lines = ['row-title', 'row-facts'].map((name) => element('span', { class: name }));
  return element('div', { class: 'row', role: 'option' }, ...lines);
}

function rowFiller(data: ViewerData): (row: HTMLElement, item: number) => void {
  return (row, item) => {
    const { question, method, step, exactMatch, numTurns, rewards, signs } = data.trajectories[item];
    const turns = `${numTurns} ${numTurns === 1 ? 'turn' : 'turns'}`;
    const facts = [
      exactMatch ? '✓ right' : '✗ wrong',
      method,
      step === null ? null : `step ${step}`,
      turns,
      signed(rewards.total),
      signs.length > 0 ? `⚑ ${signs.length}` : null,
    ];
    row.className = `row ${exactMatch ? 'right' : 'wrong'}`;
    row.children[0].textContent = data.questions[question].question;
    row.children[1].textContent = facts.filter((fact) => fact !== null).join(' · ');
  };
}

function buildViewer(root: HTMLElement, data: ViewerData): void {
  const groups = createGroups(data);
  const filter = createFilter(data);
  const status = element('p', { class: 'count', role: 'status' });
  const detail = element('main', {
    id: 'trajectory',
    class: 'detail',
    tabindex: 0,
    'aria-label': 'Trajectory',
  });
  let shown: number | null = null;

  const show = (index: number | null): void => {
    shown = index;
    const method = controls.partner();
    const partner = index === null || method === null ? null : groups.partnerOf(index, method);
    const columns = [index, partner].filter((i) => i !== null);
    const articles = columns.map((i) => detailNode(i, { data, groups, onPick: pick }));
    const missing =
      method !== null && index !== null && partner === null
        ? element('p', { class: 'missing' }, `${method} has no other trajectory on this question.`)
        : null;
    detail.classList.toggle('two', columns.length > 1);
    detail.replaceChildren(...[missing, ...articles].filter((node) => node !== null));
    detail.scrollTop = 0;
  };
  const list = createVirtualList({
    label: 'Trajectories',
    rowHeight: ROW_HEIGHT,
    createRow,
    fillRow: rowFiller(data),
    onSelect: show,
  });
  const pick = (index: number): void => {
    if (!list.select(index)) show(index);
  };
  const total = data.trajectories.length.toLocaleString('en');
  const refresh = (): void => {
    const items = filter(controls.criteria());
    status.textContent = `${items.length.toLocaleString('en')} of ${total} trajectories`;
    list.setItems(items);
    if (items.length === 0) show(null);
  };
  const controls = createControls(data, refresh, () => show(shown));

  const side = element('section', { class: 'side', 'aria-label': 'Listed trajectories' }, status, list.node);
  const about = document.getElementById('about');
  const header = element('header', {}, element('h1', {}, document.title), about, controls.node);
  document.querySelector('main.static')?.remove();
  root.replaceChildren(header, side, detail);
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof Element && event.target.matches('input, select');
    if (event.key !== '/' || isTyping) return;
    event.preventDefault();
    controls.focusSearch();
  });
  refresh();
  list.node.focus();
}

async function start(): Promise<void> {
  const root = document.getElementById('viewer')!;
  root.hidden = false;
  try {
    buildViewer(root, await loadData());
    root.dataset.ready = '';
  } catch (error) {
    root.replaceChildren(
      element('p', { role: 'alert' }, `The trajectories could not be unpacked: ${String(error)}`),
    );
    throw error;
  }
}

void start();
