/** The data in the viewer's page: recorded trajectories with their scores. */
import {
  createQuestionFinder,
  questionType,
  type Question,
  type QuestionMetadata,
} from '../../data/question.js';
import {
  BEHAVIOUR_LABELS,
  BEHAVIOURS,
  labelTrajectory,
  shownLabels,
  type BehaviourLabel,
} from '../../evaluation/behaviour.js';
import type { ShownTurn } from '../../report/segments.js';
import { scoringRules } from '../../rewards/presets.js';
import { scoreTranscript, type TranscriptScore } from '../../rewards/score.js';
import { subQuestionRecall, criticalSteps } from '../../rewards/sub-questions.js';
import type { RewardComponents, Trajectory } from '../../rollout/trajectory.js';
import { executedSearches, joinPolicySegments, type TextSegment } from '../../text/response.js';
import { parseInformation } from '../../text/tags.js';

/** A trajectory without token ids and log-probs, with its question's metadata. */
export interface ViewerTrajectory
  extends
    Pick<Trajectory, 'questionId' | 'question' | 'goldenAnswers' | 'finish' | 'step'>,
    Pick<Trajectory, 'questionType' | 'subQuestionRecall' | 'advantage' | 'ambiguous'>,
    Pick<Trajectory, 'querySeparator'>,
    Pick<TranscriptScore, 'answer' | 'exactMatch' | 'f1' | 'formatReason'> {
  method: string;
  metadata: QuestionMetadata;
  segments: TextSegment[];
  /** One per information segment. */
  turns: ShownTurn[];
  /** Number of search turns with at least one query of the policy. */
  numTurns: number;
  criticalSteps: number;
  /** The number of steps if all ran one after another. */
  totalSteps: number;
  rewards: RewardComponents;
  /** Whether `rewards` were recorded rather than computed for the page. */
  isRecorded: boolean;
  /** The labels that hold, in table order. */
  labels: ViewerLabel[];
}

export interface ViewerData {
  /** Reward preset for trajectories without recorded rewards. */
  preset: string;
  trajectories: ViewerTrajectory[];
  labelTitles: Record<ViewerLabel, string>;
  labelMeanings: Record<string, string>;
}

/** Faults of the recording or the search, which are worth a look, too. */
const RECORDING_LABELS = {
  ambiguous: 'Ambiguous transcript, scores are estimates',
  failed_retrieval: 'Retrieval failed',
};

/** A behaviour label, or a fault of the recording or the search. */
export type ViewerLabel = BehaviourLabel | keyof typeof RECORDING_LABELS;

const LABEL_TITLES = Object.fromEntries([
  ...BEHAVIOUR_LABELS.map((label) => [label, BEHAVIOURS[label].title]),
  ...Object.entries(RECORDING_LABELS),
]) as Record<ViewerLabel, string>;

const LABEL_MEANINGS = Object.fromEntries(
  BEHAVIOUR_LABELS.map((label) => [label, BEHAVIOURS[label].meaning]),
);

/** The turns of a plain transcript, one per information segment. */
export function turnsFromSegments(
  segments: readonly TextSegment[],
  separator?: string,
): ShownTurn[] {
  const runs = joinPolicySegments(segments);
  return runs.flatMap((run, i) => {
    if (run.kind !== 'information') return [];
    const results = parseInformation(run.text).map((result) =>
      result.status === 'failed' ? result : { status: 'unscored' as const },
    );
    const turn = runs.slice(Math.max(0, i - 1), i + 1);
    return [{ queries: executedSearches(turn, separator)[0] ?? [], results }];
  });
}

/**
 * Scores recorded trajectories for the page, in order.
 * @param preset rewards for trajectories that record none
 * @param questions with types and graphs; see {@link createQuestionFinder}
 */
export function viewerData(
  recorded: readonly Trajectory[],
  { preset, questions }: { preset: string; questions: readonly Question[] },
): ViewerData {
  const find = createQuestionFinder(questions);
  const rules = scoringRules(preset);
  const trajectories = recorded.map((trajectory): ViewerTrajectory => {
    const { questionId, finish, goldenAnswers, segments, searchTurns, querySeparator } = trajectory;
    const { benchmark, type: ownType, graph } = trajectory.metadata ?? {};
    const question = find({
      id: questionId,
      question: trajectory.question,
      benchmark,
      goldenAnswers,
    });
    const metadata = {
      benchmark: benchmark ?? question?.metadata.benchmark,
      type: ownType ?? question?.metadata.type,
      graph: graph ?? question?.metadata.graph,
      operation: question?.metadata.operation,
    };
    const type = trajectory.questionType ?? questionType({ metadata });
    const score = scoreTranscript({ ...trajectory, questionType: type }, rules);
    const { answer, exactMatch, f1, formatReason } = score;
    const hasGraph = Boolean(question?.metadata.graph?.length);
    const searches = executedSearches(segments, querySeparator);
    const recall = hasGraph ? subQuestionRecall(question!, searches) : undefined;
    const turns = searchTurns.some(({ results }) => results.length > 0)
      ? searchTurns
      : turnsFromSegments(segments, querySeparator);
    const hasFailed =
      finish === 'timeout' ||
      turns.some(({ results }) => results.some(({ status }) => status === 'failed'));
    return {
      questionId,
      question: trajectory.question || question?.question || questionId,
      goldenAnswers,
      method: trajectory.method ?? 'unknown',
      step: trajectory.step,
      metadata,
      segments: segments.map(({ kind, text }) => ({ kind, text })),
      numTurns: score.turns,
      criticalSteps: criticalSteps({ modelCalls: score.modelCalls, searches }),
      totalSteps: score.modelCalls + searches.flat().length,
      answer,
      exactMatch,
      f1,
      formatReason,
      finish,
      questionType: type,
      subQuestionRecall: trajectory.subQuestionRecall ?? recall,
      ambiguous: trajectory.ambiguous,
      turns,
      querySeparator,
      rewards: trajectory.rewards ?? score.rewards,
      isRecorded: trajectory.rewards !== undefined,
      advantage: trajectory.advantage,
      labels: [
        ...shownLabels(labelTrajectory({ ...trajectory, questionType: type, metadata }, question)),
        ...(trajectory.ambiguous ? (['ambiguous'] as const) : []),
        ...(hasFailed ? (['failed_retrieval'] as const) : []),
      ],
    };
  });
  return { preset, trajectories, labelTitles: LABEL_TITLES, labelMeanings: LABEL_MEANINGS };
}
