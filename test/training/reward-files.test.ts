import { readdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadRewards, rewardFiles } from '../../lib/training/reward-files.js';
import { temporaryFolder } from '../folder.js';
import { rolloutLike } from '../rewards/rollouts.js';

const folder = temporaryFolder();
function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

describe('loadRewards', () => {
  it('loads TypeScript with local modules and this library, without leftovers', async () => {
    write('limit.ts', 'export const LIMIT: number = 2;');
    const file = write(
      'brief.ts',
      `import { outcomeReward, type Reward, type ScoringInput } from 'parallelsearch';
       import { LIMIT } from './limit.js';
       const brief: Reward = {
         name: 'brief',
         score: ({ searchTurns, answer, goldenAnswers }: ScoringInput) =>
           outcomeReward(answer, goldenAnswers) + (searchTurns.length > LIMIT ? -1 : 0),
       };
       export default brief;`,
    );
    const [brief] = await loadRewards(file);
    expect(brief.name).toBe('brief');
    expect(brief.score(rolloutLike(), [])).toBe(1);
    expect(brief.score(rolloutLike({ searchTurns: [['a'], ['b'], ['c']] }), [])).toBe(0);
    expect(readdirSync(folder).toSorted()).toEqual(['brief.ts', 'limit.ts']);
  });

  it('loads JavaScript with a list of rewards', async () => {
    const file = write(
      'two.mjs',
      `const zero = (name) => ({ name, weight: 0, score: () => 0 }); export default [zero('a'), zero('b')];`,
    );
    expect((await loadRewards(file)).map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('loads TypeScript that imports a module later', async () => {
    write('later.ts', 'export const name: string = "late";');
    const file = write(
      'early.ts',
      `const { name } = await import('./later.js'); export default { name, score: () => 0 };`,
    );
    expect((await loadRewards(file))[0].name).toBe('late');
  });

  it.each([
    ['reward.py', '', /Expected a reward file in \.ts, \.mjs, \.js, but got .*reward\.py\./],
    ['none.mjs', 'export const reward = 1;', /none\.mjs to export a reward by default/],
    ['name.ts', 'export default { score: () => 1 };', /name\.ts to export a reward by default/],
    ['empty.mjs', 'export default [];', /empty\.mjs to export a reward by default/],
    [
      'cut.ts',
      'export default {',
      /^Expected .*cut\.ts to be a module, but: .*\[PARSE_ERROR\] Expected `}`/s,
    ],
    ['broken.ts', 'throw new Error("as its module says");', /as its module says/],
  ])('rejects %s containing %j', async (name, text, message) => {
    await expect(loadRewards(write(name, text))).rejects.toThrow(message);
  });
});

describe('rewardFiles', () => {
  it.each(['own.ts', 'own.mjs'])('lists %s and what it imports, but not packages', async (name) => {
    write('inner.mjs', `export const a = 1;`);
    write('outer.mjs', `export * from './inner.mjs';`);
    write('table.json', '{"b": 1}');
    write('lazy.mjs', 'export const c = 1;');
    const file = write(
      name,
      `import { mean } from 'd3-array';
       import { readFileSync } from 'node:fs';
       import { outcomeReward } from 'parallelsearch';
       import { a } from './outer.mjs';
       import table from './table.json' with { type: 'json' };
       const { c } = await import('./lazy.mjs');
       export default { name: 'own', score: () => a + table.b + c + mean([1]) + readFileSync.length + outcomeReward.length };`,
    );
    const names = (await rewardFiles(file)).map((path) => relative(folder, path));
    expect(names).toEqual([name, 'inner.mjs', 'lazy.mjs', 'outer.mjs', 'table.json']);
  });
});
