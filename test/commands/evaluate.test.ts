/** A user's own model and data: trained by one command, evaluated by the other. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { runEvaluate } from '../../lib/commands/evaluate.js';
import { runTrain } from '../../lib/commands/train.js';
import { parseTrainConfig } from '../../lib/methods/config.js';
import { formatPassages, formatQuestions } from '../../lib/data/flashrag.js';
import { saveModel } from '../../lib/policy/model-folder.js';
import type { Trajectory } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { chattyModel, PASSAGES, QUESTIONS } from '../training/tiny.js';

/** Settings that no preset has. */
const CONFIG = parseTrainConfig({
  method: 'search-r1',
  model: 'tiny',
  seed: 5,
  rollout: { prompt: 'search-r1', splitQueries: true, maxSearchTurns: 1, maxNewTokens: 10 },
  rewards: { preset: 'paper' },
  lora: { rank: 2, alpha: 4 },
  grpo: { steps: 1, questionsPerStep: 2, groupSize: 2 },
});

let root: string;
let [model, data, adapter, config]: string[] = [];
let printed: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'evaluate-'));
  [model, data, adapter, config] = ['model', 'data', 'run/adapter', 'config.json'].map((name) =>
    join(root, name),
  );
  await useBackend('wasm');
  await saveModel(model, chattyModel(), { storage: 'F32' });
  mkdirSync(data);
  writeFileSync(join(data, 'passages.jsonl'), formatPassages(PASSAGES));
  writeFileSync(join(data, 'questions.jsonl'), formatQuestions(QUESTIONS));
  writeFileSync(config, JSON.stringify(CONFIG));
});
afterAll(() => rmSync(root, { recursive: true }));
beforeEach(() => {
  printed = '';
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => (printed += String(text)) !== '');
});
afterEach(() => vi.restoreAllMocks());

const COMMON = { model: 'instruct', seed: 1, split: 'train', batchSize: 8, backend: 'wasm' } as const;
const evaluate = (more: Partial<Parameters<typeof runEvaluate>[0]>): Promise<void> =>
  runEvaluate({ ...COMMON, checkpoints: root, data, ...more });
const linesOf = <T>(file: string): T[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as T);

describe('evaluate', () => {
  const out = (): string => join(root, 'results.jsonl');

  it('asks an adapter of a model of one’s own as it was trained', async () => {
    const trained = await runTrain({
      ...{ config, model, data, out: join(root, 'run'), backend: 'wasm' },
      ...{ method: 'parallelsearch', model: 'instruct', seed: 1 },
    });
    expect(trained).toBe(0);
    const trajectories = join(root, 'trajectories.jsonl');
    await evaluate({ model, adapter, trajectories, out: out() });
    expect(linesOf(out())).toHaveLength(QUESTIONS.length);
    for (const line of linesOf(out()))
      expect(line).toMatchObject({ method: 'search-r1', model: 'model', seed: 5 });
    for (const { segments, searchTurns } of linesOf<Trajectory>(trajectories)) {
      expect(segments[0].text).toMatch(/^Answer with search\. /);
      expect(searchTurns.length).toBeLessThanOrEqual(1);
    }
    expect(printed).toMatch(/^all +n +4 +em /);
  });

  it('asks it as a method does that is named', async () => {
    await evaluate({ model, adapter, method: 'r1', out: out() });
    for (const line of linesOf(out())) expect(line).toMatchObject({ method: 'r1', turns: 0, modelCalls: 1 });
  });

  it('asks a model without an adapter', async () => {
    await evaluate({ model, limit: 1, out: out() });
    expect(linesOf(out())).toMatchObject([{ method: 'parallelsearch', model: 'model' }]);
  });

  it('names the folder that is missing', async () => {
    await expect(evaluate({ model: join(root, 'none') })).rejects.toThrow(`Expected weights in ${root}/none`);
    await expect(evaluate({})).rejects.toThrow(`Expected weights in ${root}/instruct`);
    await expect(evaluate({ model, split: 'test' })).rejects.toThrow('Expected questions of split test');
  });
});
