import { describe, expect, it } from 'vitest';
import { chainTo, finalNodes, describePlan, searchPlan } from '../../lib/data/search-plan.js';
import { bornIn, COMPARISON, HYBRID, QUESTIONS, SEQUENTIAL, SINGLE } from '../training/tiny.js';

const graphOf = ({ metadata }: typeof HYBRID) => metadata.graph!;
const MODES = ['sequential', 'parallel'] as const;

describe('searchPlan', () => {
  it('asks every sub-question once, after its dependencies', () => {
    for (const mode of MODES) {
      for (const graph of QUESTIONS.map(graphOf)) {
        const asked = new Set<string>();
        for (const turn of searchPlan(graph, mode)) {
          for (const node of turn) expect(node.dependsOn.every((id) => asked.has(id))).toBe(true);
          turn.forEach(({ id }) => asked.add(id));
        }
        expect(asked.size).toBe(graph.length);
      }
    }
  });

  it('asks one sub-question per turn, or all independent ones together', () => {
    const sizes = (mode: (typeof MODES)[number]) =>
      searchPlan(graphOf(HYBRID), mode).map(({ length }) => length);
    expect(sizes('sequential')).toEqual([1, 1, 1, 1]);
    expect(sizes('parallel')).toEqual([2, 2]);
  });

  it('rejects a cycle', () => {
    const cycle = [bornIn(0, 'q1', ['q2']), bornIn(1, 'q2', ['q1'])];
    expect(() => searchPlan(cycle, 'parallel')).toThrow('acyclic');
  });
});

describe('finalNodes and chainTo', () => {
  it('give the final nodes and the chain to each', () => {
    const finals = finalNodes(graphOf(HYBRID));
    expect(finals.map(({ id }) => id)).toEqual(['q2', 'q4']);
    expect(chainTo(finals[1], graphOf(HYBRID)).map(({ id }) => id)).toEqual(['q3', 'q4']);
  });
});

describe('describePlan', () => {
  it.each([
    [SINGLE, 'parallel', 'Need born.'],
    [SEQUENTIAL, 'parallel', 'Need director, then born.'],
    [COMPARISON, 'parallel', 'Need born of each, all at once.'],
    [HYBRID, 'sequential', 'Need director, then born of each, one by one.'],
  ] as const)('names the attributes and the mode (%#)', (question, mode, plan) => {
    expect(describePlan(graphOf(question), mode)).toBe(plan);
  });

  it('writes attributes as words', () => {
    const graph = [{ ...bornIn(0, 'q1'), attribute: 'birthYear' }];
    expect(describePlan(graph, 'sequential')).toBe('Need birth year.');
  });
});
