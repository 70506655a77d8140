/**
 * Fresh tests: questions drawn after predictions were made and weights frozen. Before the
 * draw, a sample of dev questions takes their place.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readQuestions } from '../../data/flashrag.js';
import type { Question } from '../../data/question.js';
import { evaluatePolicy } from '../../evaluation/evaluate.js';
import { mainMeasure, type Measure } from '../../evaluation/metrics.js';
import type { Measurement } from '../../evaluation/result.js';
import { configHash, contentHash, type Provenance } from '../../io/provenance.js';
import { committedWeights, type PolicyFolders } from '../../policy/folders/folder-settings.js';
import { loadLocalPolicy } from '../../policy/folders/model-folder.js';
import { readDraw, type World } from '../../retrieval/small-world.js';
import type { RolloutConfig } from '../../rollout/options.js';
import { gaveUp } from '../../rewards/sub-questions.js';
import { trainerSettings } from '../../training/config.js';
import {
  isTrained,
  RESERVE_PER_TURN,
  rolloutForRun,
  runName,
  trainConfigForRun,
  weightFolders,
  type PolicyRun,
} from '../../training/policy-runs.js';
import { dataHash, evaluationBatchSize, stratifiedSample } from './answers.js';
import type { Job, WorkContext } from '../experiment.js';
import { NEAR_MISSES, withNearMisses } from './near-misses.js';
import { stepFolder } from './runs.js';

/** Before the draw, one in this many dev questions is used. */
const ONE_OF = 10;

export interface FreshTest {
  /** Names the draw, and the sample before it. */
  name: string;
  /** Folder with its questions and its draw. */
  folder: string;
  /** Prefix of its provenance fields. Default: none. */
  label?: string;
  /** Whether near misses are added to the passages. */
  nearMisses?: boolean;
}

const questionsFile = ({ folder }: FreshTest): string => join(folder, 'questions.jsonl');

export async function readFreshTest(
  test: FreshTest,
  { questions }: Pick<World, 'questions'>,
): Promise<Question[]> {
  if (isDrawn(test)) return readQuestions(questionsFile(test));
  const dev = questions.filter(({ split }) => split === 'dev');
  return stratifiedSample(dev, { oneOf: ONE_OF, seed: test.name });
}

/** Whether the questions have been drawn, which happens after the runs have finished. */
export const isDrawn = (test: FreshTest): boolean => existsSync(questionsFile(test));

/** For hashes: everything the questions depend on. */
export const freshTestHash = async (test: FreshTest): Promise<string | { devOneOf: number }> =>
  isDrawn(test) ? contentHash([questionsFile(test)]) : { devOneOf: ONE_OF };

/** For the provenance: the commit that drew the test, or that none has. */
export async function describeFreshTest({ folder, label }: FreshTest): Promise<Provenance> {
  const [questions, drawnFrom] = label
    ? [`${label}Questions`, `${label}TestDrawnFrom`]
    : ['questions', 'testDrawnFrom'];
  const draw = await readDraw(folder);
  return draw === null
    ? { [questions]: 'dev: the fresh test has not been drawn' }
    : { [questions]: 'fresh test', [drawnFrom]: draw.commit };
}

/** A run after so many RL steps. */
export interface Stage {
  run: PolicyRun;
  step: number;
  /** Passages per query. Default: the run's. */
  topK?: number;
}
/** A file name, such as `instruct-2-parallelsearch-seed1-step200`. */
export const stageName = ({ run, step, topK }: Stage): string =>
  `${runName(run)}-step${step}${topK ? `-top${topK}` : ''}`;

const stageRollout = ({ run, topK }: Stage): RolloutConfig => ({
  ...rolloutForRun(run),
  ...(topK && { topK, reservePerTurn: RESERVE_PER_TURN }),
});

export interface StageRecord {
  answers: Measurement[];
}

/** Folders of the model, and of the adapter at this step; at the last, the best one. */
function stageFolders({ run, step }: Stage): PolicyFolders {
  const { model, adapter } = weightFolders(run);
  if (step === 0 || adapter === undefined) return { model };
  const { steps } = trainerSettings(trainConfigForRun(run));
  return { model, adapter: step < steps ? join(adapter, stepFolder(step)) : adapter };
}

/** Answers a fresh test with a run's policy after so many steps. */
export async function answerFreshTest(
  test: FreshTest,
  stage: Stage,
  { world, backend, onFraction }: WorkContext,
): Promise<StageRecord> {
  const { model, adapter } = stageFolders(stage);
  const policy = await loadLocalPolicy(model, { adapter });
  const questions = await readFreshTest(test, world);
  const { retriever } = test.nearMisses ? withNearMisses(world) : world;
  const answers = await evaluatePolicy(policy, retriever, questions, {
    rollout: stageRollout(stage),
    batchSize: evaluationBatchSize(backend),
    onBatch: (done) => onFraction(done / questions.length),
  });
  policy.dispose();
  return { answers };
}

/** Jobs of the stages whose runs are trained. @param seconds of one job, estimated */
export async function listStageJobs(
  test: FreshTest,
  stages: readonly Stage[],
  seconds: number,
): Promise<Job<Stage>[]> {
  const [draw, data] = await Promise.all([freshTestHash(test), dataHash()]);
  return Promise.all(
    stages
      .filter(({ run }) => isTrained(run))
      .map(async (input) => {
        const weights = committedWeights(stageFolders(input));
        const hash = configHash({
          rollout: stageRollout(input),
          weights: await contentHash(weights),
          data,
          draw,
          ...(test.nearMisses && { nearMisses: NEAR_MISSES }),
        });
        return { key: `${test.name}/${stageName(input)}`, hash, input, seconds };
      }),
  );
}

/** Metrics that are also shown for single trainings. */
export const STAGE_METRICS = ['evidence_seen', 'em', 'model_calls'] as const;

/** Measures for answers of runs with the same limit on search turns. */
export function stageMeasures(runs: readonly PolicyRun[]): Measure[] {
  const [{ maxSearchTurns }] = runs.map((run) => rolloutForRun(run));
  return [
    ...STAGE_METRICS.map(mainMeasure),
    mainMeasure('decomposition_ratio'),
    { metric: 'gave_up', numerator: (answer) => Number(gaveUp({ ...answer, maxSearchTurns })) },
  ];
}
