import { describe, expect, it } from 'vitest';
import { aboveMean, signed } from '../../../lib/pages/viewer/browser/detail.js';
import { describeDiagram } from '../../../lib/pages/viewer/browser/diagram.js';
import { nodesAsked, policyDiagram } from '../../../lib/pages/viewer/browser/diagram.js';
import { questionDiagram } from '../../../lib/pages/viewer/browser/diagram.js';
import {
  createFilter,
  FACETS,
  facetValues,
  findGroup,
  findPartner,
  listMethods,
  searchWords,
} from '../../../lib/pages/viewer/browser/filter.js';
import { syntheticData, syntheticLines } from './synthetic.js';

const data = syntheticData(syntheticLines(200), 20);

describe('the filter', () => {
  const filter = createFilter(data);
  const count = (facets: Record<string, string>, search = ''): number =>
    filter({ ...facets, search }).length;

  it('lists everything in order without criteria', () => {
    expect(filter({ method: '', search: ' ' })).toEqual([...Array(200).keys()]);
  });

  it.each(FACETS)('matches the counts of the facet $key', (facet) => {
    for (const [value, number] of facetValues(data, facet))
      expect(count({ [facet.key]: value })).toBe(number);
  });

  it.each([
    [{ method: 'parallelsearch' }, '', 100],
    [{ method: 'parallelsearch', right: 'right' }, '', 60],
    [{ method: 'search-r1', turns: '1' }, '', 0],
    [{ labels: 'half_decomposed' }, '', 10],
    [{ labels: 'half_decomposed,no_answer' }, '', 0],
    [{ labels: 'over_parallelized' }, '', 50],
    [{}, 'TOWN3 needs', 10],
    [{}, '"town3 is old"', 10],
    [{}, 'nowhere', 80],
    [{ method: 'search-r1' }, 'town3', 5],
    [{}, '"answer with search"', 0], // the prompt
    [{}, 'town3 absent', 0],
  ])('combines facets and search words: %j, %j', (facets, search, number) => {
    expect(count(facets as Record<string, string>, search)).toBe(number);
  });

  it('sorts numeric values by size', () => {
    const step = FACETS.find(({ key }) => key === 'step')!;
    const steps = facetValues(data, step).map(([value]) => value);
    expect(steps.slice(8, 12)).toEqual(['8', '9', '10', '11']);
  });

  it('keeps quoted words together', () => {
    expect(searchWords('One "Two  three" four"')).toEqual(['one', 'two  three', 'four']);
  });
});

describe('groups and partners', () => {
  it('contain the rollouts of one question, method and step', () => {
    expect(findGroup(data, 12)).toEqual([10, 12, 14, 16, 18]);
    expect(listMethods(data)).toEqual(['parallelsearch', 'search-r1']);
  });

  it.each([
    [12, 'search-r1', 11],
    [10, 'parallelsearch', 12],
    [10, 'absent', null],
  ])('find for %d the partner of %s on the same question, never itself', (i, method, partner) => {
    expect(findPartner(data, i, method)).toBe(partner);
  });

  it('aboveMean subtracts the mean reward', () => {
    expect(aboveMean([1, 0, 0.5])).toEqual([0.5, -0.5, 0]);
  });
});

describe('diagrams', () => {
  const unscored = { status: 'unscored' as const };
  const turn = (...queries: string[]) => ({ queries, results: queries.map(() => unscored) });
  const [comparison] = data.trajectories;
  const graph = comparison.metadata.graph!;

  it.each([
    ['the founding of town0!', ['q1']],
    ['Town01', []],
    ['River0 and Town0', ['q1', 'q2']],
  ])('match sub-queries to sub-questions by whole entity names: %s', (query, ids) => {
    expect(nodesAsked(graph, query).map(({ id }) => id)).toEqual(ids);
  });

  it('mark sub-questions that were never searched', () => {
    const turns = [turn('Town0', 'x')];
    const columns = questionDiagram({ ...comparison, turns });
    expect(columns[0].map(({ kind }) => kind)).toEqual(['asked', 'missed']);
    expect(columns[1][0]).toMatchObject({ title: 'Town0', detail: 'the least (year)' });
    expect(columns[1][0].from).toEqual(['q1', 'q2']);
    expect(describeDiagram(columns)).toContain('[year (never asked)], then Town0');
  });

  it('show turns in order, and what each sub-query asks for', () => {
    const failed = { queries: ['River0'], results: [{ status: 'failed' as const, reason: '' }] };
    const turns = [turn('Town0', 'elsewhere'), failed];
    const columns = policyDiagram({ ...comparison, answer: null, exactMatch: 0, turns });
    const kinds = columns.map((column) => column.map(({ kind }) => kind));
    expect(kinds).toEqual([['asked', 'stray'], ['failed'], ['wrong']]);
    expect(columns[0][0].detail).toBe('asks for q1');
    expect(columns[2][0].title).toBe('no answer');
    expect(columns.flat().map(({ from }) => from)).toEqual([[], [], ['0-0', '0-1'], ['1-0']]);
  });
});

it('shows only zero as zero', () => {
  expect([0, 0.4, -0.003, 5e-7].map(signed)).toEqual(['0.00', '+0.40', '−0.0030', '+5.0e-7']);
});
