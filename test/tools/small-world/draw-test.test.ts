import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { loadQuestions, readQuestions, type Question } from '../../../lib/data/flashrag.js';
import { CONDITIONS, packagePath } from '../../../lib/io/paths.js';
import { readDraw } from '../../../lib/retrieval/small-world.js';
import { TEST_COUNTS } from '../../../tools/small-world/benchmarks.js';
import { smallWorld } from '../../../tools/small-world/build.js';
import {
  drawConditions,
  drawTest,
  earlierQuestions,
  frozenCommit,
} from '../../../tools/small-world/draw-test.js';
import { temporaryFolder } from '../../folder.js';
import { slow } from '../../full.js';

describe('test questions', () => {
  const [first, again, other] = ['a', 'a', 'b'].map(drawTest);
  const { things } = smallWorld();

  it('are the same for the same commit, and different for another', () => {
    expect(first).toEqual(again);
    const texts = new Set(first.map(({ question }) => question));
    expect(other.filter(({ question }) => texts.has(question)).length).toBeLessThan(
      first.length / 10,
    );
  });

  it('have the planned number, and are about entities reserved for them', () => {
    expect(first).toHaveLength(Object.values(TEST_COUNTS).reduce((a, b) => a + b, 0));
    const elsewhere = things.flatMap((thing) =>
      thing.split === 'kept' ? [] : Object.values(thing.facts).map(({ passageId }) => passageId),
    );
    const known = new Set(elsewhere);
    const used = first.flatMap(({ metadata }) =>
      metadata.graph!.flatMap(({ evidence }) => evidence),
    );
    expect(used.some((id) => known.has(id))).toBe(false);
  });

  it('are half in training wordings, half in unseen ones', () => {
    const seen = first.filter(({ metadata }) => metadata.wording === 'seen').length;
    expect(Math.abs(seen / first.length - 0.5)).toBeLessThan(0.02);
  });
});

const git = (...args: string[]): string =>
  execFileSync('git', args, {
    cwd: packagePath(),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
const draw = await readDraw();
/** A shallow clone lacks the commit that froze the weights. */
const isKnown = ((): boolean => {
  try {
    return draw !== null && git('cat-file', '-t', draw.commit).trim() === 'commit';
  } catch {
    return false;
  }
})();

describe.skipIf(draw === null)('committed test questions (skipped before a draw)', () => {
  it('are drawn by the hash of the commit that they name', async () => {
    const committed = (await loadQuestions()).filter(({ split }) => split === 'test');
    const drawn = drawTest(draw!.commit);
    expect(committed).toHaveLength(drawn.length);
    expect(drawn.filter((question, i) => !isDeepStrictEqual(question, committed[i]))).toEqual([]);
  });

  it.skipIf(!isKnown)('were drawn after the weights, which have not changed since', () => {
    const weights = ['data/checkpoints/*.safetensors', 'data/small-world/passages.jsonl'];
    expect(git('diff', '--name-only', '--diff-filter=MD', draw!.commit, '--', ...weights)).toBe('');
  });
});

/**
 * Samples a fresh test again: it equals the committed one, and repeats no earlier
 * question.
 */
async function expectFresh(
  folder: string,
  earlier: readonly Question[],
  kind?: Parameters<typeof drawConditions>[2],
): Promise<void> {
  const { commit, counts } = (await readDraw(folder))!;
  const committed = await readQuestions(join(folder, 'questions.jsonl'));
  expect(committed).toEqual(drawConditions(commit, earlier, kind));
  expect(committed).toHaveLength(Object.values(counts).reduce((a, b) => a + b, 0));
  const asked = new Set(earlier.map(({ question }) => question));
  expect(committed.filter(({ question }) => asked.has(question))).toEqual([]);
}

describe('the fresh test of conditions', () => {
  it('is drawn by the hash of its commit, without a question of the test', async () => {
    await expectFresh(
      CONDITIONS,
      (await loadQuestions()).filter(({ split }) => split === 'test'),
    );
  });
});

describe('the fresh test of hasty models', () => {
  slow(
    'is drawn by its commit, without a question of the main test or the conditions (needs test:full)',
    async () => {
      const earlier = await earlierQuestions('habit');
      expect(new Set(earlier.map(({ split }) => split))).toEqual(new Set(['test', 'conditions']));
      const { commit } = (await readDraw(join(CONDITIONS, 'habit'))) ?? { commit: 'any' };
      const drawn = drawConditions(commit, earlier, 'habit');
      const asked = new Set(earlier.map(({ question }) => question));
      expect(drawn.filter(({ question }) => asked.has(question))).toEqual([]);
      expect(drawn.every(({ split }) => split === 'habit')).toBe(true);
      const file = join(CONDITIONS, 'habit', 'questions.jsonl');
      if (existsSync(file)) expect(await readQuestions(file)).toEqual(drawn);
    },
  );
});

describe('the fresh test of hybrid questions', () => {
  slow(
    'is drawn by its commit, without a question of an earlier test (needs test:full)',
    async () => {
      const earlier = await earlierQuestions('hybrids');
      expect(new Set(earlier.map(({ split }) => split))).toContain('habit');
      await expectFresh(join(CONDITIONS, 'hybrids'), earlier, 'hybrids');
    },
  );
});

describe('the draw of test questions', () => {
  it('is read from the file next to them; null before the draw', async () => {
    const folder = temporaryFolder();
    expect(await readDraw(folder)).toBeNull();
    writeFileSync(join(folder, 'test-draw.json'), '{"commit":"abc","counts":{"nq":1}}');
    expect(await readDraw(folder)).toEqual({ commit: 'abc', counts: { nq: 1 } });
  });

  it('needs an existing commit', () => {
    expect(() => frozenCommit('no-such-commit')).toThrow();
  });
});
