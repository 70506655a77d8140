import { describe, expect, it } from 'vitest';
import type { Question, SubQuestion } from '../../lib/data/question.js';
import { createRandom } from '../../lib/random.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { rolloutSchema, type RolloutInput } from '../../lib/rollout/options.js';
import { rollOut } from '../../lib/rollout/rollout.js';
import type { Trajectory } from '../../lib/rollout/trajectory.js';
import { createExpert } from '../../lib/training/expert.js';
import { cases } from '../full.js';
import { COMPARISON, HYBRID, PASSAGES, QUESTIONS, SEQUENTIAL, SINGLE, TOKENIZER } from './tiny.js';

async function play(
  questions: Question[],
  parallelShare: number,
  isClosedBook = false,
  changes: Partial<RolloutInput> = {},
): Promise<Trajectory[]> {
  const { querySeparator } = changes;
  const expert = { tokenizer: TOKENIZER, maxLength: 4096, questions, parallelShare };
  const options = { ...expert, isClosedBook, querySeparator };
  const asked = { prompt: 'parallel', promptForm: 'full', splitQueries: true, topK: 1 };
  const rollout = rolloutSchema.parse({ ...asked, ...changes });
  const { trajectories } = await rollOut(
    createExpert(options),
    createBm25Retriever(PASSAGES),
    questions,
    { ...rollout, temperature: 1, randoms: questions.map((_, i) => createRandom(i)) },
  );
  return trajectories;
}
const searchesOf = ({ searchTurns }: Trajectory): string[][] =>
  searchTurns.map(({ queries }) => queries);
const written = ({ segments }: Trajectory): string[] =>
  segments.filter(({ kind }) => kind === 'policy').map(({ text }) => text);

