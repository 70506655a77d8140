import { expect, it } from 'vitest';
import { splitContents } from '../../lib/data/question.js';

it.each([
  ['T\na\nb', 'T', 'a\nb'],
  ['"T"\r\n a', 'T', 'a'],
  ['a single line', '', 'a single line'],
])('splits the title off at the first line break: %j', (contents, title, text) => {
  expect(splitContents(contents)).toEqual({ title, text });
});
