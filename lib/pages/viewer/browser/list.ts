/** The list of trajectories, and the form that filters it. */
import { range } from 'd3-array';
import { countText } from '../../../text/english.js';
import { h, labelled, select, type Content } from '../../browser/dom.js';
import type { ViewerData } from '../data.js';
import {
  FACETS,
  facetValues,
  labelCounts,
  listMethods,
  ORDER_OPTIONS,
  type Criteria,
} from './filter.js';

/** Name of the labels' check boxes, and of the labels in an address. */
const LABELS = 'labels';

/** Pause in typing after which a search starts, in milliseconds. */
const SEARCH_DELAY_MS = 120;

/**
 * Builds the form.
 * @param onFilter called when the list changes
 * @param onPartner called when the method to compare with changes
 */
export function createControls(data: ViewerData, onFilter: () => void, onPartner: () => void) {
  let timer: ReturnType<typeof setTimeout>;
  const filterLater = (): void => {
    clearTimeout(timer);
    timer = setTimeout(onFilter, SEARCH_DELAY_MS);
  };
  const search = h('input', {
    type: 'search',
    name: 'search',
    placeholder: 'words, "a phrase"',
    autocomplete: 'off',
    oninput: filterLater,
  });
  const choice = (
    name: string,
    label: string,
    options: Parameters<typeof select>[1],
    onchange: () => void,
  ): HTMLElement => {
    const control = select(name, options);
    control.addEventListener('change', onchange);
    return labelled(label, control);
  };
  const facets = FACETS.flatMap((facet) => {
    const { key, label, valueTitle = (value) => value } = facet;
    const options = facetValues(data, facet).map(([value, n]): [string, string] => {
      return [value, `${valueTitle(value, data)} (${countText(n)})`];
    });
    return options.length > 1 ? [choice(key, label, [['', 'all'], ...options], onFilter)] : [];
  });
  const chips = labelCounts(data).map(([label, n]) =>
    h(
      'label.chip',
      { title: data.labelMeanings[label] ?? false },
      h('input', { type: 'checkbox', name: LABELS, value: label, onchange: onFilter }),
      `${data.labelTitles[label]} (${countText(n)})`,
    ),
  );
  const methods = listMethods(data).map((name) => [name, name] as const);
  // Only visible in narrow windows, where the style sheet hides the rest of the form.
  const fold = h('button.fold', { type: 'button', 'aria-expanded': 'false' }, 'Filters');
  fold.addEventListener('click', () => {
    fold.setAttribute('aria-expanded', String(fold.getAttribute('aria-expanded') === 'false'));
  });
  const node: HTMLFormElement = h(
    'form.controls',
    {
      role: 'search',
      'aria-label': 'Filter trajectories',
      onsubmit: (event) => event.preventDefault(),
      onreset: () => setTimeout(onFilter), // the controls are reset after the event
    },
    labelled('Search', search),
    fold,
    facets,
    choice('order', 'Sort by', [['', 'as recorded'], ...ORDER_OPTIONS], onFilter),
    choice('partner', 'Compare with', [['', 'nothing'], ...methods], onPartner),
    h('button', { type: 'reset' }, 'Reset'),
    chips.length > 0 && h('fieldset.chips', h('legend', 'Behaviour'), chips),
  );
  return {
    node,
    search,
    /** The criteria, with the `order` and the method to compare with as `partner`. */
    values: (): Criteria => {
      const form = new FormData(node);
      const labels = form.getAll(LABELS) as string[];
      return { ...(Object.fromEntries(form) as Criteria), [LABELS]: labels.join(',') };
    },
    /** Applies an address (`#search=...&method=...`), ignoring unknown values. */
    setValues(wanted: URLSearchParams): void {
      const labels = wanted.get(LABELS)?.split(',') ?? [];
      for (const control of node.elements)
        if (control instanceof HTMLInputElement && control.type === 'checkbox')
          control.checked = labels.includes(control.value);
        else if (control instanceof HTMLInputElement || control instanceof HTMLSelectElement)
          control.value = '';
      for (const [name, value] of wanted) {
        if (name === LABELS) continue;
        const control = node.elements.namedItem(name);
        const isOption =
          control instanceof HTMLSelectElement &&
          [...control.options].some((option) => option.value === value);
        if (control instanceof HTMLInputElement || isOption) control.value = value;
      }
    },
  };
}

interface ListOptions {
  label: string;
  /** In pixels. */
  rowHeight: number;
  createRow: (item: number) => { className: string; content: Content };
  onSelect: (item: number) => void;
}

/** Rows kept outside the visible part, so that fast scrolling shows no gaps. */
const SPARE_ROWS = 8;

/**
 * A list box of any length that only keeps the visible rows in the page. Arrow keys, Page
 * Up and Down, Home and End move the selection.
 */
export function createVirtualList({ label, rowHeight, createRow, onSelect }: ListOptions) {
  const spacer = h('div.spacer', { role: 'presentation' });
  const node = h('div.list', { role: 'listbox', tabindex: 0, 'aria-label': label }, spacer);
  let items: readonly number[] = [];
  let selected = 0;
  let isScheduled = false;

  const rowNode = (position: number): HTMLElement => {
    const { className, content } = createRow(items[position]);
    const attributes = {
      id: `row-${position}`,
      role: 'option',
      style: `transform: translateY(${position * rowHeight}px)`,
      'aria-posinset': position + 1,
      'aria-setsize': items.length,
      'aria-selected': String(position === selected),
      onclick: () => moveTo(position),
    };
    return h(`div.row.${className}`, attributes, content);
  };
  const draw = (): void => {
    isScheduled = false;
    const first = Math.floor(node.scrollTop / rowHeight) - SPARE_ROWS;
    const last = Math.ceil((node.scrollTop + node.clientHeight) / rowHeight) + SPARE_ROWS;
    const visible = range(Math.max(0, first), Math.min(last, items.length));
    const drawn = new Set(items.length > 0 ? [...visible, selected] : []);
    spacer.replaceChildren(...[...drawn].map(rowNode));
    if (items.length > 0) node.setAttribute('aria-activedescendant', `row-${selected}`);
    else node.removeAttribute('aria-activedescendant');
  };
  const schedule = (): void => {
    if (!isScheduled) requestAnimationFrame(draw);
    isScheduled = true;
  };
  const moveTo = (position: number): void => {
    selected = Math.min(items.length - 1, Math.max(0, position));
    const top = selected * rowHeight;
    node.scrollTop = Math.max(top + rowHeight - node.clientHeight, Math.min(top, node.scrollTop));
    draw();
    onSelect(items[selected]);
  };

  node.addEventListener('scroll', schedule, { passive: true });
  new ResizeObserver(schedule).observe(node);
  node.addEventListener('keydown', (event) => {
    const page = Math.max(1, Math.floor(node.clientHeight / rowHeight) - 1);
    const moves: Record<string, number | undefined> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const move = moves[event.key];
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey || items.length === 0)
      return;
    event.preventDefault();
    moveTo(selected + move);
  });

  return {
    node,
    /** Shows other items; keeps the selection if possible, or selects the first. */
    setItems(newItems: readonly number[]): void {
      const item = items[selected];
      items = newItems;
      spacer.style.height = `${items.length * rowHeight}px`;
      selected = Math.max(0, items.indexOf(item));
      if (items.length > 0) moveTo(selected);
      else draw();
    },
    /** Selects an item; returns false if it is not listed. */
    select(item: number): boolean {
      const position = items.indexOf(item);
      if (position >= 0) moveTo(position);
      return position >= 0;
    },
  };
}
