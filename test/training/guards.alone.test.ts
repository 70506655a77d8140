import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { questionType } from '../../lib/data/question.js';
import type { Model } from '../../lib/policy/model/model.js';
import { disposeWeights } from '../../lib/policy/model/weights.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import type { Reward } from '../../lib/rewards/reward.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { parseSafetensors } from '../../lib/tensor/safetensors.js';
import { decimalText } from '../../lib/text/english.js';
import { parseTrainConfig, trainerSettings } from '../../lib/training/config.js';
import {
  checkGuards,
  mostSevere,
  resolveGuards,
  type Alarm,
  type GuardSettings,
} from '../../lib/training/guards.js';
import { TRAINER_NAMES } from '../../lib/training/methods.js';
import { BEST_ADAPTER, runTraining, type TrainingRun } from '../../lib/training/run.js';
import { linesOf as readLines } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { isFull, slow } from '../full.js';
import { chattyModel, LENGTH_REWARD, QUESTIONS, TASK, tinyModel, tinyTraining } from './tiny.js';

/** How often the KL runs away at step 2: until the given number of rollbacks. */
const diverging = vi.hoisted(() => ({ times: 0 }));
vi.mock('../../lib/training/trainers.js', async (load) => {
  const { createTrainer } = await load<typeof import('../../lib/training/trainers.js')>();
  return {
    createTrainer: async (
      task: Parameters<typeof createTrainer>[0],
    ): ReturnType<typeof createTrainer> => {
      const trainer = await createTrainer(task);
      return {
        ...trainer,
        next: async (isUsable) => {
          const { step, rollbacks } = trainer.session;
          const { metrics, trajectories } = await trainer.next(isUsable);
          if (diverging.times === 0) return { metrics, trajectories };
          const kl = step === 2 && rollbacks < diverging.times ? 9 : 0;
          return { metrics: { ...metrics, kl }, trajectories };
        },
      };
    },
  };
});

const GRPO = { trainer: 'grpo' } as const;
const HEALTHY = {
  entropy: 0.4,
  kl: 0.01,
  frac_reward_zero_std: 0.5,
  phantom_advantages: 0.2,
  frac_retrievals_failed: 0,
  frac_rollouts_timed_out: 0.01,
  'completions/clipped_ratio': 0.05,
  'completions/truncated_ratio': 0.05,
  well_formed_ratio: 0.9,
  turns: 1.5,
  'logps/correct_drop': 0.02,
  sub_queries_drop: 0.1,
  'decomposition_ratio/sequential': 0.02,
  reward: 0.9,
};

describe('checkGuards', () => {
  it('ignores a healthy step and missing metrics', () => {
    expect(checkGuards(HEALTHY, GRPO)).toEqual([]);
    expect(checkGuards({ reward: 1 }, GRPO)).toEqual([]);
  });

  it.each([
    ['frac_retrievals_failed', 0.2, 'skip', 'check the retriever'],
    ['frac_rollouts_timed_out', 0.6, 'skip', 'raise retrievalDeadlineMs'],
    ['turns', 0.2, 'warn', 'stopped searching: lower lambdaS'],
    ['completions/clipped_ratio', 0.6, 'warn', 'do not end in an answer: raise'],
    ['well_formed_ratio', 0.1, 'warn', 'the action format is lost: raise lambdaF'],
    ['completions/truncated_ratio', 0.6, 'warn', 'length limit: raise rollout.maxNewTokens'],
    ['entropy', 0.0001, 'warn', 'entropy collapse'],
    ['entropy', 4, 'warn', 'entropy explosion'],
    ['kl', 0.6, 'warn', 'far from the reference'],
    ['frac_reward_zero_std', 1, 'warn', 'equal rewards'],
    ['phantom_advantages', 0.6, 'warn', 'no correct rollout'],
    ['logps/correct_drop', 0.6, 'warn', 'less likely'],
    ['sub_queries_drop', 0.6, 'warn', 'half of its searches'],
    ['decomposition_ratio/sequential', 0.7, 'warn', 'over-parallelization'],
  ])('reports %s at %d with its value, cause and remedy', (metric, value, action, advice) => {
    const alarms = checkGuards({ ...HEALTHY, [metric]: value }, GRPO);
    expect(alarms).toHaveLength(1);
    expect(alarms[0].action).toBe(action);
    expect(alarms[0].text.startsWith(`${metric} ${decimalText(value)}: `)).toBe(true);
    expect(alarms[0].text).toContain(advice);
  });

  it.each([NaN, Infinity])('stops at a metric of %d and names it', (value) => {
    const [{ action, text }] = checkGuards({ ...HEALTHY, loss: value }, GRPO);
    expect([action, text]).toEqual([
      'stop',
      expect.stringContaining(`loss ${value}: the update is not finite`),
    ]);
  });

  it.each(TRAINER_NAMES)('only recommends settings that a run of %s has', (trainer) => {
    const config = tinyTraining({ trainer });
    const ill = {
      well_formed_ratio: 0,
      frac_reward_zero_std: 1,
      'decomposition_ratio/sequential': 1,
      loss: NaN,
      // Only trainers with a KL penalty report a KL.
      ...('beta' in trainerSettings(config) && { kl: 9 }),
    };
    const texts = [0, 9].flatMap((entropy) => checkGuards({ ...ill, entropy }, config));
    const advised = texts.flatMap(({ text }) => text.match(/[a-z-]+\.[a-z]+/gi) ?? []);
    expect(advised).toContain(`${trainer}.learningRate`);
    for (const name of advised) expect(config).toHaveProperty(name);
  });

  it('takes limits and actions from the configuration', () => {
    const settings: GuardSettings = { search: { limit: 2 }, kl: { action: 'rollback' } };
    const alarms = checkGuards({ ...HEALTHY, kl: 1 }, { ...GRPO, guards: settings });
    expect(alarms.map(({ action }) => action)).toEqual(['warn', 'rollback']);
    expect(mostSevere(alarms)?.action).toBe('rollback');
    expect(mostSevere([])).toBeNull();
    expect(
      resolveGuards({ ...GRPO, guards: settings }).find(({ name }) => name === 'kl')?.limit,
    ).toBe(0.5);
  });
});

