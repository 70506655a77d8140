import { mean } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { graphQuestionType } from '../../../lib/data/question.js';
import { evaluatePolicy } from '../../../lib/evaluation/evaluate.js';
import { matching } from '../../../lib/evaluation/figures.js';
import { createLookupPolicy } from '../../../lib/experiments/running/lookup.js';
import { createRandom } from '../../../lib/random.js';
import { createBm25Retriever } from '../../../lib/retrieval/bm25.js';
import { rolloutSchema } from '../../../lib/rollout/options.js';
import { createTokenizer } from '../../../lib/text/tokenizer/tokenizer.js';
import { drawQuestions } from '../../../tools/small-world/benchmarks.js';
import { makeWorld } from '../../../tools/small-world/world.js';
import { trainTokenizer } from '../../../tools/warm-up/tokenizer.js';

const { things, passages } = makeWorld(createRandom('test'), { train: 40, dev: 30 });
const counts = { nq: 300, triviaqa: 300, popqa: 300, hotpotqa: 300, many: 400 };
const train = drawQuestions(things, { split: 'train', name: 'train', counts }, createRandom('q'));
const fewer = { nq: 60, hotpotqa: 60, many: 70 };
const dev = drawQuestions(things, { split: 'dev', name: 'dev', counts: fewer }, createRandom('q'));

describe('createLookupPolicy', () => {
  it('answers nearly all questions in training wordings, and none of the others', async () => {
    const tokenizer = createTokenizer(trainTokenizer(createRandom('tokenizer'), 600));
    const policy = createLookupPolicy(train, passages, tokenizer);
    const retriever = createBm25Retriever(passages, { titleWeight: 5 });
    const rollout = rolloutSchema.parse({ prompt: 'parallel', splitQueries: true, topK: 3 });
    const measured = await evaluatePolicy(policy, retriever, dev, { rollout, batchSize: 50 });
    const meanEm = (wording: string): number =>
      mean(matching(measured, { wording }), ({ em }) => em)!;
    expect(meanEm('seen')).toBeGreaterThan(0.85);
    expect(meanEm('unseen')).toBeLessThan(0.05);
    measured.forEach(({ decomposed }, i) => {
      if (decomposed) expect(graphQuestionType(dev[i].metadata.graph!)).toBe('parallelizable');
    });
  });
});
