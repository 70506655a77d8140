import { expect, it } from 'vitest';
import {
  formatTrajectory,
  shownTexts,
  tokenUsage,
  type SearchResult,
  type Segment,
} from '../../lib/rollout/trajectory.js';
import { formatInformation } from '../../lib/text/tags.js';

it('prints one line of JSON with log-probs rounded to four decimals', () => {
  const written: Segment = { kind: 'policy', tokenIds: [5, 12_345], text: 'a\nb' };
  const notice: Segment = { kind: 'notice', tokenIds: [1], text: '' };
  const trajectory = (...logProbs: number[]) => ({
    segments: [{ ...written, logProbs }, notice],
    advantage: 0.123456,
  });
  const line = formatTrajectory(trajectory(-0.123456, -1e-6));
  expect(line.endsWith('}\n')).toBe(true);
  expect(line.trimEnd()).not.toContain('\n');
  expect(JSON.parse(line)).toEqual(trajectory(-0.1235, 0));
});

it('counts the whole context for every call', () => {
  const lengths = [3, 2, 4, 1];
  const segments = (['prompt', 'policy', 'information', 'policy'] as const).map(
    (kind, i): Segment => ({ kind, text: '', tokenIds: Array<number>(lengths[i]).fill(0) }),
  );
  expect(tokenUsage({ segments })).toEqual({ read: 3 + (3 + 2 + 4), written: 2 + 1 });
});

it('reports the number of uncounted calls', () => {
  const call: Segment = { kind: 'policy', text: 'a', tokenIds: [] };
  const counted = { ...call, usage: { read: 5, written: 1 } };
  const usage = { read: 5, written: 1, uncounted: 2 };
  expect(tokenUsage({ segments: [call, counted, call] })).toEqual(usage);
});

it('finds the texts shown in a turn, by position if all results are there', () => {
  const result = (...titles: string[]): SearchResult => ({
    status: 'ok',
    passages: titles.map((title) => ({ id: title, title, score: 1 })),
  });
  const failed: SearchResult = { status: 'failed', reason: 'no index' };
  const results = [result('T', 'U'), failed, result('T')];
  const printed = formatInformation([
    {
      status: 'ok',
      passages: [
        { title: 'T', text: 'one' },
        { title: 'U', text: 'two' },
      ],
    },
    failed,
    { status: 'ok', passages: [{ title: 'T', text: 'three' }] },
  ]);
  expect(shownTexts(results, printed)).toEqual([['one', 'two'], [], ['three']]);
  // Cut before the second search: only titles show which results remain.
  const cut = printed.slice(0, printed.indexOf('two') + 2);
  expect(shownTexts([result('T', 'U'), result('V')], cut)).toEqual([['one', 'tw'], ['']]);
});
