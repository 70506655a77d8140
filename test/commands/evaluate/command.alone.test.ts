/** A user's own model and data, trained by `train` and evaluated. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { runEvaluate } from '../../../lib/commands/evaluate/command.js';
import { runTrain } from '../../../lib/commands/train.js';
import { questionType } from '../../../lib/data/question.js';
import { startWorker } from '../../../lib/io/processes.js';
import { createRetriever } from '../../../lib/retrieval/retrievers.js';
import type { Trajectory } from '../../../lib/rollout/trajectory.js';
import { temporaryFolder } from '../../folder.js';
import { isFull } from '../../full.js';
import { HAS_NATIVE } from '../../tensor/has-backend.js';
import { QUESTIONS, tinyTraining } from '../../training/tiny.js';
import { captured, linesOf, outputs, writeTinyWorld } from '../tiny-world.js';

vi.mock(import('../../../lib/retrieval/retrievers.js'), async (original) => {
  const actual = await original();
  return { ...actual, createRetriever: vi.fn(actual.createRetriever) };
});

vi.mock(import('../../../lib/io/processes.js'), { spy: true });

/** Settings that no preset has. */
const CONFIG = tinyTraining({
  method: 'search-r1',
  model: 'overruled',
  rollout: { prompt: 'search-r1', maxSearchTurns: 1 },
  titleWeight: 0,
  settings: { steps: 1, questionsPerStep: 2, groupSize: 2 },
});

const root = temporaryFolder();
const printed = outputs();
const [adapter, config, out, trajectories] = [
  'run/adapter',
  'config.json',
  'results.jsonl',
  'trajectories.jsonl',
].map((name) => join(root, name));
let model: string;
let data: string;
beforeAll(async () => {
  ({ model, data } = await writeTinyWorld(root));
  writeFileSync(config, JSON.stringify(CONFIG));
  captured('stderr');
  const settings = { config, model, data, seed: 5, out: join(root, 'run') };
  expect(await runTrain({ ...settings, backend: 'wasm' })).toBe(0);
});

const COMMON = { seed: 1, split: 'train', batchSize: 8, backend: 'wasm' } as const;
/** The lines written by an evaluation. */
async function evaluate(more: Partial<Parameters<typeof runEvaluate>[0]>): Promise<object[]> {
  const { out: file } = { out, ...more };
  rmSync(file, { force: true });
  await runEvaluate({ ...COMMON, checkpoints: root, data, trajectories, ...more, out: file });
  return linesOf(file);
}

