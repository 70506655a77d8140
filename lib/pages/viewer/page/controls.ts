/** The form above the list: search, a choice a facet, and whom to read beside. */
import { h, labelled, select } from '../../../html/browser/dom.js';
import type { ViewerData } from '../data.js';
import { facetValues, FACETS, type Criteria } from './filter.js';
import { methodsOf } from './groups.js';

/** Milliseconds of rest after which a search begins. */
const SEARCH_DELAY_MS = 120;

/** Builds the form; `onFilter` is called when the list changes, `onPartner` when whom to read beside does. */
export function createControls(data: ViewerData, onFilter: () => void, onPartner: () => void) {
  let timer: ReturnType<typeof setTimeout>;
  const filterLater = (): void => {
    clearTimeout(timer);
    timer = setTimeout(onFilter, SEARCH_DELAY_MS);
  };
  const search = h('input', {
    ...{ type: 'search', name: 'search', placeholder: 'words, "a phrase"', autocomplete: 'off' },
    oninput: filterLater,
  });
  // A facet with a single value chooses nothing.
  const facets = FACETS.map((facet) => ({ ...facet, values: facetValues(data, facet) }))
    .filter(({ values }) => values.length > 1)
    .map(({ key, label, values, nameOf = (value) => value }) => {
      const options = values.map(
        ([value, count]) => [value, `${nameOf(value)} (${count.toLocaleString('en')})`] as const,
      );
      const control = select(key, [['', 'all'], ...options]);
      control.addEventListener('change', onFilter);
      return { key, label, control };
    });
  const partner = select('partner', [
    ['', 'nobody'],
    ...methodsOf(data).map((name) => [name, name] as const),
  ]);
  partner.addEventListener('change', onPartner);
  const node = h(
    'form.controls',
    {
      ...{ role: 'search', 'aria-label': 'Filter trajectories' },
      onsubmit: (event) => event.preventDefault(),
      // The controls have their first values only after the event.
      onreset: () => setTimeout(onFilter),
    },
    labelled('Search', search),
    facets.map(({ label, control }) => labelled(label, control)),
    labelled('Side by side with', partner),
    h('button', { type: 'reset' }, 'Reset'),
  );
  return {
    node,
    criteria: (): Criteria => ({
      facets: Object.fromEntries(facets.map(({ key, control }) => [key, control.value])),
      search: search.value,
    }),
    /** The method to be read beside, or null. */
    partner: (): string | null => partner.value || null,
    focusSearch: (): void => search.focus(),
  };
}
