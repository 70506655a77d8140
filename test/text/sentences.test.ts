import { expect, it } from 'vitest';
import { sentenceAbout, splitSentences } from '../../lib/text/sentences.js';

it('splits sentences, but not after initials and abbreviations', () => {
  const first = 'Dr. Ada met J. R. Reed, e.g. in Oslo.';
  expect(splitSentences(`${first}  He left.\nWhy? `)).toEqual([first, 'He left.', 'Why?']);
});

it('splits a megabyte within the time limit of a test, also where its windows meet', () => {
  const ends = ['here.', 'etc. (12) and so on!', 'Mr. X’s 🇩🇪.', '“why?”'];
  const sentences = Array.from({ length: 40_000 }, (_, i) => `Number ${i} is ${ends[i % 4]}`);
  expect(splitSentences(sentences.join(' '))).toEqual(sentences);
});

const TEXT = 'Bo Reed is a singer. He was born in 1904 in Oslo. He made a film.';

it('picks the sentence with the names, else the one with the most words of the question', () => {
  expect(sentenceAbout(TEXT, ['1904'], 'Which singer made a film?')).toBe(
    'He was born in 1904 in Oslo.',
  );
  expect(sentenceAbout(TEXT, ['1960'], 'Who made a film?')).toBe('He made a film.');
  expect(sentenceAbout(TEXT, [], 'Is Bo Reed a singer?')).toBe('Bo Reed is a singer.');
  expect(sentenceAbout('', ['1904'], 'Who?')).toBe('');
});
