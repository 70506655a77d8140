/** The pure parts of the page's script. */
import { describe, expect, it } from 'vitest';
import { createFilter, facetValues, FACETS, searchWords } from '../../../lib/pages/viewer/page/filter.js';
import {
  graphColumns,
  nodesAsked,
  policyDiagram,
  questionDiagram,
} from '../../../lib/pages/viewer/page/graph.js';
import { aboveMean, createGroups, methodsOf } from '../../../lib/pages/viewer/page/groups.js';
import { syntheticData, syntheticLines } from './synthetic.js';

const data = syntheticData(syntheticLines(200), 20);
const filter = createFilter(data);
const count = (facets: Record<string, string>, search = ''): number => filter({ facets, search }).length;

describe('the filter', () => {
  it('lists everything when nothing is asked, in order', () => {
    expect(filter({ facets: { method: '' }, search: ' ' })).toEqual([...Array(200).keys()]);
  });

  it('agrees with the counts of every facet', () => {
    for (const facet of FACETS) {
      for (const [value, number] of facetValues(data, facet))
        expect(count({ [facet.key]: value })).toBe(number);
    }
  });

  it('combines facets', () => {
    expect(count({ method: 'parallelsearch' })).toBe(100);
    expect(count({ method: 'parallelsearch', right: 'right' })).toBe(60);
    expect(count({ method: 'search-r1', turns: '1' })).toBe(0);
    expect(count({ sign: 'halfDecomposition' })).toBe(10);
    expect(count({ sign: 'decomposedSequential' })).toBe(50);
  });

  it('finds all words, in texts and questions, whatever their case, but not in the prompt', () => {
    expect(count({}, 'TOWN3 needs')).toBe(10);
    expect(count({}, '"town3 is old"')).toBe(10);
    expect(count({}, 'nowhere')).toBe(80);
    expect(count({ method: 'search-r1' }, 'town3')).toBe(5);
    expect(count({}, '"answer with search"')).toBe(0);
    expect(count({}, 'town3 absent')).toBe(0);
  });

  it('counts numbers in the order of their size', () => {
    const steps = facetValues(
      data,
      FACETS.find(({ key }) => key === 'step')!,
    );
    expect(steps.map(([value]) => value).slice(8, 12)).toEqual(['8', '9', '10', '11']);
  });

  it('keeps quoted words together', () => {
    expect(searchWords('One "Two  three" four"')).toEqual(['one', 'two  three', 'four']);
  });
});

describe('groups', () => {
  const groups = createGroups(data);

  it('hold the rollouts of one question, method and step', () => {
    expect(groups.groupOf(12)).toEqual([10, 12, 14, 16, 18]);
    expect(methodsOf(data)).toEqual(['parallelsearch', 'search-r1']);
  });

  it('find a partner of another method on the same question, and never the same trajectory', () => {
    expect(groups.partnerOf(12, 'search-r1')).toBe(11);
    expect(groups.partnerOf(10, 'parallelsearch')).toBe(12);
    expect(groups.partnerOf(10, 'absent')).toBeNull();
  });

  it('measure rewards from their mean', () => {
    expect(aboveMean([1, 0, 0.5])).toEqual([0.5, -0.5, 0]);
  });
});

describe('diagrams', () => {
  const turn = (queries: string[]) => ({
    queries,
    results: queries.map(() => ({ status: 'unscored' as const })),
  });
  const comparison = data.questions[0];
  const chain = data.questions[1];

  it('put what can be asked at once into one column', () => {
    const columns = (graph: typeof comparison.graph) =>
      graphColumns(graph!).map((c) => c.map(({ id }) => id));
    expect(columns(comparison.graph)).toEqual([['q1', 'q2']]);
    expect(columns(chain.graph)).toEqual([['q1'], ['q2']]);
    const [cyclic] = chain.graph!;
    expect(columns([{ ...cyclic, dependsOn: ['q1'] }])).toEqual([]);
  });

  it('match sub-queries to sub-questions by whole words of the entity', () => {
    const ids = (query: string) => nodesAsked(comparison.graph!, query).map(({ id }) => id);
    expect(ids('the founding of town0!')).toEqual(['q1']);
    expect(ids('Town01')).toEqual([]);
    expect(ids('River0 and Town0')).toEqual(['q1', 'q2']);
  });

  it('mark sub-questions that were never asked', () => {
    const { columns, edges, description } = questionDiagram(comparison, comparison.graph!, [
      turn(['Town0', 'x']),
    ]);
    expect(columns[0].map(({ kind }) => kind)).toEqual(['asked', 'missed']);
    expect(columns[1][0]).toMatchObject({ title: 'Town0', detail: 'the least (year)' });
    expect(edges).toEqual([
      ['q1', ''],
      ['q2', ''],
    ]);
    expect(description).toContain('[year (never asked)], then Town0');
  });

  it('leave out edges of a cycle, which has no place', () => {
    const [first, second] = chain.graph!;
    const cyclic = [{ ...first, dependsOn: ['q2'] }, second];
    expect(questionDiagram(chain, cyclic, [])).toMatchObject({ columns: [[{ id: '' }]], edges: [] });
  });

  it('show turns one after the other and what each sub-query asks for', () => {
    const turns = [
      turn(['Town0', 'elsewhere']),
      { queries: ['River0'], results: [{ status: 'failed' as const, reason: '' }] },
    ];
    const { columns, edges } = policyDiagram({ answer: null, exactMatch: 0 }, comparison.graph, turns);
    expect(columns.map((column) => column.map(({ kind }) => kind))).toEqual([
      ['asked', 'stray'],
      ['failed'],
      ['wrong'],
    ]);
    expect(columns[0][0].detail).toBe('asks for q1');
    expect(columns[2][0].title).toBe('no answer');
    expect(edges).toHaveLength(3);
  });
});
