import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, describe, vi } from 'vitest';
import fewSearches from '../../examples/reward.js';
import { runTrain } from '../../lib/commands/train.js';
import { formatPassages, formatQuestions } from '../../lib/data/flashrag.js';
import { saveModel, trainingPreset, useBackend } from '../../lib/index.js';
import { rolloutLike } from '../rewards/rollouts.js';
import { chattyModel, PASSAGES, QUESTIONS } from '../training/tiny.js';

const FILE = fileURLToPath(new URL('../../examples/reward.ts', import.meta.url));
const searching = (times: number, more = {}) =>
  rolloutLike({ searchTurns: Array.from({ length: times }, () => ['a']), ...more });

describe('examples/reward.ts', () => {
  it('is highest for right answers with the fewest searches of the group', () => {
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

  it('is trained with by train --reward, and recorded under its name', async () => {
    const root = mkdtempSync(join(tmpdir(), 'reward-'));
    const [data, model, out, config] = ['data', 'model', 'run', 'config.json'].map((name) =>
      join(root, name),
    );
    mkdirSync(data);
    writeFileSync(join(data, 'passages.jsonl'), formatPassages(PASSAGES));
    writeFileSync(join(data, 'questions.jsonl'), formatQuestions(QUESTIONS));
    await useBackend('wasm');
    await saveModel(model, chattyModel(), { storage: 'F32' });
    const preset = trainingPreset('search-r1', model, 1);
    const grpo = { ...preset.grpo, steps: 1, questionsPerStep: 1, groupSize: 2 };
    const rollout = { ...preset.rollout, maxNewTokens: 8 };
    writeFileSync(config, JSON.stringify({ ...preset, lora: { rank: 2, alpha: 4 }, grpo, rollout }));
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(await runTrain({ config, data, out, reward: [FILE], backend: 'wasm' })).toBe(0);
    vi.restoreAllMocks();
    const [line] = readFileSync(join(out, 'metrics.jsonl'), 'utf8').split('\n');
    expect(Object.keys(JSON.parse(line) as object)).toContain('rewards/few_searches');
    rmSync(root, { recursive: true });
  });
});
