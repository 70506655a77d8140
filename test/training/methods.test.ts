import { beforeAll, describe, expect, it } from 'vitest';
import { paperTables } from '../../lib/experiments/results/paper.js';
import { LANGUAGE_MODEL_LIMITS } from '../../lib/rollout/options.js';
import { parseQueries } from '../../lib/rollout/rollout.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { buildPrompt } from '../../lib/text/prompts.js';
import { METHODS, methodTitle, resolveRollout, trainedBy } from '../../lib/training/methods.js';
import { tinyModel } from './tiny.js';

beforeAll(async () => {
  await useBackend('wasm');
});

describe('the methods', () => {
  it('give other models their own limits, and their chat template if they have one', () => {
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

  it('let RAG-R1 send several queries, with only the outcome reward', () => {
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
    // The small policy was trained on this prompt.
    const short = (prompt: string) => buildPrompt(prompt, 'Who?', { form: 'short' });
    expect(short('rag-r1')).toBe(short('parallel'));
  });

  it("have the names of the paper's tables", () => {
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

  it('have distinct titles', () => {
    const titles = METHODS.all().map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });

  it('are listed when an unknown one is rejected', () => {
    const resolve = (name: string): unknown => resolveRollout(name, 'small-world');
    for (const look of [METHODS.get, resolve, trainedBy])
      expect(() => look('mine')).toThrow(/lookup, r1, untrained:search-r1/);
    expect(methodTitle('mine')).toBe('mine');
  });
});
