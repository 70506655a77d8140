/**
 * Imports what another trainer has written: rollouts as the trajectories and metrics of a
 * run, and weights in Hugging Face format.
 */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { group } from 'd3-array';
import { z } from 'zod';
import {
  createQuestionFinder,
  questionType,
  questionTypeSchema,
  type Question,
} from '../data/question.js';
import { jsonLine, writeFileSafely, writeLines, copySafely } from '../io/files.js';
import { startProgress } from '../io/progress.js';
import {
  METRICS_FILE,
  MODEL_CONFIG,
  TRAIN_CONFIG_FILE,
  TRAJECTORIES_FILE,
} from '../policy/folders/files.js';
import { readModelConfig } from '../policy/folders/policy-folders.js';
import { presetRewards } from '../rewards/presets.js';
import { scoreRollout, type Reward, scoringInputFromSegments } from '../rewards/reward.js';
import { subQuestionRecall } from '../rewards/sub-questions.js';
import type { With } from '../rollout/trajectory.js';
import type { TextSegment } from '../text/response.js';
import { nextAction } from '../text/tags.js';
import { groupAdvantages } from '../training/advantages.js';
import { rewardPreset } from '../training/methods.js';
import { rolloutMetrics } from '../training/metrics.js';
import { answersSchema, promptQuestion } from './rows.js';

/** The ground truth of a row, as `export` writes it. Other rows only have `target`. */
export const truthSchema = z.object({
  target: answersSchema,
  shape: questionTypeSchema.nullish(),
  id: z.string().nullish(),
});

/** Ids and log-probs (nats) are absent if only texts were recorded. */
export interface RecordedSegment extends TextSegment {
  tokenIds?: number[];
  logProbs?: number[];
}

export interface RecordedRollout {
  prompt: string;
  promptIds?: number[];
  /** Default: parsed from the prompt. */
  question?: string;
  segments: RecordedSegment[];
  truth: z.infer<typeof truthSchema>;
  /** The reward in training; null if it was not scored. */
  score: number | null;
  /** Default: the rollouts of the step with the same prompt. */
  group?: string;
  /** Absent if not recorded; it is then computed within the group. */
  advantage?: number;
  /** Why the recording does not show which parts the policy wrote. */
  ambiguous?: string | null;
}

type ScoredRollout = RecordedRollout & { score: number };

const isScored = (rollout: RecordedRollout): rollout is ScoredRollout => rollout.score !== null;

export interface RecordedStep {
  step: number;
  rollouts: RecordedRollout[];
}

export interface ImportOptions {
  /** Receives `trajectories.jsonl`, `metrics.jsonl` and `train_config.json`. */
  folder: string;
  /** The training questions with graphs and types; found by id or text. */
  questions: readonly Question[];
  method: string;
  trainer: string;
  onStep?: (step: number) => void;
}

/** Needs token ids. */
const LENGTH_METRIC = 'completions/mean_length';
/** Needs limits, which recordings lack. */
const TRUNCATION_METRIC = 'completions/truncated_ratio';

/** Finds the question of a prompt: by id if its text is in the prompt, else by text. */
function createPromptFinder(
  questions: readonly Question[],
): (prompt: string, id?: string | null) => Question | undefined {
  const byId = group(questions, (question) => question.id);
  const find = createQuestionFinder(questions);
  return (prompt, id) => {
    const isAsked = ({ question }: Question): boolean =>
      prompt.includes(question.trim().replace(/\?$/, ''));
    const asked = promptQuestion(prompt);
    const [firstLine] = asked.split(/\r?\n/, 1);
    return (
      byId.get(id ?? '')?.find(isAsked) ??
      [asked, firstLine]
        .flatMap((text) => [text, text.replace(/\?$/, '')])
        .map((text) => find({ question: text }))
        .find(Boolean)
    );
  };
}

