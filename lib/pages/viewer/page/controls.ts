/** The form above the list: search, a choice a facet, and whom to read beside. */
import type { ViewerData } from '../data.js';
import { element } from './dom.js';
import { facetValues, FACETS, type Criteria, type Facet } from './filter.js';
import { methodsOf } from './groups.js';

export interface Controls {
  node: HTMLElement;
  criteria(): Criteria;
  /** The method to be read beside, or null. */
  partner(): string | null;
  focusSearch(): void;
}

/** Milliseconds of rest after which a search begins. */
const SEARCH_DELAY_MS = 120;

function labelled(label: string, control: HTMLElement): HTMLElement {
  return element('label', {}, element('span', {}, label), control);
}

function option(value: string, text: string): HTMLOptionElement {
  return element('option', { value }, text);
}

function facetSelect(facet: Facet, values: readonly [string, number][]): HTMLSelectElement {
  const { nameOf = (value: string) => value } = facet;
  const options = values.map(([value, count]) =>
    option(value, `${nameOf(value)} (${count.toLocaleString('en')})`),
  );
  return element('select', { name: facet.key }, option('', 'all'), ...options);
}

function partnerSelect(data: ViewerData): HTMLSelectElement {
  return element(
    'select',
    { name: 'partner' },
    option('', 'nobody'),
    ...methodsOf(data).map((m) => option(m, m)),
  );
}

/** Builds the form; `onFilter` is called when the list changes, `onPartner` when whom to read beside does. */
export function createControls(data: ViewerData, onFilter: () => void, onPartner: () => void): Controls {
  const search = element('input', {
    type: 'search',
    name: 'search',
    placeholder: 'words, "a phrase"',
    autocomplete: 'off',
  });
  // A facet with a single value chooses nothing.
  const facets = FACETS.flatMap((facet) => {
    const values = facetValues(data, facet);
    return values.length > 1 ? [{ facet, select: facetSelect(facet, values) }] : [];
  });
  const partner = partnerSelect(data);
  const reset = element('button', { type: 'reset' }, 'Reset');
  const node = element(
    'form',
    { class: 'controls', role: 'search', 'aria-label': 'Filter trajectories' },
    labelled('Search', search),
    ...facets.map(({ facet, select }) => labelled(facet.label, select)),
    labelled('Side by side with', partner),
    reset,
  );
  let timer = 0;
  search.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(onFilter, SEARCH_DELAY_MS) as unknown as number;
  });
  for (const { select } of facets) select.addEventListener('change', onFilter);
  partner.addEventListener('change', onPartner);
  node.addEventListener('submit', (event) => event.preventDefault());
  // The controls have their first values only after the event.
  node.addEventListener('reset', () => setTimeout(onFilter));
  return {
    node,
    criteria: () => ({
      facets: Object.fromEntries(facets.map(({ facet, select }) => [facet.key, select.value])),
      search: search.value,
    }),
    partner: () => partner.value || null,
    focusSearch: () => search.focus(),
  };
}
