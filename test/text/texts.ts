import fc from 'fast-check';

/** Texts that are likely to break a tag grammar. */
export const roughText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '<think>',
        '</think>',
        '<search>',
        '</search>',
        '<information>',
        '</information>',
      ),
      fc.constantFrom(
        '<answer>',
        '</answer>',
        '##',
        '#',
        '</',
        '<',
        '>',
        '\n',
        ' ',
        'Doc 1(Title: a) b',
      ),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join(''));

const word = fc.stringMatching(/^[a-z0-9?'é,.-]{1,8}$/);
export const phrase = fc
  .array(word, { minLength: 1, maxLength: 5 })
  .map((words) => words.join(' '));

export const THINK = '<think> reason </think>';
export const SEARCH = '<search> a ## b </search>';
export const INFORMATION = '<information>Doc 1(Title: t) text</information>';
export const ANSWER = '<answer> x </answer>';
