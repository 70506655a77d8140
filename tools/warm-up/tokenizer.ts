/**
 * The tokenizer of the small policy, trained on the text of a practice world. Numbers
 * and phrases are whole tokens: a number of two tokens is hard to compare. Names stay of
 * one to three: a policy learns to copy sooner where a token predicts the next one of its
 * name.
 */
import { range } from 'd3-array';
import type { Random } from '../../lib/random.js';
import { trainBpe } from './bpe.js';
import { KINDS, SPECS } from '../small-world/kinds.js';
import { createQuestionMaker } from '../small-world/questions.js';
import { makeWorld, NUMBERS, YEARS } from '../small-world/world.js';

/** Tags: whole tokens of the small policy's tokenizer. */
export const TAG_TOKENS = ['think', 'search', 'information', 'answer'].flatMap((tag) => [
  `<${tag}>`,
  `</${tag}>`,
]);

const NUM_QUESTIONS = 2000;
const WORLD_SIZE = 150;
/** So often that each number is one token. */
const NUMBER_COPIES = 1000;

/** What stands in prompts, thoughts and printed passages beside the text of the world. */
const PHRASES = [
  ' Need',
  ' of each, all at once.',
  ' of each, one by one.',
  ', then',
  ' =',
  ' ;',
  ' unknown',
  ' Least',
  ' Most',
  ' No search.',
  ' first:',
  'Practice.',
  'Answer directly.',
  ' ##',
  'Answer with search.',
  'Answer with search, split parts with ##.',
  ' Question:',
  'Doc',
  '(Title:',
  ' The',
  ...range(1, 15).map((rank) => ` ${rank}`),
];

/** Passages, questions in training wordings, names, phrases and numbers. */
function tokenizerLines(random: Random): string[] {
  const { things, passages } = makeWorld(random, { train: WORLD_SIZE });
  const make = createQuestionMaker(things);
  const questions = range(NUM_QUESTIONS).flatMap(() => [
    make.chain(1 + random.integer(4), 'train', random).question,
    make.ordered(2, 1, 'train', random).question,
  ]);
  return [
    ...passages.map(({ contents }) => contents),
    ...questions,
    ...things.map(({ name }) => ` ${name}`),
    ...range(NUMBER_COPIES).flatMap(() => [
      ...[...YEARS, ...NUMBERS].map((number) => ` ${number}`),
      ...KINDS.flatMap((kind) => Object.keys(SPECS[kind].attributes)).map(
        (attribute) => ` ${attribute}:`,
      ),
      ...PHRASES,
    ]),
  ];
}

/** Trains the tokenizer; returns the JSON of `tokenizer.json`. */
export const trainTokenizer = (random: Random, vocabSize: number): object =>
  trainBpe(tokenizerLines(random), {
    vocabSize,
    minFrequency: 2,
    addedTokens: [
      ...['<pad>', '<eos>'].map((content) => ({ content, special: true })),
      // Not special: other trainers decode with special tokens skipped, and the tags must
      // stay.
      ...TAG_TOKENS.map((content) => ({ content, special: false })),
    ],
  });
