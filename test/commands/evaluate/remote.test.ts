/** Evaluating a remote policy, behind a server that answers like vLLM. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { evaluateCommand, runEvaluate } from '../../../lib/commands/evaluate/command.js';
import { writeFileSafely } from '../../../lib/io/files.js';
import { loadLocalPolicy } from '../../../lib/policy/folders/model-folder.js';
import type { Trajectory } from '../../../lib/rollout/trajectory.js';
import { trainingPreset } from '../../../lib/training/presets.js';
import { temporaryFolder } from '../../folder.js';
import { startVllmStandIn } from '../../policy/api/vllm-stand-in.js';
import { linesOf, outputs, writeTinyWorld } from '../tiny-world.js';

const root = temporaryFolder();
const printed = outputs();
const [out, trajectories, config] = ['answers.jsonl', 'trajectories.jsonl', 'config.json'].map(
  (name) => join(root, name),
);
const { model, data } = await writeTinyWorld(root);
const server = await startVllmStandIn(await loadLocalPolicy(model), {
  model: 'served',
  root: model,
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.splice(0);
  rmSync(out, { force: true });
});

const evaluate = (more: Partial<Parameters<typeof runEvaluate>[0]>): Promise<number> =>
  runEvaluate({
    data,
    out,
    trajectories,
    seed: 1,
    checkpoints: root,
    split: 'train',
    promptForm: 'short',
    batchSize: 2,
    backend: 'wasm',
    set: ['rollout.maxNewTokens=24'],
    ...more,
  });

describe('evaluate --policy', () => {
  it("gives the answers of the same model run locally, by the server's token ids", async () => {
    await evaluate({ policy: server.api });
    const [remote, written] = [linesOf(out), linesOf<Trajectory>(trajectories)];
    expect(printed.stderr).toContain(`policy: served at ${server.api}, by token ids\n`);
    rmSync(out);
    await evaluate({ model });
    const served = { model: 'served', settingsHash: expect.any(String) as string };
    expect(remote).toEqual(linesOf(out).map((line) => ({ ...line, ...served })));
    const local = linesOf<Trajectory>(trajectories);
    for (const [i, { segments }] of written.entries()) {
      expect(segments.map(({ tokenIds }) => tokenIds)).toEqual(
        local[i].segments.map(({ tokenIds }) => tokenIds),
      );
      for (const { kind, tokenIds, logProbs } of segments)
        expect(logProbs?.length).toBe(kind === 'policy' ? tokenIds.length : undefined);
    }
  });

  it('follows a training configuration', async () => {
    const preset = trainingPreset('search-r1', 'instruct-1', 1);
    const rollout = { ...preset.rollout, maxNewTokens: 7 };
    await writeFileSafely(config, JSON.stringify({ ...preset, rollout }));
    await evaluate({ policy: server.api, config, set: [], limit: 1 });
    expect(server.requests.slice(1).map(({ max_tokens: n }) => n)).toContain(7);
    expect(linesOf(out)).toMatchObject([{ method: 'search-r1', model: 'served' }]);
  });

  it('parses token prices', async () => {
    const parse = (price: string) =>
      evaluateCommand()
        .exitOverride()
        .parseAsync(['--price', price, '--policy', 'no:where'], { from: 'user' });
    await expect(parse('1')).rejects.toThrow('Expected two prices, such as 0.5,1.5, but got 1.');
    await expect(parse('1,2,3')).rejects.toThrow('Expected two prices');
    await expect(parse('0.5,1.5')).rejects.toThrow(
      'Expected an address that begins with http:, https:',
    );
  });
});
