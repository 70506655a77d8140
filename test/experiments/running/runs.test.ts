import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { matching } from '../../../lib/evaluation/figures.js';
import { dropIncompleteSeeds } from '../../../lib/experiments/lambda-ablation.js';
import { mainRuns, wholeRuns } from '../../../lib/experiments/main-results.js';
import { trainedRuns } from '../../../lib/experiments/running/retrain.js';
import { listFolders } from '../../../lib/policy/folders/policy-folders.js';
import { modelNames, modelPath, parseModelName } from '../../../lib/training/models.js';
import {
  isTrained,
  rolloutForRun,
  trainConfigForRun,
  runName,
  weightFolders,
  type PolicyRun,
} from '../../../lib/experiments/running/policy-runs.js';
import { temporaryFolder } from '../../folder.js';

const RUN: PolicyRun = { method: 'search-r1', model: 'instruct', initSeed: 2, seed: 1 };

describe('runs', () => {
  const all = trainedRuns();

  it('have unique names that are valid file names', () => {
    const names = all.map(runName);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(
      expect.arrayContaining([
        'base-3-search-r1-seed2',
        'instruct-2-search-r1-b4-seed1',
        'instruct-1-parallelsearch-k1-seed1',
        'instruct-1-parallelsearch-d0.5-s0.35-seed1',
        'hasty-2-search-r1-100steps-seed1',
      ]),
    );
    for (const name of [...names, ...mainRuns().map(runName)]) expect(name).toMatch(/^[\w.-]+$/);
  });

  it('compare both methods from every initial model with two seeds', () => {
    const of = (method: string): string[] =>
      matching(mainRuns(), { method }).map(
        ({ model, initSeed, seed }) => `${model} ${initSeed} ${seed}`,
      );
    expect(new Set(of('search-r1')).size).toBe(12);
    expect(of('search-r1')).toEqual(of('parallelsearch'));
  });

  it('train with the same steps, rollouts and tokens', () => {
    const trainingCost = (run: PolicyRun): unknown => {
      const { grpo, lora, rollout } = trainConfigForRun(run);
      return { grpo, lora, tokens: [rollout.maxNewTokens, rollout.maxInformationTokens] };
    };
    const asUsual = ({ steps, topKs, halvedBy }: PolicyRun): boolean =>
      !steps && !topKs && !halvedBy;
    for (const run of all.filter(asUsual)) expect(trainingCost(run)).toEqual(trainingCost(all[0]));
    const rollout = { topK: 3, maxSearchTurns: 6 };
    expect(trainConfigForRun(all[0])).toMatchObject({ grpo: { steps: 200 }, rollout });
    const hasty: PolicyRun = { ...RUN, model: 'hasty' };
    const grpo = { ...trainConfigForRun(hasty).grpo, steps: 7 };
    expect(trainConfigForRun({ ...hasty, steps: 7 })).toMatchObject({ model: 'hasty-2', grpo });
  });

  it("answer with their training's rollout settings", () => {
    for (const run of all) expect(rolloutForRun(run)).toEqual(trainConfigForRun(run).rollout);
    const fewer: PolicyRun = { ...RUN, method: 'search-r1:b4' };
    expect(rolloutForRun(fewer)).toEqual({ ...rolloutForRun(RUN), maxSearchTurns: 4 });
    expect(rolloutForRun({ ...RUN, topK: 1 })).toEqual({ ...rolloutForRun(RUN), topK: 1 });
  });
});

describe('weights', () => {
  const root = temporaryFolder();

  it('are those of the model and the adapter, possibly of another method; a run without them is untrained', () => {
    const [model, adapter] = ['instruct-2', 'instruct-2-search-r1-seed1'].map((name) =>
      join(root, name),
    );
    for (const method of ['search-r1', 'search-r1-parallel-prompt'])
      expect(weightFolders({ ...RUN, method }, root)).toEqual({ model, adapter });
    expect(weightFolders({ ...RUN, method: 'untrained:drill' }, root)).toEqual({ model });
    mkdirSync(model);
    expect(isTrained({ ...RUN, method: 'r1' }, root)).toBe(true);
    expect(isTrained(RUN, root)).toBe(false);
    mkdirSync(adapter);
    expect(isTrained(RUN, root)).toBe(true);
  });

  it('only count for seeds of initial models without missing runs', () => {
    const others = [1, 2].map((initSeed): PolicyRun => ({ ...RUN, method: 'r1', initSeed }));
    expect(dropIncompleteSeeds([RUN, ...others], root)).toEqual([RUN, others[1]]);
    const untrained = { ...RUN, seed: 2 };
    expect(dropIncompleteSeeds([RUN, untrained, ...others], root)).toEqual([]);
  });

  it('are found by model name; the error lists the names', () => {
    expect(modelNames(root)).toEqual(['instruct-2']);
    expect(parseModelName('instruct-2')).toEqual({ model: 'instruct', initSeed: 2 });
    for (const other of ['instruct', 'instruct-2-search-r1-seed1'])
      expect(parseModelName(other)).toBeNull();
    expect(modelPath('instruct-2', root)).toBe(join(root, 'instruct-2'));
    expect(() => modelPath('base-1', root)).toThrow(/instruct-2/);
  });
});

describe('wholeRuns', () => {
  const root = temporaryFolder();
  const train = (runs: readonly PolicyRun[]): void =>
    runs
      .flatMap((run) => listFolders(weightFolders(run, root)))
      .forEach((folder) => mkdirSync(folder, { recursive: true }));
  const seedPairs = (runs: readonly PolicyRun[]): string[] =>
    [...new Set(runs.map(({ initSeed, seed }) => `${initSeed} ${seed}`))].sort();
  const compared = (initSeed: number, seed: number): PolicyRun[] =>
    matching(mainRuns(), { initSeed, seed, method: ['search-r1', 'parallelsearch'] });

  it('have both methods from both initial models', () => {
    expect(wholeRuns(root)).toEqual([]);
    train(compared(1, 1));
    train(compared(1, 2).slice(1));
    train(compared(2, 1).slice(0, 1));
    expect(seedPairs(wholeRuns(root))).toEqual(['1 1']);
    expect(wholeRuns(root).map(({ method }) => method)).toContain('untrained:drill');
    train(compared(1, 2));
    expect(seedPairs(wholeRuns(root))).toEqual(['1 1', '1 2']);
  });

  it('have another seed once every initial model has it', () => {
    train(compared(2, 1));
    expect(seedPairs(wholeRuns(root))).toEqual(['1 1', '2 1']);
    train(compared(2, 2));
    expect(seedPairs(wholeRuns(root))).toEqual(['1 1', '1 2', '2 1', '2 2']);
  });
});
