/**
 * The export for plain PyTorch; with the Python of PARALLELSEARCH_TRL_PYTHON, its three
 * commands on a model of the small world.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadPassages, loadQuestions } from '../../lib/data/flashrag.js';
import { selectSplit } from '../../lib/data/question.js';
import { pythonOptions } from '../../lib/interop/export.js';
import { writeTorch } from '../../lib/interop/torch.js';
import { readTokenizer } from '../../lib/policy/folders/limited-tokenizer.js';
import { loadLocalPolicy } from '../../lib/policy/folders/model-folder.js';
import { createRandom } from '../../lib/random.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { startRetrievalServer } from '../../lib/retrieval/server.js';
import type { RolloutConfig } from '../../lib/rollout/options.js';
import { parseTrajectory } from '../../lib/rollout/recorded.js';
import { rollOut } from '../../lib/rollout/rollout.js';
import type { SearchTurn } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { trainingPreset } from '../../lib/training/presets.js';
import { temporaryFolder } from '../folder.js';
import { MODEL } from './exports.js';
import { PATIENCE_MS, runPython, trlPython } from './python.js';

const root = temporaryFolder();
const folder = path.join(root, 'torch');
const config = trainingPreset('parallelsearch', MODEL, 1);
const questions = (await loadQuestions()).filter((_, i) => i % 40 === 0);
const retriever = createBm25Retriever(await loadPassages());
const val = selectSplit(questions, 'test');
/** What a turn shows, by the file of its settings. */
const TURNS: Record<string, Partial<RolloutConfig>> = {
  raw: { informationCut: 'raw', maxInformationTokens: 40 },
  query: { informationCut: 'query', informationForm: 'json', maxInformationTokens: 120 },
};

async function write(url: string) {
  const train = selectSplit(questions, 'train').filter(({ metadata }) => metadata.graph?.length);
  return writeTorch(folder, {
    questions,
    config,
    model: MODEL,
    retriever: url,
    rewardTest: { recorded: [], numDrawn: 10 },
    demonstrations: { questions: train, retriever },
  });
}

const readLines = (file: string): Record<string, unknown>[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('writeTorch', () => {
  it("writes demonstrations that only train the expert's text", async () => {
    const numbers = await write('http://127.0.0.1:8000/retrieve');
    const tokenizer = await readTokenizer(MODEL);
    const lines = gunzipSync(readFileSync(path.join(folder, 'data', 'demonstrations.jsonl.gz')))
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { tokenIds: number[]; weights: number[] });
    expect(lines).toHaveLength(numbers.demonstrations);
    expect(lines.length).toBeGreaterThan(0);
    const written = lines.map(({ tokenIds, weights }) =>
      tokenizer.decode(tokenIds.filter((_, i) => weights[i] > 0)),
    );
    for (const text of written) {
      expect(text).toContain('<answer>');
      expect(text).not.toContain('Doc 1(');
    }
    expect(written.some((text) => text.includes('##'))).toBe(true);
  });
});

describe.skipIf(!trlPython)(
  'train.py (needs PARALLELSEARCH_TRL_PYTHON)',
  { timeout: PATIENCE_MS },
  () => {
    beforeAll(async () => {
      const server = await startRetrievalServer(retriever);
      await write(server.url);
      const run = (command: string): Promise<string> =>
        runPython(trlPython!, ['train.py', ...command.split(' ')], folder);
      try {
        await run('sft --out warm-up --steps 3 --rows-per-step 4 --rank 4');
        await run(
          'grpo --out trained --steps 2 --questions 2 --group 4 --rows 8 --rank 4 --learning-rate 1e-2 --warmup-steps 1 --validate-every 2',
        );
        await run('answer --out before.jsonl --rows 8 --rank 4');
        await run('answer --out after.jsonl --adapter trained/last --rows 8 --rank 4');
        const search = JSON.parse(readFileSync(path.join(folder, 'search.json'), 'utf8')) as object;
        for (const [name, changes] of Object.entries(TURNS)) {
          const rollout = pythonOptions({ ...config.rollout, ...changes });
          writeFileSync(path.join(folder, `${name}.json`), JSON.stringify({ ...search, rollout }));
          await run(`answer --search ${name}.json --out ${name}.jsonl --rows 8 --rank 4`);
        }
      } finally {
        await server.close();
      }
    }, PATIENCE_MS);

    it('runs supervised training and RL', () => {
      const [{ loss }] = readLines(path.join(folder, 'warm-up', 'metrics.jsonl'));
      expect(loss).toBeGreaterThan(0);
      const metrics = readLines(path.join(folder, 'trained', 'metrics.jsonl'));
      expect(metrics.filter(({ validation }) => validation).map(({ step }) => step)).toEqual([
        0, 2,
      ]);
      expect(metrics.find(({ step, kl }) => step === 2 && kl !== undefined)?.kl).toBeGreaterThan(0);
    });

    it.each<[string, string | undefined, Partial<RolloutConfig>]>([
      ['before.jsonl', undefined, {}],
      ['after.jsonl', 'trained/last', {}],
      ['raw.jsonl', undefined, TURNS.raw],
      ['query.jsonl', undefined, TURNS.query],
    ])('answers like the library: %s', async (file, adapter, changes) => {
      await useBackend('wasm');
      const options = adapter === undefined ? {} : { adapter: path.join(folder, adapter) };
      const policy = await loadLocalPolicy(MODEL, options);
      const { trajectories } = await rollOut(policy, retriever, val, {
        ...config.rollout,
        ...changes,
        temperature: 0,
        randoms: val.map((_, i) => createRandom(i)),
      });
      policy.dispose();
      const answers = readLines(path.join(folder, file)).map((line) => parseTrajectory(line));
      expect(answers.length).toBe(trajectories.length);
      for (const [i, answer] of answers.entries()) {
        const { segments, searchTurns, modelCalls, finish } = trajectories[i];
        expect(answer.segments.map(({ text }) => text)).toEqual(segments.map(({ text }) => text));
        const shown = (turns: readonly SearchTurn[]) =>
          turns.map(({ queries, results }) => [
            queries,
            results.map((result) =>
              result.status === 'ok'
                ? result.passages.map(({ id, isCut }) => [id, isCut ?? false])
                : result.status,
            ),
          ]);
        expect(shown(answer.searchTurns)).toEqual(shown(searchTurns));
        expect([answer.modelCalls, answer.finish]).toEqual([modelCalls, finish]);
      }
    });
  },
);
