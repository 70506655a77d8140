import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, describe } from 'vitest';
import fewSearches from '../../examples/reward.js';
import { trainCommand } from '../../lib/commands/train.js';
import { captured, linesOf, writeTinyWorld } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { rolloutLike } from '../rewards/rollouts.js';
import { tinyTraining } from '../training/tiny.js';

const FILE = fileURLToPath(new URL('../../examples/reward.ts', import.meta.url));
const searching = (times: number, more = {}) =>
  rolloutLike({ searchTurns: Array.from({ length: times }, () => ['a']), ...more });

describe('examples/reward.ts', () => {
  it('is highest for right answers with the fewest searches in the group', () => {
    const wrong = searching(1, { answer: 'nonsense' });
    const group = [searching(2), searching(4), searching(8), wrong];
    const scores = group.map((rollout) => fewSearches.score(rollout, group) as number);
    expect(scores[0]).toBe(1);
    expect(scores[1]).toBeCloseTo(Math.sin((2 * Math.PI) / 3), 12);
    expect(scores[2]).toBeLessThan(scores[1]);
    expect(scores[3]).toBe(0);
    const none = [searching(0), searching(1)];
    expect(none.map((rollout) => fewSearches.score(rollout, none))).toEqual([1, 0]);
  });

  it('can be used with train --reward, and is recorded under its name', async () => {
    const root = temporaryFolder();
    const [out, config, taken] = ['run', 'config.json', 'taken.mjs'].map((name) =>
      join(root, name),
    );
    const { model, data } = await writeTinyWorld(root);
    const grpo = { steps: 1, questionsPerStep: 1, groupSize: 2 };
    writeFileSync(config, JSON.stringify(tinyTraining({ model, grpo })));
    writeFileSync(taken, `export default { name: 'format', score: () => 1 };`);
    const train = (...files: string[]): Promise<unknown> => {
      const rewards = files.flatMap((file) => ['--reward', file]);
      const settings = ['--config', config, '--data', data, '--out', out, '--backend', 'wasm'];
      return trainCommand().parseAsync([...settings, ...rewards], { from: 'user' });
    };
    captured('stderr');
    await expect(train(FILE, taken)).rejects.toThrow(/format/);
    await train(FILE);
    expect(process.exitCode).toBe(0);
    expect(linesOf(join(out, 'metrics.jsonl'))[0]).toHaveProperty(['rewards/few_searches']);
  });
});
