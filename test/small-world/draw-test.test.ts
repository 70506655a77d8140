import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TEST_COUNTS } from '../../lib/small-world/benchmarks.js';
import { drawTest, frozenCommit, readDraw } from '../../lib/small-world/draw-test.js';
import { smallWorld } from '../../lib/small-world/build.js';
import { temporaryFolder } from '../folder.js';

describe('the test questions', () => {
  const [first, again, other] = ['a', 'a', 'b'].map(drawTest);
  const { things } = smallWorld();

  it('are the same for the same commit, and others for another', () => {
    expect(first).toEqual(again);
    const texts = new Set(first.map(({ question }) => question));
    expect(other.filter(({ question }) => texts.has(question)).length).toBeLessThan(first.length / 10);
  });

  it('are as many as were planned, about things that are kept for them', () => {
    expect(first).toHaveLength(Object.values(TEST_COUNTS).reduce((a, b) => a + b, 0));
    const elsewhere = things.flatMap((thing) =>
      thing.split === 'kept' ? [] : Object.values(thing.facts).map(({ passageId }) => passageId),
    );
    const known = new Set(elsewhere);
    const used = first.flatMap(({ metadata }) => metadata.graph!.flatMap(({ evidence }) => evidence));
    expect(used.some((id) => known.has(id))).toBe(false);
  });

  it('are worded as in training in one half, as never before in the other', () => {
    const seen = first.filter(({ metadata }) => metadata.wording === 'seen').length;
    expect(Math.abs(seen / first.length - 0.5)).toBeLessThan(0.02);
  });
});

describe('their draw', () => {
  it('is read from beside them, and null before it', async () => {
    const folder = temporaryFolder();
    expect(await readDraw(folder)).toBeNull();
    writeFileSync(join(folder, 'test-draw.json'), '{"commit":"abc","counts":{"nq":1}}');
    expect(await readDraw(folder)).toEqual({ commit: 'abc', counts: { nq: 1 } });
  });

  it('wants a commit that there is', () => {
    expect(() => frozenCommit('no-such-commit')).toThrow();
  });
});