describe('the expert', () => {
  it('searches in parallel where possible and answers every question type', async () => {
    const trajectories = await play(QUESTIONS, 1);
    expect(trajectories.map(({ answer }) => answer)).toEqual(
      QUESTIONS.map((q) => q.goldenAnswers[0]),
    );
    const [single, sequential, comparison, hybrid] = trajectories.map(searchesOf);
    expect(single).toEqual([['Cy Hill']]);
    expect(sequential).toEqual([['Red River'], ['Bo Reed']]);
    expect(comparison).toEqual([['Ada Stone', 'Bo Reed', 'Cy Hill']]);
    expect(hybrid).toEqual([
      ['Red River', 'Blue Lake'],
      ['Bo Reed', 'Ada Stone'],
    ]);
  });

  it.each<Partial<RolloutInput>>([
    { querySeparator: ',' },
    { querySeparator: ',', informationForm: 'json' },
    { informationCut: 'raw', maxInformationTokens: 30 },
  ])('supports other forms of turns: %j', async (changes) => {
    const [trajectory] = await play([COMPARISON], 1, false, changes);
    expect(searchesOf(trajectory)).toEqual([['Ada Stone', 'Bo Reed', 'Cy Hill']]);
    expect(trajectory.answer).toBe('Bo Reed');
    const [sequential] = await play([SEQUENTIAL], 1, false, changes);
    expect(searchesOf(sequential)).toEqual([['Red River'], ['Bo Reed']]);
    expect(sequential.answer).toBe('1904');
  });

  it('can search one by one', async () => {
    const [comparison, hybrid] = (await play([COMPARISON, HYBRID], 0)).map(searchesOf);
    expect(comparison).toEqual([['Ada Stone'], ['Bo Reed'], ['Cy Hill']]);
    expect(hybrid).toEqual([['Red River'], ['Bo Reed'], ['Blue Lake'], ['Ada Stone']]);
  });

  it('mixes parallel and sequential searches by the given share', async () => {
    const n = cases(60, 200);
    const trajectories = await play(Array<Question>(n).fill(COMPARISON), 0.3);
    const atOnce = trajectories.filter(({ searchTurns }) => searchTurns.length === 1);
    expect(trajectories.every(({ searchTurns: { length } }) => length === 1 || length === 3)).toBe(
      true,
    );
    expect(Math.abs(atOnce.length / n - 0.3)).toBeLessThan(cases(0.15, 0.1));
  });

  it('writes what it needs, what it read, and everything that it compares', async () => {
    const [sequential, comparison] = (await play([SEQUENTIAL, COMPARISON], 1)).map(written);
    expect(sequential).toEqual([
      '<think> I need the director of Red River. </think>\n<search> Red River </search>',
      '<think> Red River: director Bo Reed. I need the born of Bo Reed. </think>\n<search> Bo Reed </search>',
      '<think> Bo Reed: born 1904. </think>\n<answer> 1904 </answer>',
    ]);
    expect(comparison.at(-1)).toBe(
      '<think> Ada Stone: born 1922. Bo Reed: born 1904. Cy Hill: born 1960. </think>\n<answer> Bo Reed </answer>',
    );
    const [first] = written((await play([COMPARISON], 0))[0]);
    expect(first).toContain(
      'I need the born of Ada Stone, the born of Bo Reed and the born of Cy Hill. First, the born of Ada Stone.',
    );
  });

  it('compares two facts in words that contain the answer', async () => {
    const [ada, bo] = COMPARISON.metadata.graph!;
    const thought = async (goldenAnswer: string, change: Partial<SubQuestion>): Promise<string> => {
      const graph = [ada, { ...bo, ...change }];
      const question = { ...COMPARISON, goldenAnswers: [goldenAnswer], metadata: { graph } };
      return written((await play([question], 1))[0]).at(-1)!;
    };
    expect(await thought('Bo Reed', {})).toContain('1904 (Bo Reed) is before 1922 (Ada Stone).');
    expect(await thought('yes', { answers: ['1922'] })).toContain('Both are the same.');
    expect(await thought('no', {})).toContain('They are not the same.');
    expect(await thought('Bo Reed', { answers: ['a river'] })).not.toContain('is before');
    expect(await thought('Bo Reed', { attribute: 'died' })).not.toContain('is before');
  });

  it('only states facts with isFactual', async () => {
    const graph = COMPARISON.metadata.graph!.slice(0, 2);
    const question = { ...COMPARISON, metadata: { graph } };
    const context = `Question: ${question.question}\n<information></information>`;
    const options = { tokenizer: TOKENIZER, maxLength: 4096, questions: [question] };
    const [{ text }] = await createExpert({
      ...options,
      parallelShare: 1,
      isFactual: true,
    }).generate([TOKENIZER.encode(context)], {
      temperature: 0,
      topP: 1,
      maxNewTokens: 99,
      stop: [],
      randoms: [createRandom(1)],
    });
    expect(text).toBe(
      '<think> Ada Stone: born 1922. Bo Reed: born 1904. </think>\n<answer> Bo Reed </answer>',
    );
  });

  it('writes the one of several answers that it has read', async () => {
    const [film, birth] = SEQUENTIAL.metadata.graph!;
    const graph = [{ ...film, answers: ['Cy Hill', 'Bo Reed'] }, birth];
    const [trajectory] = await play(
      [{ ...SEQUENTIAL, metadata: { ...SEQUENTIAL.metadata, graph } }],
      1,
    );
    expect(written(trajectory)[1]).toContain('<think> Red River: director Bo Reed. I need');
  });

  it('answers without a search if it must', async () => {
    const [comparison] = await play([COMPARISON], 1, true);
    expect(written(comparison)).toEqual([
      '<think> Ada Stone: born 1922. Bo Reed: born 1904. Cy Hill: born 1960. </think>\n<answer> Bo Reed </answer>',
    ]);
  });

  it('quotes a passage if the annotations name no attribute', async () => {
    const graph: SubQuestion[] = SINGLE.metadata.graph!.map((node) => ({
      ...node,
      attribute: 'supporting fact',
    }));
    const [trajectory] = await play([{ ...SINGLE, metadata: { graph } }], 1);
    expect(written(trajectory)).toEqual([
      '<think> I need Cy Hill. </think>\n<search> Cy Hill </search>',
      '<think> Cy Hill is a singer born in 1960. </think>\n<answer> 1960 </answer>',
    ]);
  });

  it('rejects an unknown question', async () => {
    const expert = createExpert({
      tokenizer: TOKENIZER,
      maxLength: 99,
      questions: [SINGLE],
      parallelShare: 0,
    });
    const context = TOKENIZER.encode('Question: Who?\n');
    const options = {
      temperature: 1,
      topP: 1,
      maxNewTokens: 9,
      stop: [],
      randoms: [createRandom(1)],
    };
    await expect(async () => expert.generate([context], options)).rejects.toThrow(
      'Expected a question with a dependency graph, but got Who?',
    );
  });
});
