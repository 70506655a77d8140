import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  exactMatch,
  normalizeAnswer,
  paddedWords,
  statableAnswers,
  tokenF1,
} from '../../lib/text/answer-match.js';
import { finalAnswer, splitTranscript } from '../../lib/text/response.js';

describe('normalizeAnswer', () => {
  it.each([
    ['The Beatles!', 'beatles'],
    ['  A  man,\ta plan ', 'man plan'],
    ['U.S.A.', 'usa'],
    ['anthem', 'anthem'],
    ['Vidéa a Été', 'vidéa été'],
    ['1939–1945', '1939–1945'],
    ['the', ''],
    // Like Python's `split`.
    ['a\x85b\x1cc', 'b c'],
    ['\ufeffb', '\ufeffb'],
  ])('turns %j into %j', (text, expected) => {
    expect(normalizeAnswer(text)).toBe(expected);
  });

  it('never lengthens text and leaves no upper case or extra spaces', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => {
        const normalized = normalizeAnswer(text);
        expect(normalized).not.toMatch(/[A-Z]|^\s|\s$|\s\s|[!-/:-@[-`{-~]/);
        expect(normalized.length).toBeLessThanOrEqual(text.length);
      }),
    );
  });
});

describe('paddedWords', () => {
  it.each([
    ['国立競技場', '開会式は国立競技場で行われた。', true],
    ['กรุงเทพมหานคร', 'กรุงเทพมหานครเป็นเมืองหลวง', true],
    ['アニメ', '日本のアニメ映画', true],
    ['アニメ', 'アニメーション', false],
    ['Rome', 'The Romeo', false],
    ['Café Müller', 'The Cafe\u0301 Mu\u0308ller is a piece by Pina Bausch.', true],
    ['각', '\u1100\u1161\u11a8 is a syllable.', true],
    ['Red River', 'The “Red River”… of 1948', true],
    ["O'Brien", 'by Flann O’Brien—1939', true],
    ['Jean-Luc Picard', 'Captain Jean\u2011Luc Picard', true],
    ['Париж', 'журнал «Париж»', true],
    ['القاهرة', 'في القاهرة، مصر', true],
    ['दिल्ली', 'वह दिल्ली। फिर', true],
  ])('finds %s in %s: %j', (word, text, isFound) =>
    expect(paddedWords(text).includes(paddedWords(word))).toBe(isFound),
  );
});

describe('exactMatch and tokenF1', () => {
  it.each([
    ['The Jesus', ['Jesus Christ', 'jesus'], 1, 1],
    ['Jesus', ['Jesus Christ'], 0, 2 / 3],
    ['late December', ['mid November', 'late November or early December'], 0, (2 * 1 * 0.4) / 1.4],
    ['no', ['no way'], 0, 0],
    ['yes', ['Yes.'], 1, 1],
    ['a a b b', ['b'], 0, (2 * 0.5) / 1.5],
    [null, ['x'], 0, 0],
    ['x', [], 0, 0],
  ])('score %j against %j', (answer, goldens, em, f1) => {
    expect(exactMatch(answer, goldens)).toBe(em);
    expect(tokenF1(answer, goldens)).toBeCloseTo(f1, 12);
  });

  it('give F1 in [0, 1], and 1 for every non-empty exact match', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string()), (answer, goldens) => {
        const f1 = tokenF1(answer, goldens);
        expect(f1).toBeGreaterThanOrEqual(0);
        expect(f1).toBeLessThanOrEqual(1);
        if (exactMatch(answer, goldens) === 1 && normalizeAnswer(answer) !== '')
          expect(f1).toBeCloseTo(1, 12);
      }),
    );
  });
});

interface ReportedLine {
  id: string;
  golden_answers: string[];
  response: string;
  reported: { pred: string; em: number; f1: number };
}

const rollouts =
  process.env.PARALLELSEARCH_ROLLOUTS ?? join(import.meta.dirname, '../../../shared/rollouts');

function reportedLines(): ReportedLine[] {
  const files = readdirSync(rollouts).filter((name) => name.endsWith('.jsonl'));
  const lines = files.flatMap((name) => readFileSync(join(rollouts, name), 'utf8').split('\n'));
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as ReportedLine);
}

describe.skipIf(!existsSync(rollouts))(
  "another group's reported scores (needs PARALLELSEARCH_ROLLOUTS)",
  () => {
    it('match every recorded trajectory (F1 within 1e-12)', () => {
      const lines = reportedLines();
      expect(lines.length).toBeGreaterThanOrEqual(275);
      for (const { id, golden_answers: goldens, response, reported } of lines) {
        const answer = finalAnswer(splitTranscript(response));
        expect(answer ?? '', id).toBe(reported.pred);
        expect(exactMatch(answer, goldens), id).toBe(reported.em);
        expect(tokenF1(answer, goldens), id).toBeCloseTo(reported.f1, 12);
      }
    });
  },
);

it('statableAnswers drops answers that no passage states', () => {
  expect(statableAnswers(['yes', 'No.', 'the', 'Noor'])).toEqual([' noor ']);
});
