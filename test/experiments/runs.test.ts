import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lambdaRuns } from '../../lib/experiments/lambda-ablation.js';
import { mainRuns, wholeRuns } from '../../lib/experiments/main-results.js';
import { trainedRuns } from '../../lib/experiments/retrain.js';
import {
  configOf,
  isTrained,
  modelNames,
  modelPath,
  parseModelName,
  rolloutOf,
  runName,
  weightFolders,
  type PolicyRun,
} from '../../lib/training/checkpoints.js';
import { ofWholeWarmUps, keptSteps } from '../../lib/experiments/runs.js';
import { topKRuns } from '../../lib/experiments/top-k.js';
import { temporaryFolder } from '../folder.js';

const RUN: PolicyRun = { method: 'search-r1', model: 'instruct', warmUp: 2, seed: 1 };

describe('the runs', () => {
  const all = trainedRuns();
  const ofMethod = (method: string): PolicyRun[] =>
    mainRuns().filter((run) => run.method === method);

  it('have names of their own, which say what differs and are good for files', () => {
    const names = all.map(runName);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(
      expect.arrayContaining([
        'base-3-search-r1-seed2',
        'instruct-2-search-r1-b4-seed1',
        'instruct-1-parallelsearch-k1-seed1',
        'instruct-1-parallelsearch-d0.5-s0.35-seed1',
      ]),
    );
    for (const name of [...names, ...mainRuns().map(runName)]) expect(name).toMatch(/^[\w.-]+$/);
  });

  it('are trained for the main comparison, the weights of the rewards and the passages a query, each once', () => {
    const names = all.map(runName);
    expect(names).toEqual(expect.arrayContaining([...lambdaRuns(), ...topKRuns()].map(runName)));
    // Two methods from six models with two seeds, one in four turns; seven other weights
    // and two methods with one passage from three.
    expect(names).toHaveLength(2 * 6 * 2 + 6 + 7 * 3 + 2 * 3);
  });

  it('compare both methods from every initial model, with two seeds', () => {
    const of = (method: string): string[] =>
      ofMethod(method).map(({ model, warmUp, seed }) => `${model} ${warmUp} ${seed}`);
    expect(new Set(of('search-r1')).size).toBe(12);
    expect(of('search-r1')).toEqual(of('parallelsearch'));
  });

  it('answer without training once from every initial model; what needs no model, once of each kind', () => {
    for (const method of ['r1', 'untrained:search-r1', 'untrained:parallel', 'untrained:drill'])
      expect(ofMethod(method)).toHaveLength(6);
    expect(ofMethod('lookup')).toHaveLength(2);
  });

  it('have the same steps, rollouts and tokens in training', () => {
    const effortOf = (run: PolicyRun): unknown => {
      const { grpo, lora, rollout } = configOf(run);
      return { grpo, lora, tokens: [rollout.maxNewTokens, rollout.maxInformationTokens] };
    };
    for (const run of all) expect(effortOf(run)).toEqual(effortOf(all[0]));
    expect(configOf(all[0])).toMatchObject({
      grpo: { steps: 200 },
      rollout: { topK: 3, maxSearchTurns: 6 },
    });
  });

  it('answer as they are trained: in four turns, with one passage a query', () => {
    for (const run of all) expect(rolloutOf(run)).toEqual(configOf(run).rollout);
    const fewer: PolicyRun = { ...RUN, method: 'search-r1:b4' };
    expect(rolloutOf(fewer)).toEqual({ ...rolloutOf(RUN), maxSearchTurns: 4 });
    expect(rolloutOf({ ...RUN, topK: 1 })).toEqual({ ...rolloutOf(RUN), topK: 1 });
  });

  it('keep steps of one run of each method', () => {
    const first = { ...RUN, warmUp: 1 };
    expect(keptSteps(first)).toEqual([25, 75]);
    const others = [
      RUN,
      { ...first, model: 'base' },
      { ...first, seed: 2 },
      { ...first, topK: 1 },
    ] as const;
    for (const other of others) expect(keptSteps(other)).toEqual([]);
  });
});

describe('weights', () => {
  const root = temporaryFolder();

  it('are the model’s and those of training, perhaps by another method; without them a run is not trained', () => {
    const [model, adapter] = ['instruct-2', 'instruct-2-search-r1-seed1'].map((name) =>
      join(root, name),
    );
    expect(weightFolders(RUN, root)).toEqual([model, adapter]);
    expect(weightFolders({ ...RUN, method: 'search-r1-parallel-prompt' }, root)).toEqual([
      model,
      adapter,
    ]);
    expect(weightFolders({ ...RUN, method: 'untrained:drill' }, root)).toEqual([model]);
    mkdirSync(model);
    expect(isTrained({ ...RUN, method: 'r1' }, root)).toBe(true);
    expect(isTrained(RUN, root)).toBe(false);
    mkdirSync(adapter);
    expect(isTrained(RUN, root)).toBe(true);
  });

  it('of a warm-up count where no run of that warm-up is missing', () => {
    const others = [1, 2].map((warmUp): PolicyRun => ({ ...RUN, method: 'r1', warmUp }));
    expect(ofWholeWarmUps([RUN, ...others], root)).toEqual([RUN, others[1]]);
    const untrained = { ...RUN, seed: 2 };
    expect(ofWholeWarmUps([RUN, untrained, ...others], root)).toEqual([]);
  });

  it('are found by the name of a model, and the names that there are stand in the error', () => {
    expect(modelNames(root)).toEqual(['instruct-2']);
    expect(parseModelName('instruct-2')).toEqual({ model: 'instruct', warmUp: 2 });
    for (const other of ['instruct', 'instruct-2-search-r1-seed1'])
      expect(parseModelName(other)).toBeNull();
    expect(modelPath('instruct-2', root)).toBe(join(root, 'instruct-2'));
    expect(() => modelPath('base-1', root)).toThrow('Expected a model of instruct-2, or a folder');
  });
});

describe('a warm-up and a seed are compared', () => {
  const root = temporaryFolder();
  const train = (runs: readonly PolicyRun[]): void =>
    runs
      .flatMap((run) => weightFolders(run, root))
      .forEach((folder) => mkdirSync(folder, { recursive: true }));
  const unitsOf = (runs: readonly PolicyRun[]): string[] =>
    [...new Set(runs.map(({ warmUp, seed }) => `${warmUp} ${seed}`))].sort();
  const compared = (warmUp: number, seed: number): PolicyRun[] =>
    mainRuns().filter(
      (run) =>
        run.warmUp === warmUp &&
        run.seed === seed &&
        ['search-r1', 'parallelsearch'].includes(run.method),
    );

  it('once both methods have them from both kinds of model', () => {
    expect(wholeRuns(root)).toEqual([]);
    train(compared(1, 1));
    train(compared(1, 2).slice(1));
    train(compared(2, 1).slice(0, 1));
    expect(unitsOf(wholeRuns(root))).toEqual(['1 1']);
    expect(wholeRuns(root).map(({ method }) => method)).toContain('untrained:drill');
    train(compared(1, 2));
    expect(unitsOf(wholeRuns(root))).toEqual(['1 1', '1 2']);
  });

  it('and a further seed once all these warm-ups have it', () => {
    train(compared(2, 1));
    expect(unitsOf(wholeRuns(root))).toEqual(['1 1', '2 1']);
    train(compared(2, 2));
    expect(unitsOf(wholeRuns(root))).toEqual(['1 1', '1 2', '2 1', '2 2']);
  });
});
