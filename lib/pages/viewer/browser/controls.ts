/** The form above the list: search, a choice a facet, and whom to read beside. */
import { h, labelled, select } from '../../../html/browser/dom.js';
import type { ViewerData } from '../data.js';
import { facetValues, FACETS, type Criteria } from './filter.js';
import { methodsOf } from './groups.js';

type Options = Parameters<typeof select>[1];

/** Milliseconds of rest after which a search begins. */
const SEARCH_DELAY_MS = 120;

/**
 * Builds the form; `onFilter` is called when the list changes, `onPartner` when whom to
 * read beside does.
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
    options: Options,
    onchange: () => void,
  ): HTMLElement => {
    const control = select(name, options);
    control.addEventListener('change', onchange);
    return labelled(label, control);
  };
  // A facet with a single value chooses nothing.
  const facets = FACETS.map((facet) => ({ ...facet, values: facetValues(data, facet) }))
    .filter(({ values }) => values.length > 1)
    .map(({ key, label, values, nameOf = (value) => value }) => {
      const counts = values.map(
        ([value, n]) => [value, `${nameOf(value)} (${n.toLocaleString('en')})`] as const,
      );
      return choice(key, label, [['', 'all'], ...counts], onFilter);
    });
  const methods = methodsOf(data).map((name) => [name, name] as const);
  // Only a narrow window shows this button; there the style sheet hides what it folds.
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
      // The controls have their first values only after the event.
      onreset: () => setTimeout(onFilter),
    },
    labelled('Search', search),
    fold,
    facets,
    choice('partner', 'Side by side with', [['', 'nobody'], ...methods], onPartner),
    h('button', { type: 'reset' }, 'Reset'),
  );
  return {
    node,
    /**
     * What is wanted of the list, and as `partner` the method to be read beside, or
     * nothing.
     */
    values: () => Object.fromEntries(new FormData(node)) as Criteria,
    /**
     * Asks for what an address names, such as `#search=...&method=...&partner=...`; names
     * and values that there are not change nothing.
     */
    setValues: (wanted: URLSearchParams): void => {
      for (const [name, value] of wanted) {
        const control = node.elements.namedItem(name);
        if (control instanceof HTMLInputElement) control.value = value;
        if (
          control instanceof HTMLSelectElement &&
          [...control.options].some((one) => one.value === value)
        )
          control.value = value;
      }
    },
    focusSearch: (): void => search.focus(),
  };
}