function importTrajectory(
  rollout: ScoredRollout,
  { rewards, find }: { rewards: readonly Reward[]; find: ReturnType<typeof createPromptFinder> },
): { trajectory: With<'rewards' | 'advantage'>; isSame: boolean; isKnown: boolean } {
  const { prompt, promptIds = [], segments, truth, score, advantage = 0, ambiguous } = rollout;
  const asked = rollout.question ?? promptQuestion(prompt);
  const question = find(prompt, truth.id);
  const type = (question && questionType(question)) ?? truth.shape ?? undefined;
  const input = scoringInputFromSegments([{ kind: 'prompt', text: prompt }, ...segments], {
    goldenAnswers: truth.target,
    questionType: type,
  });
  const { components } = scoreRollout(rewards, input);
  // Trainers keep rewards as 32-bit floats.
  const isSame = Math.fround(components.total) === Math.fround(score);
  const written = segments.filter(({ kind }) => kind === 'policy');
  const { graph, type: benchmarkType, benchmark } = question?.metadata ?? {};
  const trajectory = {
    questionId: question?.id ?? truth.id ?? asked,
    question: question?.question ?? asked,
    goldenAnswers: truth.target,
    segments: [
      { kind: 'prompt' as const, text: prompt, tokenIds: promptIds },
      ...segments.map((segment) => ({ tokenIds: [], ...segment })),
    ],
    searchTurns: [...input.trajectory.searchTurns],
    answer: input.answer,
    modelCalls: written.length,
    finish: nextAction(written.at(-1)?.text ?? '').kind === 'answer' ? 'answer' : 'budget',
    questionType: type,
    ...(graph?.length && { subQuestionRecall: subQuestionRecall(question!, input.searchTurns) }),
    rewards: isSame ? components : { total: score },
    advantage,
    metadata: { benchmark, type: benchmarkType, graph },
    ambiguous: ambiguous ?? undefined,
  };
  return { trajectory, isSame, isKnown: question !== undefined };
}

/** The rollouts of a step by group; computes advantages that were not recorded. */
function withGroupAdvantages(rollouts: readonly ScoredRollout[]) {
  const groups = [...group(rollouts, (one) => one.group ?? one.prompt).values()];
  const sizes = new Set(groups.map(({ length }) => length));
  const advantaged = groups.flatMap((members): ScoredRollout[] => {
    if (members.length < 2) return members;
    const scores = members.map(({ score }) => score);
    const advantages = groupAdvantages(scores, members.length);
    return members.map((rollout, i) => ({ advantage: advantages[i], ...rollout }));
  });
  return { rollouts: advantaged, groupSize: sizes.size === 1 ? [...sizes][0] : 1 };
}

/**
 * Writes a run's folder like `train`, for `compare` and `view`. `numDifferent`: rollouts
 * with another reward here (other weights, or an ambiguous text); `numAmbiguous`:
 * rollouts that do not show which parts the policy wrote; `numUnscored`: rollouts without
 * a reward, which are left out; `numUnknown`: rollouts whose question is not among
 * `questions`.
 */
export async function importRollouts(steps: AsyncIterable<RecordedStep>, options: ImportOptions) {
  const { folder, questions, method, trainer, onStep } = options;
  const rewards = presetRewards(rewardPreset(method));
  const find = createPromptFinder(questions);
  const imported = {
    numSteps: 0,
    numRollouts: 0,
    numDifferent: 0,
    numAmbiguous: 0,
    numUnscored: 0,
    numUnknown: 0,
  };
  const metrics: object[] = [];
  async function* lines(): AsyncGenerator<object> {
    for await (const { step, rollouts: recorded } of steps) {
      const rollouts = recorded.filter(isScored);
      imported.numUnscored += recorded.length - rollouts.length;
      // A killed training may leave an empty file.
      if (rollouts.length === 0) continue;
      const grouped = withGroupAdvantages(rollouts);
      const all = grouped.rollouts.map((rollout) => importTrajectory(rollout, { rewards, find }));
      const stepMetrics = rolloutMetrics(
        all.map(({ trajectory }) => trajectory),
        { groupSize: grouped.groupSize, maxNewTokens: Infinity },
      );
      const hasIds = rollouts.every(({ promptIds = [] }) => promptIds.length > 0);
      const unknown = [
        TRUNCATION_METRIC,
        ...(hasIds ? [] : [LENGTH_METRIC]),
        ...(grouped.groupSize > 1 ? [] : ['frac_reward_zero_std']),
      ];
      for (const name of unknown) delete stepMetrics[name];
      metrics.push({ step, ...stepMetrics, alarms: [] });
      imported.numSteps++;
      imported.numRollouts += all.length;
      imported.numDifferent += all.filter(({ isSame }) => !isSame).length;
      imported.numUnknown += all.filter(({ isKnown }) => !isKnown).length;
      imported.numAmbiguous += rollouts.filter(({ ambiguous }) => ambiguous).length;
      for (const { trajectory } of all) {
        const { searchTurns: _, segments, ...line } = trajectory;
        const recorded = segments.map(({ tokenIds, ...segment }) =>
          tokenIds.length > 0 ? { ...segment, tokenIds } : segment,
        );
        yield { step, method, ...line, segments: recorded };
      }
      onStep?.(step);
    }
  }
  await writeLines(path.join(folder, TRAJECTORIES_FILE), lines());
  await writeLines(path.join(folder, METRICS_FILE), metrics);
  await writeFileSafely(path.join(folder, TRAIN_CONFIG_FILE), jsonLine({ method, trainer }));
  return imported;
}

