/** A list of any length that keeps only the rows in sight in the page. */
import { range } from 'd3-array';
import { h, type Content } from '../../../html/browser/dom.js';

export interface ListOptions {
  label: string;
  /** Pixels; the same for every row. */
  rowHeight: number;
  /** What an item's row holds, and a class of it. */
  rowOf: (item: number) => { className: string; content: Content };
  onSelect: (item: number) => void;
}

/** Rows kept above and below those in sight, so that fast scrolling shows no gaps. */
const SPARE_ROWS = 8;

/**
 * Builds a list box with a single selected option; arrow keys, Page Up and Down, Home and
 * End move it.
 */
export function createVirtualList({ label, rowHeight, rowOf, onSelect }: ListOptions) {
  const spacer = h('div.spacer', { role: 'presentation' });
  const node = h('div.list', { role: 'listbox', tabindex: 0, 'aria-label': label }, spacer);
  let items: readonly number[] = [];
  let selected = 0;
  let isScheduled = false;

  const createRow = (position: number): HTMLElement => {
    const { className, content } = rowOf(items[position]);
    const style = `transform: translateY(${position * rowHeight}px)`;
    const place = { 'aria-posinset': position + 1, 'aria-setsize': items.length };
    const selection = {
      'aria-selected': String(position === selected),
      onclick: () => moveTo(position),
    };
    const attributes = { id: `row-${position}`, role: 'option', style, ...place, ...selection };
    return h(`div.row.${className}`, attributes, content);
  };

  const draw = (): void => {
    isScheduled = false;
    const first = Math.floor(node.scrollTop / rowHeight) - SPARE_ROWS;
    const last = Math.ceil((node.scrollTop + node.clientHeight) / rowHeight) + SPARE_ROWS;
    const inSight = range(Math.max(0, first), Math.min(last, items.length));
    const shown = new Set(items.length > 0 ? [...inSight, selected] : []);
    spacer.replaceChildren(...[...shown].map(createRow));
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
    const [home, end] = [-Infinity, Infinity];
    const moves = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: home,
      End: end,
    };
    const move = moves[event.key as keyof typeof moves] as number | undefined;
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey || items.length === 0)
      return;
    event.preventDefault();
    moveTo(selected + move);
  });

  return {
    node,
    /**
     * Shows other items; the selected one stays selected where it is among them, else the
     * first is.
     */
    setItems(newItems: readonly number[]): void {
      const item = items[selected];
      items = newItems;
      spacer.style.height = `${items.length * rowHeight}px`;
      selected = Math.max(0, items.indexOf(item));
      if (items.length > 0) moveTo(selected);
      else draw();
    },
    /** Selects an item; false where it is not among those shown. */
    select(item: number): boolean {
      const position = items.indexOf(item);
      if (position >= 0) moveTo(position);
      return position >= 0;
    },
  };
}
