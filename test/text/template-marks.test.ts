import { describe, expect, it } from 'vitest';
import { withoutEndTokens } from '../../lib/text/template-marks.js';

describe('withoutEndTokens', () => {
  it.each([
    ['Oslo<|im_end|>', 'Oslo'],
    ['Oslo <|im_end|>\n<|endoftext|>\n', 'Oslo'],
    ['Oslo<end_of_turn><pad><pad>', 'Oslo'],
    ['Oslo</s>[PAD]<unk>', 'Oslo'],
    ['Oslo<｜end▁of▁sentence｜>', 'Oslo'],
    ['Oslo\n', 'Oslo\n'],
    ['<|im_end|> is a token', '<|im_end|> is a token'],
    [`${'x'.repeat(100)}</s>`, 'x'.repeat(100)],
    ['', ''],
  ])('of %j is %j', (text, expected) => expect(withoutEndTokens(text)).toBe(expected));
});