/** Files that `evaluate --model` reads. */
const NEEDED =
  /^(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|model\.safetensors\.index)\.json$|^chat_template\.jinja$|\.safetensors$/;

const listFiles = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);
const hasWeights = (folder: string): boolean =>
  existsSync(path.join(folder, MODEL_CONFIG)) &&
  listFiles(folder).some((name) => name.endsWith('.safetensors'));

/** The latest `global_step_N` (verl) or `checkpoint-N` (TRL), or the folder itself. */
function newestStep(folder: string): string {
  const steps = listFiles(folder).flatMap((name) => {
    const [, step] = /^(?:global_step_|checkpoint-)(\d+)$/.exec(name) ?? [];
    return step === undefined ? [] : [{ name, step: Number(step) }];
  });
  const newest = steps.sort((a, b) => b.step - a.step)[0];
  return newest ? path.join(folder, newest.name) : folder;
}

/**
 * Finds a checkpoint in Hugging Face format: the output of verl's merger, the
 * `actor/huggingface` of a step, or the latest step in a folder; null if there is none.
 * @throws Error if there are only verl's shards
 */
export function findCheckpoint(folder: string): string | null {
  const step = hasWeights(folder) ? folder : newestStep(folder);
  const checkpoint = [[], ['huggingface'], ['actor', 'huggingface']]
    .map((parts) => path.join(step, ...parts))
    .find(hasWeights);
  if (checkpoint) return checkpoint;
  const shards = [step, path.join(step, 'actor')].find((place) =>
    listFiles(place).some((name) => /^model_world_size_\d+_rank_\d+\.pt$/.test(name)),
  );
  if (shards)
    throw new Error(
      `Expected weights in Hugging Face format, but ${shards} has only verl's shards. Merge them and import the result: ` +
        `python3 -m verl.model_merger merge --backend fsdp --local_dir ${shards} --target_dir merged`,
    );
  return null;
}

/**
 * Copies weights and tokenizer.
 * @throws Error for an unsupported model, or files of an earlier import that would stay
 */
export async function copyCheckpoint(from: string, to: string): Promise<void> {
  await readModelConfig(from);
  const names = listFiles(from).filter((name) => NEEDED.test(name));
  if (!names.includes('tokenizer.json'))
    throw new Error(
      `Expected tokenizer.json in ${from}, but there is none. Save the tokenizer there with save_pretrained.`,
    );
  const stale = listFiles(to).find((name) => NEEDED.test(name) && !names.includes(name));
  if (stale !== undefined)
    throw new Error(
      `Expected ${to} to have no other files than ${from}, but an earlier import left ${stale}, which would be used, too. Remove that folder.`,
    );
  const progress = startProgress('Copying weights', names.length);
  for (const [i, name] of names.entries()) {
    await copySafely(path.join(from, name), path.join(to, name));
    progress.update(i + 1);
  }
  progress.stop();
}
