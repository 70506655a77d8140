import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { leastToMost } from '../../examples/method.js';
import { evaluateCommand, runEvaluate } from '../../lib/commands/evaluate/command.js';
import { runTrain, trainCommand } from '../../lib/commands/train.js';
import { METHODS, resolveRollout, trainingPreset } from '../../lib/index.js';
import { valueTitle } from '../../lib/report/titles.js';
import type { Trajectory } from '../../lib/rollout/trajectory.js';
import { captured, linesOf, writeTinyWorld } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';

const root = temporaryFolder();

const choicesOf = (command: ReturnType<typeof trainCommand>): readonly string[] | undefined =>
  command.options.find(({ long }) => long === '--method')?.argChoices;

describe('examples/method.ts', () => {
  it('is a choice of the commands, with its title in tables', () => {
    const { name } = leastToMost;
    expect(METHODS.names().at(-1)).toBe(name);
    expect(choicesOf(trainCommand())).toContain(name);
    expect(choicesOf(evaluateCommand())).toContain(name);
    expect(valueTitle('method', name)).toBe('Least-to-most');
    expect(resolveRollout(name, 'small-world')).toMatchObject({
      prompt: name,
      maxSearchTurns: 6,
      splitQueries: false,
    });
    expect(trainingPreset(name, 'base', 1).rewards).toEqual({ preset: 'search-r1' });
    expect(() => METHODS.add(leastToMost)).toThrow('there is a least-to-most already');
  });

  it('can be trained and evaluated, under its own prompt', async () => {
    for (const stream of ['stdout', 'stderr'] as const) captured(stream);
    const { model, data } = await writeTinyWorld(root);
    const out = join(root, 'run');
    const config = { ...trainingPreset(leastToMost.name, model, 1), lora: { rank: 2, alpha: 4 } };
    config.grpo = { ...config.grpo!, steps: 1, questionsPerStep: 1, groupSize: 2 };
    config.rollout = { ...config.rollout, maxNewTokens: 8 };
    const file = join(root, 'config.json');
    writeFileSync(file, JSON.stringify(config));
    expect(await runTrain({ config: file, data, out, backend: 'wasm' })).toBe(0);
    const trajectories = join(root, 'trajectories.jsonl');
    await runEvaluate({
      adapter: join(out, 'adapter'),
      data,
      trajectories,
      split: 'train',
      limit: 1,
      seed: 1,
      checkpoints: root,
      batchSize: 1,
      backend: 'wasm',
    });
    const [line] = linesOf<Trajectory & { method: string }>(trajectories);
    expect(line.method).toBe('least-to-most');
    expect(line.segments[0].text).toMatch(
      /^Answer with search, the easiest part first\. Question: /,
    );
  });
});
