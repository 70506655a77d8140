import { LANGUAGE_MODEL_LIMITS } from '../../lib/rollout/options.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { tinyModel } from './tiny.js';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  BASELINES,
  LATER_METHODS,
  MAIN_METHODS,
  METHODS,
  methodTitle,
  resolveRollout,
  trainedBy,
  trainedMethods,
} from '../../lib/training/methods.js';
import { parseQueries } from '../../lib/rollout/rollout.js';
import { buildPrompt } from '../../lib/text/prompts.js';
import { paperTables } from '../../lib/experiments/paper.js';

const others = [...BASELINES, ...LATER_METHODS].map(({ name }) => name);

beforeAll(async () => {
  await useBackend('wasm');
});

describe('the methods', () => {
  it('stand in the order of tables, with weights of a training, of another method, or of the initial model', () => {
    expect(METHODS.names().map((name) => [name, trainedBy(name)])).toEqual([
      ...['lookup', 'r1', 'untrained:search-r1', 'untrained:parallel', 'untrained:drill'].map(
        (name) => [name, null],
      ),
      ...['demonstrations', ...others, 'search-r1', 'search-r1:b4'].map((name) => [name, name]),
      ['search-r1-parallel-prompt', 'search-r1'],
      ['parallelsearch', 'parallelsearch'],
    ]);
    expect(trainedMethods().filter((name) => !others.includes(name))).toEqual([
      'demonstrations',
      'search-r1',
      'search-r1:b4',
      'parallelsearch',
    ]);
    expect(MAIN_METHODS.map(({ name }) => name)).toEqual(
      METHODS.names().filter((name) => ![...others, 'demonstrations'].includes(name)),
    );
  });

  it('search alike, but for those without search and Search-R1 in four turns', () => {
    const most: Record<string, number> = { r1: 0, 'r1:trained': 0, sft: 0, 'search-r1:b4': 4 };
    const common = { topK: 3, maxNewTokens: 160, maxInformationTokens: 320 };
    for (const name of METHODS.names())
      expect(resolveRollout(name, 'small-world')).toMatchObject({
        ...common,
        maxSearchTurns: most[name] ?? 6,
      });
  });

  it('ask any other model within limits of its own, in its chat template if it has one', () => {
    const { tokenizer } = tinyModel();
    const plain = resolveRollout('search-r1', { maxLength: 3200, tokenizer });
    expect(plain).toMatchObject({
      promptForm: 'full',
      maxNewTokens: 200,
      maxInformationTokens: 200,
    });
    const encodeChat = (text: string) => ({ text, tokenIds: [] });
    const model = { maxLength: 131_072, tokenizer: { ...tokenizer, encodeChat } };
    expect(resolveRollout('parallelsearch', model)).toMatchObject({
      ...LANGUAGE_MODEL_LIMITS,
      promptForm: 'chat',
      splitQueries: true,
    });
    expect(resolveRollout('r1', model).maxSearchTurns).toBe(0);
  });

  it('give RAG-R1 several queries by its prompt and the outcome reward alone', () => {
    for (const name of ['rag-r1', 'rag-r1:grpo']) {
      const rollout = resolveRollout(name, 'small-world');
      expect(rollout).toMatchObject({ prompt: 'rag-r1', splitQueries: true, maxSubQueries: 8 });
      expect(parseQueries('<search> a, b ## c ## d ## e </search>', rollout)).toEqual([
        'a, b',
        'c',
        'd',
        'e',
      ]);
      expect(METHODS.get(name).training).toMatchObject({ rewards: 'search-r1' });
    }
    const model = { maxLength: 131_072, tokenizer: tinyModel().tokenizer };
    expect(resolveRollout('rag-r1', model)).toMatchObject({
      querySeparator: ',',
      informationForm: 'json',
      informationCut: 'query',
    });
    // The small policy knows this prompt.
    const short = (prompt: string) => buildPrompt(prompt, 'Who?', { form: 'short' });
    expect(short('rag-r1')).toBe(short('parallel'));
  });

  it('ask an untrained model under each prompt that it has seen; only Search-R1’s is one query a turn', () => {
    const prompts = METHODS.names().filter((name) => name.startsWith('untrained:'));
    const rollouts = prompts.map((name) => resolveRollout(name, 'small-world'));
    expect(rollouts.map(({ prompt, splitQueries }) => [prompt, splitQueries])).toEqual([
      ['search-r1', false],
      ['parallel', true],
      ['drill', true],
    ]);
  });

  it('are called as the tables of the paper call them', () => {
    const inPaper = new Set(paperTables().rows.map(({ method }) => method));
    const inBoth = METHODS.all().flatMap(({ name, paperName }) =>
      paperName === undefined ? [] : [[name, paperName]],
    );
    expect(inBoth.map(([name]) => name)).toEqual([
      'r1:trained',
      'otc',
      'stepsearch',
      'zerosearch',
      'search-r1',
      'search-r1-parallel-prompt',
      'parallelsearch',
    ]);
    for (const [, paperName] of inBoth) expect(inPaper).toContain(paperName);
  });

  it('have titles of their own', () => {
    const titles = METHODS.all().map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });

  it('are refused with a list of those that there are', () => {
    const resolve = (name: string): unknown => resolveRollout(name, 'small-world');
    for (const look of [METHODS.get, resolve, trainedBy])
      expect(() => look('mine')).toThrow(/lookup, r1, untrained:search-r1/);
    expect(methodTitle('mine')).toBe('mine');
  });
});
