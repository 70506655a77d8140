import { expect, it } from 'vitest';
import { createRandom } from '../../../lib/random.js';
import { createTokenizer } from '../../../lib/text/tokenizer/tokenizer.js';
import { NUMBERS, YEARS } from '../../../tools/small-world/world.js';
import { SMALL_MODEL } from '../../../tools/warm-up/recipes.js';
import { trainTokenizer } from '../../../tools/warm-up/tokenizer.js';

it('keeps every number and the words of thoughts whole', () => {
  const tokenizer = createTokenizer(
    trainTokenizer(createRandom('tokenizer'), SMALL_MODEL.vocabSize),
  );
  const split = [...YEARS, ...NUMBERS, 'unknown', 'Least', 'Most', '##', '='].filter(
    (text) => tokenizer.encode(` ${text}`).length !== 1,
  );
  expect(split).toEqual([]);
});
