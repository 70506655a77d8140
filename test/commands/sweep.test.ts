/** A grid of trainings as a user runs it: all combinations, one page, and resuming. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { expandGrid } from '../../lib/commands/sweep.js';
import { temporaryFolder } from '../folder.js';
import { isFull } from '../full.js';
import { isBuilt, refusal, runCommand, startCommand, words } from './command-line.js';
import { linesOf, writeTinyWorld } from './tiny-world.js';

const root = temporaryFolder();
const STEPS = 15;
const BASE = {
  method: 'parallelsearch',
  model: 'instruct-1',
  seed: 1,
  rollout: { prompt: 'parallel', splitQueries: true, maxSearchTurns: 1, maxNewTokens: 10 },
  rewards: { preset: 'paper' },
  lora: { rank: 2, alpha: 4 },
  grpo: { steps: STEPS, questionsPerStep: 2, groupSize: 2 },
};

describe('expandGrid', () => {
  it('makes every combination, named after its values', async () => {
    const grid = await expandGrid({
      ...BASE,
      sweep: { 'rewards.lambdaD': [0.15, 0.5], seed: [1, 2], model: ['base-1'] },
    });
    expect(grid.map(({ name }) => name)).toEqual([
      'rewards.lambdaD=0.15,seed=1,model=base-1',
      'rewards.lambdaD=0.15,seed=2,model=base-1',
      'rewards.lambdaD=0.5,seed=1,model=base-1',
      'rewards.lambdaD=0.5,seed=2,model=base-1',
    ]);
    expect(grid[2].config).toMatchObject({
      seed: 1,
      model: 'base-1',
      rewards: { preset: 'paper', lambdaD: 0.5 },
      grpo: { steps: STEPS, groupSize: 2 },
    });
  });

  it('gives each combination its own folder, or rejects the grid', async () => {
    const models = ['a/same', 'b/same', 'c/other'].map((name) => join(root, name));
    for (const model of models) {
      mkdirSync(model, { recursive: true });
      writeFileSync(join(model, 'config.json'), '{}');
    }
    const names = (await expandGrid({ ...BASE, sweep: { model: models } })).map(({ name }) => name);
    expect(names[0]).toMatch(/_a_same$/);
    expect(names[1]).toMatch(/_b_same$/);
    expect(names[2]).toBe('model=other');
    const alike = expandGrid({ ...BASE, sweep: { model: ['x y', 'x_y'] } });
    await expect(alike).rejects.toThrow(/model=x_y/);
    await expect(expandGrid({ ...BASE, sweep: { seed: [1, 1] } })).rejects.toThrow(/seed=1/);
  });

  it('keeps letters of other scripts, and rejects names that are too long', async () => {
    const models = ['é', '模型'].map((name) => join(root, name));
    for (const folder of models) {
      mkdirSync(folder);
      writeFileSync(join(folder, 'config.json'), '{}');
    }
    const named = await expandGrid({ ...BASE, sweep: { model: models } });
    expect(named.map(({ name }) => name)).toEqual(['model=é', 'model=模型']);
    const long = Array.from({ length: 100 }, (_, i) => i + 1);
    const grid = expandGrid({ ...BASE, sweep: { 'grpo.topKs': [long] } });
    await expect(grid).rejects.toThrow(/255 bytes.*grpo\.topKs=_1,2/s);
  });

  it('rejects combinations that are the same training', async () => {
    const sweep = { rollout: [{ topK: 1 }, { topK: 2 }], 'rollout.topK': [3] };
    await expect(expandGrid({ ...BASE, sweep })).rejects.toThrow(/topK_1_,.*topK_2_,.*same/s);
    await expect(expandGrid({ ...BASE, sweep: { '__proto__.x': [1] } })).rejects.toThrow();
  });

  it('rejects a file without lists, and unknown settings', async () => {
    await expect(expandGrid(BASE)).rejects.toThrow(/sweep/);
    await expect(expandGrid({ ...BASE, sweep: { seed: 1 } })).rejects.toThrow(/sweep.seed/);
    const misspelt = expandGrid({ ...BASE, sweep: { 'rewards.lamdaD': [1] } });
    await expect(misspelt).rejects.toThrow(/lamdaD/);
  });
});

describe.skipIf(!isBuilt)('sweep (needs dist/)', () => {
  const [config, out] = [join(root, 'sweep.json'), join(root, 'out')];
  let args: string[];
  beforeAll(async () => {
    const { model, data } = await writeTinyWorld(root);
    writeFileSync(
      config,
      JSON.stringify({ ...BASE, model, sweep: { 'rewards.lambdaD': [0.1, 0.9] } }),
    );
    args = words`sweep ${config} --out ${out} --data ${data} --backend wasm --evaluate train`;
  });
  const metrics = (lambda: number): string =>
    join(out, `rewards.lambdaD=${lambda}`, 'metrics.jsonl');

  it('loses nothing when stopped, and ends with a page about all trainings', async () => {
    for (const numSteps of isFull ? [1, STEPS] : [STEPS]) {
      const child = startCommand(args);
      const stderr = text(child.stderr);
      // A line may be read while it is written.
      const numWritten = (): number => readFileSync(metrics(0.1), 'utf8').split('\n').length - 1;
      while (!existsSync(metrics(0.1)) || numWritten() < numSteps) await sleep(10);
      child.kill('SIGINT');
      const code = await new Promise((resolve) => void child.on('close', resolve));
      expect(code).toBe(130);
      expect(await stderr).toContain('Stopped. The same command');
      expect(existsSync(join(out, 'compare.html'))).toBe(false);
    }

    const { code: ended, stderr } = await runCommand(args);
    expect(ended, stderr).toBe(0);
    expect(stderr).toMatch(/^2 training runs, \d of them finished; \d+ steps/);
    expect([0.1, 0.9].map((lambda) => linesOf(metrics(lambda)).length)).toEqual([STEPS, STEPS]);
    const html = readFileSync(join(out, 'compare.html'), 'utf8');
    expect(html).toContain('<h1>Compared: rewards.lambdaD=0.1 and rewards.lambdaD=0.9');
    expect(html).toContain('Exact match of rewards.lambdaD=0.9 against rewards.lambdaD=0.1:');
  });

  it('rejects other settings, and leaves the runs as they are', async () => {
    const run = join(out, 'rewards.lambdaD=0.1');
    const files = () => readdirSync(run).map((name) => [name, statSync(join(run, name)).mtimeMs]);
    const before = files();
    const json = JSON.parse(readFileSync(config, 'utf8')) as object;
    const other = join(root, 'other.json');
    writeFileSync(other, JSON.stringify({ ...json, seed: 7 }));
    const changed = args.map((arg) => (arg === config ? other : arg));
    expect(await refusal(changed)).toMatch(/seed is 1 there, 7 here/);
    expect(files()).toEqual(before);
  });

  it('rejects a split without questions before training', async () => {
    const elsewhere = [...args.slice(0, -1), 'test', '--out', join(root, 'elsewhere')];
    expect(await refusal(elsewhere)).toContain('Expected questions of split test');
    expect(existsSync(join(root, 'elsewhere'))).toBe(false);
  });

  it('repeats nothing that is finished', async () => {
    const answers = join(out, 'rewards.lambdaD=0.9', 'answers-train.jsonl');
    const before = statSync(answers).mtimeMs;
    const { code, stderr } = await runCommand(args);
    expect(code).toBe(0);
    expect(stderr).toContain('2 training runs, 2 of them finished; 0 steps to do');
    expect(linesOf(metrics(0.9))).toHaveLength(STEPS);
    expect(statSync(answers).mtimeMs).toBe(before);
  });

  it('answers again with the adapter of a run whose checkpoint was removed', async () => {
    const run = join(out, 'rewards.lambdaD=0.9');
    const answers = join(run, 'answers-train.jsonl');
    writeFileSync(answers, `${readFileSync(answers, 'utf8').split('\n')[0]}\n`);
    rmSync(join(run, 'checkpoint'), { recursive: true });
    // Without --evaluate first: the later call finds the run trained.
    for (const given of [args.slice(0, -2), args]) {
      const { code, stderr } = await runCommand(given);
      expect(code, stderr).toBe(0);
    }
    const other = join(out, 'rewards.lambdaD=0.1', 'answers-train.jsonl');
    expect(linesOf(answers)).toHaveLength(linesOf(other).length);
  });
});