describe('evaluate', () => {
  it('asks an adapter of a custom model as it was trained', async () => {
    const lines = await evaluate({ adapter });
    expect(lines).toHaveLength(QUESTIONS.length);
    for (const line of lines)
      expect(line).toMatchObject({ method: 'search-r1', model: 'model', seed: 5 });
    for (const { segments, searchTurns } of linesOf<Trajectory>(trajectories)) {
      expect(segments[0].text).toMatch(/^Answer with search\. /);
      expect(searchTurns.length).toBeLessThanOrEqual(1);
    }
    // Without the type, `score` would give other rewards.
    const types = linesOf<Trajectory>(trajectories).map(({ questionType }) => questionType);
    expect(types).toEqual(QUESTIONS.map((question) => questionType(question)));
    expect(printed.stdout).toMatch(
      /^mean of .* tokens written +sub-question recall +evidence recall +critical path\n/,
    );
    expect(printed.stdout).toMatch(/^all +n = 4( +\d+\.\d{3}){12}$/m);
    expect(printed.stdout).not.toContain('Without');
  });

  it('searches as the adapter was trained, unless a retriever is given', async () => {
    await evaluate({ adapter });
    const settings: unknown = expect.objectContaining({ titleWeight: 0, encoder: undefined });
    expect(createRetriever).toHaveBeenLastCalledWith('bm25', expect.anything(), settings);
    await evaluate({ adapter, retriever: 'exact' });
    expect(createRetriever).toHaveBeenLastCalledWith('exact', expect.anything(), settings);
  });

  it('asks an adapter by a given method', async () => {
    for (const line of await evaluate({ model, adapter, method: 'r1' }))
      expect(line).toMatchObject({ method: 'r1', turns: 0, modelCalls: 1 });
  });

  it('asks a model without an adapter', async () => {
    expect(await evaluate({ model, limit: 1 })).toMatchObject([
      { method: 'parallelsearch', model: 'model' },
    ]);
    expect(printed.stderr).toMatch(/^Sample of 1 of 4 questions: .*1 .*parallelizable/m);
  });

  it('applies changed rollout settings', async () => {
    await evaluate({ adapter, set: ['rollout.maxNewTokens=1', 'rollout.maxSearchTurns=0'] });
    const written = linesOf<Trajectory>(trajectories).flatMap(({ segments }) =>
      segments.filter(({ kind }) => kind === 'policy'),
    );
    expect(written.map(({ tokenIds }) => tokenIds.length)).toEqual(QUESTIONS.map(() => 1));
    await expect(evaluate({ adapter, set: ['grpo.steps=3'] })).rejects.toThrow('but got grpo');
    await expect(evaluate({ adapter, set: ['rollout.informationCut=words'] })).rejects.toThrow(
      'informationCut',
    );
  });

  it('reports missing and unknown arguments', async () => {
    const none = join(root, 'none');
    for (const [settings, message] of [
      [{ model: none }, 'a folder in Hugging Face format'],
      [{}, `Expected weights in ${root}/instruct-1`],
      [{ adapter: none }, `Expected weights in ${none}`],
      [{ model, method: 'mine' }, 'Expected a method of lookup, r1,'],
      [{ model, retriever: 'bm52' }, 'Expected a retriever of bm25,'],
      [{ model, split: 'test' }, 'Expected questions of split test'],
    ] as const)
      await expect(evaluate(settings)).rejects.toThrow(message);
  });
});

describe('two processes of evaluate', () => {
  const [asOne, asTwo] = [1, 2].map((n) => join(root, `transcripts-${n}.jsonl`));
  /** Results and trajectories. */
  async function answersOf(more: Parameters<typeof evaluate>[0]): Promise<string[]> {
    const files = { out: more.processes === 1 ? asOne : asTwo, trajectories };
    await evaluate({ adapter, method: 'parallelsearch', batchSize: 1, ...files, ...more });
    return [files.out, trajectories].map((file) => readFileSync(file, 'utf8'));
  }
  beforeEach(() => void vi.mocked(startWorker).mockClear());

  it.each(isFull && HAS_NATIVE ? (['wasm', 'native'] as const) : (['wasm'] as const))(
    'give the same bytes as one on %s',
    async (backend) => {
      const answers = await answersOf({ backend, processes: 1 });
      expect(startWorker).not.toHaveBeenCalled();
      await answersOf({ backend, batchSize: 2 });
      // One process is the default up to two batches.
      expect(startWorker).not.toHaveBeenCalled();
      expect(await answersOf({ backend })).toEqual(answers);
      expect(startWorker).toHaveBeenCalledTimes(availableParallelism() > 1 ? 1 : 0);
      expect(answers[0].split('\n')).toHaveLength(QUESTIONS.length + 1);
    },
  );

  it('keep their answers if one dies', async () => {
    const expected = await answersOf({ processes: 1 });
    rmSync(asTwo, { force: true });
    const { startWorker: start } = await vi.importActual<
      typeof import('../../../lib/io/processes.js')
    >('../../../lib/io/processes.js');
    vi.mocked(startWorker).mockImplementationOnce((url, env) => {
      const worker = start(url, env);
      const send: typeof worker.send = async (request) => {
        const saved = (): string => readFileSync(`${asTwo}.partial`, 'utf8');
        await vi.waitUntil(() => saved() !== '', { timeout: 60_000 });
        worker.stop();
        return worker.send(request);
      };
      return { ...worker, send };
    });
    await expect(answersOf({ processes: 2 })).rejects.toThrow('A worker process ended with');
    expect(printed.stderr).toMatch(/^[1-3] answers are saved; the same command resumes\.$/m);
    expect(await answersOf({ processes: 2 })).toEqual(expected);
    expect(printed.stderr).toMatch(/^Resuming: [1-3] answers already done\.$/m);
  });
});
