import { range, rollup } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { graphQuestionType, type Question } from '../../../lib/data/question.js';
import { finalNodes } from '../../../lib/data/search-plan.js';
import { createRandom } from '../../../lib/random.js';
import { drawQuestions } from '../../../tools/small-world/benchmarks.js';
import { createQuestionMaker } from '../../../tools/small-world/questions.js';
import { makeWorld } from '../../../tools/small-world/world.js';

const { things, passages } = makeWorld(createRandom('test'), { train: 40, dev: 40, kept: 40 });
const textOf = new Map(passages.map(({ id, text }) => [id, text]));
const COUNTS = { nq: 40, popqa: 40, hotpotqa: 100, '2wikimultihopqa': 200, musique: 100, many: 70 };
const MORE = { ...COUNTS, nq: 400, popqa: 400, many: 400 };
const draw = (split: 'train' | 'dev' | 'kept'): Question[] =>
  drawQuestions(
    things,
    { split, name: split, counts: split === 'train' ? MORE : COUNTS },
    createRandom('questions'),
  );
const [train, dev, kept] = [draw('train'), draw('dev'), draw('kept')];

/** The wording: the question with all names masked, and lists of any length as one. */
const names = [...new Set(things.map(({ name }) => name))].sort((a, b) => b.length - a.length);
const pattern = new RegExp(names.join('|'), 'g');
const wordingOf = ({ question }: Question): string =>
  question.replace(pattern, 'X').replace(/X(, X)+/g, 'X');

describe('drawQuestions', () => {
  it('makes questions that match their graphs and passages', () => {
    for (const { goldenAnswers, metadata } of [...train, ...dev, ...kept]) {
      const graph = metadata.graph!;
      for (const node of graph) {
        expect(textOf.get(node.evidence[0])).toContain(node.answers[0]);
        const parent = graph.find(({ id }) => node.dependsOn.includes(id));
        if (parent) expect(node.entity).toBe(parent.answers[0]);
      }
      const values = finalNodes(graph).map((node) => node.answers[0]);
      const roots = graph
        .filter(({ dependsOn }) => dependsOn.length === 0)
        .map(({ entity }) => entity);
      const { kind } = metadata.operation ?? { kind: 'last' };
      if (kind === 'last') expect(goldenAnswers).toEqual(values);
      else {
        const numbers = values.map(Number);
        const best = (kind === 'argmin' ? Math.min : Math.max)(...numbers);
        expect(goldenAnswers).toEqual([roots[numbers.indexOf(best)]]);
        expect(new Set(numbers).size).toBe(numbers.length);
      }
    }
  });

  it('names every root entity in the question, and repeats no question', () => {
    const all = [...train, ...dev, ...kept];
    expect(new Set(all.map(({ question }) => question)).size).toBe(all.length);
    for (const { question, metadata } of all)
      for (const { entity, dependsOn } of metadata.graph!)
        if (dependsOn.length === 0) expect(question).toContain(entity);
  });

  it('reserves a third of the wordings for dev and a third for test', () => {
    const known = new Set(train.map(wordingOf));
    const own = (questions: readonly Question[]): Set<string> =>
      new Set(questions.filter(({ metadata }) => metadata.wording === 'unseen').map(wordingOf));
    for (const wording of [...own(dev), ...own(kept)]) expect(known).not.toContain(wording);
    for (const wording of own(dev)) expect(own(kept)).not.toContain(wording);
    const isSeen = ({ metadata }: Question): boolean => metadata.wording === 'seen';
    expect(train.every(isSeen)).toBe(true);
    expect(dev.filter(isSeen).length / dev.length).toBeCloseTo(0.5, 1);
    // Training wordings in a small sample; longer chains have more wordings than it has
    // questions.
    const short = dev.filter((one) => isSeen(one) && one.metadata.graph!.length === 1);
    const numKnown = short.filter((one) => known.has(wordingOf(one))).length;
    expect(numKnown / short.length).toBeGreaterThan(0.9);
  });

  it('has the proportions of the real benchmarks, with comparisons of more than two only in `many`', () => {
    const counts = rollup(
      dev,
      ({ length }) => length,
      ({ metadata }) => `${metadata.benchmark} ${metadata.type}`,
    );
    expect(counts.get('hotpotqa bridge')).toBe(80);
    expect(counts.get('hotpotqa comparison')).toBe(20);
    expect(counts.get('2wikimultihopqa bridge_comparison')).toBe(44);
    expect(counts.get('musique 4hop')).toBe(17);
    for (const count of range(2, 9)) expect(counts.get(`many comparison_${count}`)).toBe(10);
    const compared = (questions: readonly Question[]): number =>
      Math.max(
        ...questions.flatMap(({ metadata: { graph } }) =>
          graphQuestionType(graph!) === 'parallelizable' ? graph!.length : [],
        ),
      );
    expect(compared(dev.filter(({ metadata }) => metadata.benchmark !== 'many'))).toBe(2);
    expect(compared(train)).toBe(5);
  });
});

describe('createQuestionMaker', () => {
  it('identifies the facts by the wording: no two questions share a text', () => {
    const random = createRandom('texts');
    const make = createQuestionMaker(things.filter(({ split }) => split === 'train'));
    const templates = new Map<string, string>();
    for (const wording of ['train', 'dev', 'test'] as const)
      for (const length of [1, 2, 3])
        for (let i = 0; i < 1500; i++) {
          const { question, metadata } = make.chain(length, wording, random);
          expect(templates.get(question) ?? metadata.template).toBe(metadata.template);
          templates.set(question, metadata.template!);
        }
  });
});
