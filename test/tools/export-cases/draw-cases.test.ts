import { describe, expect, it } from 'vitest';
import { readJsonLines } from '../../../lib/io/files.js';
import { packagePath } from '../../../lib/io/paths.js';
import { createRandom } from '../../../lib/random.js';
import { rewardConstants, createRewards } from '../../../lib/rewards/presets.js';
import {
  scoreRollout,
  scoringInputFromSegments,
  scoringInputFromTranscript,
} from '../../../lib/rewards/reward.js';
import { ambiguity, splitTranscript } from '../../../lib/text/response.js';
import { drawCases, drawRewardCases } from '../../../tools/export-cases/draw-cases.js';

const cases = drawRewardCases(createRandom('cases'), 4000);
const numWith = (holds: (text: string) => boolean): number =>
  cases.filter(({ response }) =>
    holds(typeof response === 'string' ? response : response.map(({ text }) => text).join('')),
  ).length;

describe('random reward cases', () => {
  it('are the same for the same seed', () => {
    expect(drawRewardCases(createRandom('cases'), 5)).toEqual(cases.slice(0, 5));
    expect(drawRewardCases(createRandom('others'), 5)).not.toEqual(cases.slice(0, 5));
  });

  it.each<[string, (text: string) => boolean]>([
    [
      'half tags',
      (text) =>
        /<think$|<(?:think|search)(?![>])/.test(text) ||
        (text.match(/<search>/g) ?? []).length > (text.match(/<\/search>/g) ?? []).length,
    ],
    ['nested tags', (text) => /<think>[^<]*<answer>/.test(text)],
    ['fused tags', (text) => text.includes('</</search>')],
    ['no answer', (text) => !text.includes('<answer>')],
    ['several answers', (text) => text.split('</answer>').length > 2],
    ['decomposed searches', (text) => /<search>[^<]*\w[^<]*##[^<]*\w[^<]*<\/search>/.test(text)],
    ['empty searches', (text) => /<search>[\s#]*<\/search>/.test(text)],
    ['repeated searches', (text) => /<search>([^<]+)<\/search>.*<search>\1<\/search>/s.test(text)],
    ['other scripts', (text) => /\p{Script=Han}|\p{Script=Greek}|İ/u.test(text)],
    ['Unicode white space', (text) => /[\u00a0\u2003\u2028\ufeff]/.test(text)],
    ['notices', (text) => text.includes('My action is not correct.')],
  ])('include %s', (_, holds) => {
    expect(numWith(holds)).toBeGreaterThan(10);
    expect(numWith((text) => !holds(text))).toBeGreaterThan(10);
  });

  it('cover every reward value, as text and as segments, ambiguous or not', () => {
    const options = rewardConstants('paper');
    const components = cases.map(({ response, ...question }) => {
      const rollout =
        typeof response === 'string'
          ? scoringInputFromTranscript(response, question)
          : scoringInputFromSegments(response, question);
      return scoreRollout(createRewards(options), rollout).components;
    });
    const values = (name: string): number[] =>
      [...new Set(components.map((one) => one[name]))].sort((a, b) => a - b);
    expect(values('outcome')).toEqual([0, 1]);
    expect(values('decomposition')).toEqual([0, 0.15, 3 * 0.15]);
    expect(values('search_count')).toEqual([-0.35 * 3, -0.7, -0.35, 0]);
    expect(values('format')).toEqual([-0.1, 0, 0.1]);
    const texts = cases.flatMap(({ response }) => (typeof response === 'string' ? [response] : []));
    const numAmbiguous = texts.filter((text) => ambiguity(splitTranscript(text)) !== null).length;
    expect(numAmbiguous).toBeGreaterThan(50);
    expect(texts.length - numAmbiguous).toBeGreaterThan(50);
    expect(cases.length - texts.length).toBeGreaterThan(300);
  });
});

it('the committed files have the cases drawn now (else: npm run tools -- export-cases)', async () => {
  for (const [name, drawn] of Object.entries(await drawCases())) {
    const file = packagePath('data', 'templates', 'python', 'cases', `${name}.jsonl.gz`);
    const committed: unknown[] = [];
    for await (const line of readJsonLines(file, (value) => value, 'cases')) committed.push(line);
    expect(committed).toEqual(JSON.parse(JSON.stringify(drawn)));
  }
});