it.each([
  [{ serch: { limit: 1 } }, 'serch'],
  [{ search: { action: 'panic' } }, 'guards.search.action'],
  [{ kl: { action: 'skip' } }, 'guards.kl.action'],
])('the configuration rejects %j', (guards, named) => {
  expect(() => parseTrainConfig({ ...tinyTraining(), guards })).toThrow(named);
});

describe('a failing run', () => {
  const root = temporaryFolder();
  const failing: Retriever = { name: 'down', retrieve: () => Promise.reject(new Error('down')) };
  let chatty: Model;
  let babbling: Model;
  beforeAll(async () => {
    await useBackend('wasm');
    [chatty, babbling] = [chattyModel(), tinyModel()];
  });

  const train = (
    name: string,
    guards: GuardSettings,
    {
      more = {},
      ...task
    }: Partial<TrainingRun> & { more?: Parameters<typeof tinyTraining>[0] } = {},
  ): Promise<void> =>
    runTraining({
      config: tinyTraining({ ...more, guards }),
      model: chatty,
      ...TASK,
      inputsHash: 'inputs',
      folder: join(root, name),
      ...task,
    });
  type Line = Record<string, number> & { alarms: string[] };
  const linesOf = (name: string): Line[] => readLines(join(root, name, 'metrics.jsonl'));

  it('does not learn from steps with failed searches, and stops after ten', async () => {
    const silent = { retriever: failing, more: { settings: { steps: 3 } } };
    await train('skipped', {}, silent);
    for (const { alarms, grad_norm } of linesOf('skipped')) {
      expect(alarms.join()).toMatch(/frac_retrievals_failed 1.000: .*\(skip\)/);
      expect(grad_norm).toBe(0);
    }
    const file = join(root, 'skipped', 'adapter', 'adapter_model.safetensors');
    for (const [name, { values }] of parseSafetensors(await readFile(file)))
      if (name.includes('lora_B')) expect(values.every((value) => value === 0)).toBe(true);
    const down = { retriever: failing, more: { settings: { steps: 11, groupSize: 8 } } };
    await expect(train('endless', {}, down)).rejects.toThrow(
      /at step 9 \(skip did not help\): frac_retrievals_failed/,
    );
    expect(linesOf('endless')).toHaveLength(10);
  });

  it('does not learn from rollouts with hanging searches, and stops after ten such steps', async () => {
    const onAbort = vi.fn();
    const hanging: Retriever = {
      name: 'hanging',
      retrieve: (_, { signal }) => {
        signal!.addEventListener('abort', onAbort);
        return new Promise(() => {});
      },
    };
    const run = (settings: object): Parameters<typeof train>[2] => ({
      retriever: hanging,
      more: { retrievalDeadlineMs: 2, settings, checkpointEvery: 3 },
    });
    // Some rollouts answer without a search.
    const stopped = train(
      'hanging',
      { timeouts: { limit: 0.01 } },
      run({ steps: 11, groupSize: 8 }),
    );
    await expect(stopped).rejects.toThrow(/at step 9 \(skip did not help\): frac_rollouts_timed/);
    const lines = linesOf('hanging');
    expect(lines).toHaveLength(10);
    expect(onAbort.mock.calls.length).toBeGreaterThanOrEqual(lines.length);
    for (const { retrievals, retrieval_timeouts, retrievals_failed, grad_norm } of lines) {
      expect(retrievals).toBeGreaterThan(0);
      expect(retrieval_timeouts).toBe(retrievals);
      expect([retrievals_failed, grad_norm]).toEqual([0, 0]);
    }
    // A step without other rollouts has no reward.
    const few = run({ steps: 12, questionsPerStep: 1, groupSize: 2 });
    await train('few', { timeouts: { action: 'warn' } }, few);
    const rewards = linesOf('few').map((line) => 'reward' in line);
    expect(new Set(rewards)).toEqual(new Set([true, false]));
  });

  it.each<[string, keyof NonNullable<GuardSettings>, RegExp]>([
    ['stops searching', 'search', /turns 0\.\d+: .*stopped searching/],
    ['does not answer', 'answer', /clipped_ratio 1.000: .*do not end in an answer/],
    ['loses the format', 'format', /well_formed_ratio 0.000: the action format/],
    ['reaches the length limit', 'length', /truncated_ratio 1.000: most rollouts reach/],
    ['writes noise', 'entropy_explosion', /entropy 5.\d+: entropy explosion/],
  ])('that %s is stopped by the guard "%s" with its message', async (_, guard, sentence) => {
    const stopped = train(guard, { [guard]: { action: 'stop' } }, { model: babbling });
    await expect(stopped).rejects.toThrow(sentence);
    const lines = linesOf(guard);
    expect(lines).toHaveLength(1);
    expect(lines[0].alarms.join()).toMatch(sentence);
  });

  it('that repeats itself is stopped by the guard "entropy_collapse"', async () => {
    const cold = { more: { settings: { temperature: 0.01 } } };
    const stopped = train('cold', { entropy_collapse: { action: 'stop' } }, cold);
    await expect(stopped).rejects.toThrow('entropy collapse: all samples are the same');
  });

  slow(
    'that drifts from the initial model is stopped by the guard "kl" (needs test:full)',
    async () => {
      const more = { settings: { steps: 40, learningRate: 0.03, beta: 0 } };
      const rewards = [LENGTH_REWARD];
      const stopped = train('free', { kl: { action: 'stop' } }, { rewards, more });
      await expect(stopped).rejects.toThrow(/kl 0\.\d+: far from the reference: lower grpo/);
      const kls = linesOf('free').map(({ kl }) => kl);
      expect(kls.length).toBeGreaterThan(2);
      expect(kls.filter((kl) => kl > 0.5)).toEqual(kls.slice(-1));
    },
  );

  it('that rewards all rollouts equally is stopped by the guard "variance"', async () => {
    const rewards: Reward[] = [{ name: 'equal', score: () => 1 }];
    const stopped = train('equal', { variance: { action: 'stop' } }, { rewards });
    await expect(stopped).rejects.toThrow(/frac_reward_zero_std 1.000: .*equal rewards/);
  });

  slow(
    'decomposes a sequential question, and "decomposition" stops it (needs test:full)',
    async () => {
      const separating = chattyModel([' ##']);
      const questions = QUESTIONS.filter((question) => questionType(question) === 'sequential');
      const more = {
        settings: { questionsPerStep: 8, groupSize: 8 },
        rollout: { maxNewTokens: 30 },
      };
      // It rarely puts its separator between two queries.
      const guards: GuardSettings = { decomposition: { limit: 0.01, action: 'stop' } };
      const stopped = train('separating', guards, { model: separating, questions, more });
      await expect(stopped).rejects.toThrow(/sequential 0\.0\d+: .*over-parallelization/);
      disposeWeights(separating.weights);
    },
  );

  it('that learns from groups without a correct rollout is stopped by the guard "phantom"', async () => {
    const questions = QUESTIONS.map((one) => ({ ...one, goldenAnswers: ['never written'] }));
    const stopped = train('phantom', { phantom: { action: 'stop' } }, { questions });
    await expect(stopped).rejects.toThrow(/phantom_advantages 1.000: .*set grpo.outcomeGate/);
    // `skip` is decided before the update.
    const more = { settings: { steps: 1 } };
    await train('no phantom', { phantom: { action: 'skip' } }, { questions, more });
    expect(linesOf('no phantom')[0]).toMatchObject({ grad_norm: 0, phantom_advantages: 1 });
  });

  slow(
    'makes correct rollouts less likely, and "likelihood" stops it (needs test:full)',
    async () => {
      let numScored = 0;
      const rewards: Reward[] = [
        { name: 'outcome', weight: 0, score: () => 1 },
        {
          // Rewards monotony in the first ten steps of twelve rollouts, then noise.
          name: 'variety',
          score: ({ trajectory: { segments } }) => {
            const own = segments.filter(({ kind }) => kind === 'policy');
            const numCharacters = new Set(own.flatMap(({ text }) => [...text])).size;
            return numScored++ < 120 ? -numCharacters : numCharacters;
          },
        },
      ];
      const more = { settings: { steps: 60 } };
      const stopped = train('unlikely', { likelihood: { action: 'stop' } }, { rewards, more });
      await expect(stopped).rejects.toThrow(/logps.correct_drop 0\.\d+: correct rollouts/);
      const drops = linesOf('unlikely').map((line) => line['logps/correct_drop']);
      expect(drops.slice(0, 10)).toEqual([...Array.from({ length: 9 }, () => undefined), 0]);
      expect(drops.filter((drop) => drop > 0.5)).toEqual(drops.slice(-1));
    },
  );

  slow(
    'that gradually stops searching is stopped by the guard "search_collapse" (needs test:full)',
    async () => {
      const rare: Reward = { name: 'rare', score: ({ searchTurns }) => -searchTurns.flat().length };
      const more = { settings: { steps: 40 } };
      const guards: GuardSettings = { search_collapse: { action: 'stop' } };
      const stopped = train('rare', guards, { rewards: [rare], more });
      await expect(stopped).rejects.toThrow(/sub_queries_drop 0\.\d+: .*half of its searches/);
      // Resumed from a checkpoint, it ends the same.
      const onStep = (step: number): void => {
        if (step === 8) throw new Error('killed');
      };
      const resumed = { rewards: [rare], more: { ...more, checkpointEvery: 4 } };
      await expect(train('rare again', guards, { ...resumed, onStep })).rejects.toThrow('killed');
      await expect(train('rare again', guards, resumed)).rejects.toThrow('sub_queries_drop');
      const [whole, again] = [linesOf('rare'), linesOf('rare again')];
      expect(again.map((line) => line.sub_queries_drop)).toEqual(
        whole.map((line) => line.sub_queries_drop),
      );
    },
  );

  const back: GuardSettings = { kl: { action: 'rollback' } };
  const more = {
    checkpointEvery: 1,
    settings: { steps: 3, warmupSteps: 0, questionsPerStep: 1, groupSize: 2 },
  };
  afterEach(() => void (diverging.times = 0));

  it('rolls back if the KL runs away, halves the learning rate, logs it, and resumes the same after a kill', async () => {
    diverging.times = 1;
    await train('back', back, { more });
    const lines = linesOf('back');
    expect(lines.map(({ alarms }) => alarms.filter((alarm) => alarm.startsWith('back')))).toEqual([
      [],
      [expect.stringMatching(/^back from step 2: kl 9.000: far from the reference/)],
      [],
    ]);
    expect(lines.map(({ learning_rate }) => learning_rate)).toEqual([0.02, 0.01, 0.01]);
    if (!isFull) return;
    const killed = train('killed', back, {
      more,
      onStep: (step, _, alarms) => {
        if (step === 1 && alarms.length > 0) throw new Error('killed');
      },
    });
    await expect(killed).rejects.toThrow('killed');
    await train('killed', back, { more });
    const timeless = (all: Line[]): object[] =>
      all.map((line) =>
        Object.fromEntries(Object.entries(line).filter(([key]) => !key.endsWith('_seconds'))),
      );
    expect(timeless(linesOf('killed'))).toEqual(timeless(lines));
    const [best, whole] = ['killed', 'back'].map((name) =>
      readFile(join(root, name, BEST_ADAPTER, 'adapter_model.safetensors')),
    );
    expect((await best).equals(await whole)).toBe(true);
  });

  it('stops after three rollbacks, or if there is no checkpoint', async () => {
    const always: GuardSettings = { kl: { limit: -1, action: 'rollback' } };
    await expect(train('no way', always)).rejects.toThrow(/at step 0 \(rollback did not help\)/);
    diverging.times = Infinity;
    const stopped = train('often', back, { more });
    await expect(stopped).rejects.toThrow(/at step 2 \(rollback did not help\): kl 9.000/);
    const [, line] = linesOf('often');
    expect(line.alarms.filter((alarm: string) => alarm.startsWith('back'))).toHaveLength(3);
  });

  it('does not apply non-finite gradients', async () => {
    const huge = { settings: { steps: 2, warmupSteps: 0, learningRate: 1e38 } };
    await expect(train('not finite', {}, { more: huge })).rejects.toThrow(
      /Training stopped at step \d: \S+ (NaN|-?Infinity): the update is not finite/,
    );
  });
});

it('mostSevere picks the most severe action', () => {
  const alarm = (action: Alarm['action']): Alarm => ({ action, text: action });
  expect(mostSevere([alarm('skip'), alarm('stop'), alarm('rollback')])?.action).toBe('stop');
});
