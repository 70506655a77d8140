/** The table of runs: sorting and selecting runs, both kept in the address. */
import { byId, h, scrollable, table } from '../../browser/dom.js';

type Settings = Readonly<Record<string, string>>;

const address = (): URLSearchParams => new URLSearchParams(location.hash.slice(1));
function remember(name: string, value: string): void {
  const state = address();
  state.set(name, value);
  history.replaceState(null, '', `#${state}`);
}

/** The text of a cell, or its number; dashes come last. */
const cellKey = (row: HTMLTableRowElement, column: number): number | string => {
  const { dataset, textContent } = row.cells[column];
  return dataset.value === undefined ? textContent.trim() : Number(dataset.value);
};

function sortRows(runs: HTMLTableElement, column: number, isDescending: boolean): void {
  const sign = isDescending ? -1 : 1;
  const compare = (a: number | string, b: number | string): number =>
    typeof a === 'number' && typeof b === 'number'
      ? sign * (a - b)
      : typeof a === typeof b
        ? sign * String(a).localeCompare(String(b), 'en', { numeric: true })
        : typeof a === 'number'
          ? -1
          : 1;
  const body = runs.tBodies[0];
  body.append(...[...body.rows].sort((a, b) => compare(cellKey(a, column), cellKey(b, column))));
  for (const [i, cell] of [...runs.tHead!.rows[0].cells].entries())
    if (i === column) cell.ariaSort = isDescending ? 'descending' : 'ascending';
    else cell.ariaSort = null;
}

/** Shows the settings in which the selected runs differ. */
function showSettings(names: readonly string[]): void {
  const all = JSON.parse(byId('settings-data')!.textContent) as Record<string, Settings>;
  const chosen = names.map((name) => all[name]);
  const differing = [...new Set(chosen.flatMap(Object.keys))].filter(
    (setting) => new Set(chosen.map((settings) => settings[setting])).size > 1,
  );
  const rows = differing.map((setting) =>
    h(
      'tr',
      h('th', { scope: 'row' }, setting),
      chosen.map((settings) => h('td', settings[setting] ?? '–')),
    ),
  );
  const content =
    rows.length > 0
      ? scrollable(
          'Settings',
          table('Settings in which the chosen runs differ.', ['Setting', ...names], rows),
        )
      : h('p', names.length > 1 ? 'All settings are the same.' : 'Choose two runs or more.');
  byId('settings-table')!.replaceChildren(content);
}

/**
 * Makes the table of runs interactive, if there is one.
 * @param redraw called with the selected runs when they change
 * @returns the names of the selected runs; null without a table
 */
export function startRuns(redraw: (names: string[]) => void): string[] | null {
  const runs = byId<HTMLTableElement>('runs-table');
  if (!runs) return null;
  const boxes = [...runs.querySelectorAll<HTMLInputElement>('input[type=checkbox]')];
  const remembered = address().getAll('run');
  if (remembered.length > 0) for (const box of boxes) box.checked = remembered.includes(box.value);
  const chosenNames = (): string[] => boxes.flatMap((box) => (box.checked ? box.value : []));
  const show = (): string[] => {
    const names = chosenNames();
    showSettings(names);
    const query = new URLSearchParams(names.map((name) => ['run', name]));
    byId('compare')?.setAttribute('href', `compare?${query}`);
    return names;
  };
  runs.tBodies[0].onchange = () => {
    const state = address();
    state.delete('run');
    for (const name of chosenNames()) state.append('run', name);
    history.replaceState(null, '', `#${state}`);
    redraw(show());
  };
  const sorted = (): [number, boolean] => {
    const [column, order] = (address().get('sort') ?? '').split(' ');
    const titles = [...runs.tHead!.rows[0].cells].map((cell) => cell.textContent);
    return [titles.indexOf(column.replaceAll('_', ' ')), order === 'descending'];
  };
  for (const [column, cell] of [...runs.tHead!.rows[0].cells].entries())
    cell.querySelector('button')!.onclick = () => {
      const isDescending = cell.ariaSort === null ? column > 0 : cell.ariaSort === 'ascending';
      remember(
        'sort',
        `${cell.textContent.replaceAll(' ', '_')} ${isDescending ? 'descending' : 'ascending'}`,
      );
      sortRows(runs, column, isDescending);
    };
  const [column, isDescending] = sorted();
  if (column >= 0) sortRows(runs, column, isDescending);
  return show();
}
