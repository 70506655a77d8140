/** The pure parts of the page's script. */
import { describe, expect, it } from 'vitest';
import {
  createFilter,
  facetValues,
  FACETS,
  searchWords,
} from '../../../lib/pages/viewer/browser/filter.js';
import {
  graphColumns,
  nodesAsked,
  policyDiagram,
  questionDiagram,
} from '../../../lib/pages/viewer/browser/graph.js';
import {
  aboveMean,
  groupOf,
  methodsOf,
  partnerOf,
} from '../../../lib/pages/viewer/browser/groups.js';
import { syntheticData, syntheticLines } from './synthetic.js';

const data = syntheticData(syntheticLines(200), 20);

describe('the filter', () => {
  const filter = createFilter(data);
  const count = (facets: Record<string, string>, search = ''): number =>
    filter({ ...facets, search }).length;

  it('lists everything when nothing is asked, in order', () => {
    expect(filter({ method: '', search: ' ' })).toEqual([...Array(200).keys()]);
  });

  it.each(FACETS)('agrees with the counts of the facet $key', (facet) => {
    for (const [value, number] of facetValues(data, facet))
      expect(count({ [facet.key]: value })).toBe(number);
  });

  it.each([
    [{ method: 'parallelsearch' }, '', 100],
    [{ method: 'parallelsearch', right: 'right' }, '', 60],
    [{ method: 'search-r1', turns: '1' }, '', 0],
    [{ sign: 'halfDecomposition' }, '', 10],
    [{ sign: 'decomposedSequential' }, '', 50],
    [{}, 'TOWN3 needs', 10],
    [{}, '"town3 is old"', 10],
    [{}, 'nowhere', 80],
    [{ method: 'search-r1' }, 'town3', 5],
    [{}, '"answer with search"', 0], // the prompt
    [{}, 'town3 absent', 0],
  ])('combines facets and words of texts and questions: %j, %j', (facets, search, number) => {
    expect(count(facets as Record<string, string>, search)).toBe(number);
  });

  it('counts numbers in the order of their size', () => {
    const step = FACETS.find(({ key }) => key === 'step')!;
    const steps = facetValues(data, step).map(([value]) => value);
    expect(steps.slice(8, 12)).toEqual(['8', '9', '10', '11']);
  });

  it('keeps quoted words together', () => {
    expect(searchWords('One "Two  three" four"')).toEqual(['one', 'two  three', 'four']);
  });
});

describe('groups', () => {
  it('hold the rollouts of one question, method and step', () => {
    expect(groupOf(data, 12)).toEqual([10, 12, 14, 16, 18]);
    expect(methodsOf(data)).toEqual(['parallelsearch', 'search-r1']);
  });

  it.each([
    [12, 'search-r1', 11],
    [10, 'parallelsearch', 12],
    [10, 'absent', null],
  ])(
    'find beside %d a partner of %s on the same question, never itself',
    (index, method, partner) => {
      expect(partnerOf(data, index, method)).toBe(partner);
    },
  );

  it('measure rewards from their mean', () => {
    expect(aboveMean([1, 0, 0.5])).toEqual([0.5, -0.5, 0]);
  });
});

describe('diagrams', () => {
  const unscored = { status: 'unscored' as const };
  const turn = (...queries: string[]) => ({ queries, results: queries.map(() => unscored) });
  const [comparison, chain] = data.questions;
  const [firstHop, secondHop] = chain.graph!;

  it.each([
    [comparison.graph!, [['q1', 'q2']]],
    [chain.graph!, [['q1'], ['q2']]],
    [[{ ...firstHop, dependsOn: ['q1'] }], []],
  ])('put what can be asked at once into one column', (graph, columns) => {
    expect(graphColumns(graph).map((column) => column.map(({ id }) => id))).toEqual(columns);
  });

  it.each([
    ['the founding of town0!', ['q1']],
    ['Town01', []],
    ['River0 and Town0', ['q1', 'q2']],
  ])('match sub-queries to sub-questions by whole words of the entity: %s', (query, ids) => {
    expect(nodesAsked(comparison.graph!, query).map(({ id }) => id)).toEqual(ids);
  });

  it('mark sub-questions that were never asked', () => {
    const turns = [turn('Town0', 'x')];
    const { columns, edges, description } = questionDiagram(comparison, comparison.graph!, turns);
    expect(columns[0].map(({ kind }) => kind)).toEqual(['asked', 'missed']);
    expect(columns[1][0]).toMatchObject({ title: 'Town0', detail: 'the least (year)' });
    expect(edges.map(([from, to]) => `${from}>${to}`)).toEqual(['q1>', 'q2>']);
    expect(description).toContain('[year (never asked)], then Town0');
  });

  it('leave out edges of a cycle, which has no place', () => {
    const cyclic = [{ ...firstHop, dependsOn: ['q2'] }, secondHop];
    expect(questionDiagram(chain, cyclic, [])).toMatchObject({
      columns: [[{ id: '' }]],
      edges: [],
    });
  });

  it('show turns one after the other and what each sub-query asks for', () => {
    const failed = { queries: ['River0'], results: [{ status: 'failed' as const, reason: '' }] };
    const turns = [turn('Town0', 'elsewhere'), failed];
    const { columns, edges } = policyDiagram(
      { answer: null, exactMatch: 0 },
      comparison.graph,
      turns,
    );
    const kinds = columns.map((column) => column.map(({ kind }) => kind));
    expect(kinds).toEqual([['asked', 'stray'], ['failed'], ['wrong']]);
    expect(columns[0][0].detail).toBe('asks for q1');
    expect(columns[2][0].title).toBe('no answer');
    expect(edges).toHaveLength(3);
  });
});
