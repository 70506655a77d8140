import { describe, expect, it } from 'vitest';
import { concludingPolicy } from '../../lib/experiments/real-model/facts.js';
import type { Generation, Policy } from '../../lib/policy/policy.js';
import { createRandom } from '../../lib/random.js';
import { TOKENIZER } from '../training/tiny.js';

/** A policy that writes a text for each context's text, and records what it was given. */
function writer(write: (context: string) => string): Policy & { contexts: string[] } {
  const contexts: string[] = [];
  return {
    name: 'writer',
    tokenizer: TOKENIZER,
    maxLength: 1000,
    contexts,
    generate: (given) =>
      Promise.resolve(
        given.map((ids): Generation => {
          const context = TOKENIZER.decode(ids);
          contexts.push(context);
          const text = write(context);
          return { tokenIds: TOKENIZER.encode(text), text, finish: 'stop' };
        }),
      ),
  };
}

describe('concludingPolicy', () => {
  const model = writer(() => ' So A. </think> <answer> A </answer>');
  const expert = writer((context) =>
    context.endsWith('?')
      ? '<search> a </search>'
      : '<think> A is 1. </think> <answer> B </answer>',
  );
  const generate = (...contexts: string[]): Promise<Generation[]> =>
    concludingPolicy(model, expert).generate(
      contexts.map((context) => TOKENIZER.encode(context)),
      {
        temperature: 0,
        topP: 1,
        maxNewTokens: 50,
        stop: [],
        randoms: contexts.map((context) => createRandom(context)),
      },
    );

  it('searches as the expert', async () => {
    expect((await generate('Who?'))[0].text).toBe('<search> a </search>');
    expect(model.contexts).toEqual([]);
  });

  it('answers as the model, after the facts without the conclusion', async () => {
    const [search, answer] = await generate('Who?', 'a b');
    expect(search.text).toBe('<search> a </search>');
    expect(model.contexts).toEqual(['a b<think> A is 1.']);
    expect(answer.text).toBe('<think> A is 1. So A. </think> <answer> A </answer>');
    expect(TOKENIZER.decode(answer.tokenIds)).toBe(answer.text);
  });
});
