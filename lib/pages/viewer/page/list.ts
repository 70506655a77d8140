/** A list of any length that keeps only the rows in sight in the page. */
import { element } from './dom.js';

export interface ListOptions {
  label: string;
  /** Pixels; the same for every row. */
  rowHeight: number;
  /** A row without content. */
  createRow(): HTMLElement;
  /** Puts an item into a row, which may have held another. */
  fillRow(row: HTMLElement, item: number): void;
  onSelect(item: number): void;
}

export interface VirtualList {
  node: HTMLElement;
  /** Shows other items; the selected one stays selected where it is among them, else the first is. */
  setItems(items: readonly number[]): void;
  /** Selects an item; false where it is not among those shown. */
  select(item: number): boolean;
}

/** Rows kept above and below those in sight, so that fast scrolling shows no gaps. */
const SPARE_ROWS = 8;

/** How far a key moves: by rows, or to an end. */
function moveOf(key: string, page: number): number | null {
  const moves: Record<string, number> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -Infinity,
    End: Infinity,
  };
  return Object.hasOwn(moves, key) ? moves[key] : null;
}

/** Builds a list box with a single selected option; arrow keys, Page Up and Down, Home and End move it. */
export function createVirtualList(options: ListOptions): VirtualList {
  const { rowHeight } = options;
  const spacer = element('div', { class: 'spacer', role: 'presentation' });
  const node = element(
    'div',
    { class: 'list', role: 'listbox', tabindex: 0, 'aria-label': options.label },
    spacer,
  );
  /** Rows in the page by position. */
  const rows = new Map<number, HTMLElement>();
  let items: readonly number[] = [];
  let selected = 0;
  let isScheduled = false;

  const fill = (row: HTMLElement, position: number): void => {
    row.id = `row-${position}`;
    row.style.transform = `translateY(${position * rowHeight}px)`;
    row.setAttribute('aria-posinset', String(position + 1));
    row.setAttribute('aria-setsize', String(items.length));
    options.fillRow(row, items[position]);
    rows.set(position, row);
  };
  const mark = (position: number, row: HTMLElement): void =>
    row.setAttribute('aria-selected', String(position === selected));

  /** The positions to be in the page: those in sight with some to spare, and the selected one. */
  const wantedPositions = (): Set<number> => {
    const first = Math.max(0, Math.floor(node.scrollTop / rowHeight) - SPARE_ROWS);
    const last = Math.ceil((node.scrollTop + node.clientHeight) / rowHeight) + SPARE_ROWS;
    const wanted = new Set<number>();
    for (let p = first; p < Math.min(last, items.length); p++) wanted.add(p);
    if (items.length > 0) wanted.add(selected);
    return wanted;
  };

  const draw = (): void => {
    isScheduled = false;
    const wanted = wantedPositions();
    const free = [...rows].filter(([position]) => !wanted.has(position));
    for (const [position] of free) rows.delete(position);
    for (const position of wanted) {
      if (rows.has(position)) continue;
      const row = free.pop()?.[1] ?? spacer.appendChild(options.createRow());
      fill(row, position);
    }
    for (const [, row] of free) row.remove();
    for (const [position, row] of rows) mark(position, row);
    if (items.length > 0) node.setAttribute('aria-activedescendant', `row-${selected}`);
    else node.removeAttribute('aria-activedescendant');
  };
  const schedule = (): void => {
    if (!isScheduled) requestAnimationFrame(draw);
    isScheduled = true;
  };

  const reveal = (): void => {
    const top = selected * rowHeight;
    const bottom = top + rowHeight - node.clientHeight;
    if (node.scrollTop > top) node.scrollTop = top;
    else if (node.scrollTop < bottom) node.scrollTop = bottom;
  };
  const moveTo = (position: number): void => {
    if (items.length === 0) return;
    selected = Math.min(items.length - 1, Math.max(0, position));
    reveal();
    draw();
    options.onSelect(items[selected]);
  };

  node.addEventListener('scroll', schedule, { passive: true });
  new ResizeObserver(schedule).observe(node);
  node.addEventListener('keydown', (event) => {
    const move = moveOf(event.key, Math.max(1, Math.floor(node.clientHeight / rowHeight) - 1));
    if (move === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moveTo(selected + move);
  });
  node.addEventListener('click', (event) => {
    const row = event.target instanceof Element ? event.target.closest('[role=option]') : null;
    for (const [position, other] of rows) if (other === row) return moveTo(position);
  });

  return {
    node,
    setItems(newItems) {
      const item = items[selected];
      items = newItems;
      for (const row of rows.values()) row.remove();
      rows.clear();
      spacer.style.height = `${items.length * rowHeight}px`;
      selected = Math.max(0, items.indexOf(item));
      if (items.length > 0) moveTo(selected);
      else draw();
    },
    select(item) {
      const position = items.indexOf(item);
      if (position >= 0) moveTo(position);
      return position >= 0;
    },
  };
}
