/**
 * Behaviour labels: what a policy did while answering a question, right or wrong. They
 * apply to any trajectory, and partly to recorded answers without one. A label is true,
 * false, or null if the recording does not tell (no gold passages, no limit on turns) or
 * the question cannot show the behaviour (a compound query needs two names). Shares only
 * count questions whose label is not null.
 */
import { sum } from 'd3-array';
import { independentSubQuestions, type Question } from '../data/question.js';
import { memoised } from '../memoise.js';
import { evidenceRecall, gaveUp, hasEvidence } from '../rewards/sub-questions.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { exactMatch, paddedWords, statableAnswers } from '../text/answer-match.js';
import { parseLabelled } from '../text/labelled-information.js';
import { findNames } from '../text/names.js';
import type { TextSegment } from '../text/response.js';
import { openTag } from '../text/tags.js';
import type { Interval } from './estimate.js';
import { repeatedQueries, type Measure } from './metrics.js';
import { measure, questionKey, type Measurement, type QuestionResult } from './measurement.js';

/** Input of the labels: an answer's metrics, and more if recorded. */
interface BehaviourFacts
  extends
    Pick<Measurement, 'answer' | 'em' | 'subset' | 'formatOk' | 'turns' | 'modelCalls'>,
    Pick<Measurement, 'decomposed' | 'searches'> {
  coverage?: number | null;
  /** Share of the sub-questions whose evidence was shown. */
  evidenceSeen?: number | null;
  /** `evidenceSeen` after each search turn. */
  evidenceByTurn?: readonly number[];
  /** The queries that were run. Default: those in `searches`. */
  queries?: readonly string[];
  /** Whether a gold answer is known. Default: true. */
  hasGold?: boolean;
  /** The names in the question. */
  names?: readonly string[];
  /** The entities of all sub-questions, including later hops. */
  entities?: readonly string[];
  /** Names the answer chooses among; absent if the question offers no choice. */
  compared?: readonly string[];
  maxSearchTurns?: number;
  finish?: string | null;
  /** Whether a shown passage states a gold answer. */
  isAnswerShown?: boolean;
  /** Whether the policy wrote an information block itself. */
  inventsInformation?: boolean;
}

interface BehaviourDefinition {
  title: string;
  /** What the share counts. */
  unit: string;
  /** When the label is true; `needs` is what a recording must have. */
  meaning: string;
  needs: string;
  test: (facts: BehaviourFacts) => boolean | null;
}

const isKnown = (value: number | null | undefined): value is number =>
  value !== null && value !== undefined && !Number.isNaN(value);

/** The names in a query; names within longer ones do not count (`York`, `New York`). */
export function namesIn(query: string, names: readonly string[]): string[] {
  const padded = names.map((name) => ({ name, words: paddedWords(name) }));
  padded.sort((a, b) => b.words.length - a.words.length);
  let text = paddedWords(query);
  return padded.flatMap(({ name, words }) => {
    if (words.trim() === '' || !text.includes(words)) return [];
    text = text.replaceAll(words, ' | ');
    return [name];
  });
}

/** Whether an answer was given before all evidence was shown; null if unknown. */
const answersEarly = ({ answer, evidenceSeen }: BehaviourFacts): boolean | null =>
  isKnown(evidenceSeen) ? answer !== null && evidenceSeen < 1 : null;

/** Whether the answer is wrong although all evidence was shown; null if unknown. */
const failsWithEvidence = ({ em, evidenceSeen, hasGold = true }: BehaviourFacts): boolean | null =>
  hasGold && isKnown(evidenceSeen) ? em === 0 && evidenceSeen === 1 : null;

const EVIDENCE = 'gold passages';
const GOLD = 'gold answers';
const PASSAGES = 'gold answers other than yes and no; the text of the passages';

const DEFAULTS = { unit: 'share of questions', needs: 'nothing' };

/** All labels, in the order of tables. */
const LABELS = {
  compound_query: {
    title: 'Compound query',
    unit: 'share of questions with two names',
    meaning: 'one query names two or more of the things that the question names',
    needs: 'a question with two or more names: from its graph, else found in its text',
    test: ({ names = [], searches, queries = searches.flat() }) =>
      names.length >= 2 ? queries.some((query) => namesIn(query, names).length >= 2) : null,
  },
  repeated_query: {
    title: 'Repeats a query',
    meaning: 'a query repeats an earlier one, apart from case, punctuation and articles',
    test: (facts) => repeatedQueries(facts) > 0,
  },
  no_search: { title: 'No search', meaning: 'no search was run', test: ({ turns }) => turns === 0 },
  under_search: {
    title: 'Never asked about a part',
    meaning: 'answered, and no query names the entity of some sub-question',
    needs: 'a graph',
    test: ({ answer, entities, searches }) => {
      if (!entities) return null;
      const queries = searches.flat().map(paddedWords);
      const isAsked = (entity: string): boolean =>
        queries.some((query) => query.includes(paddedWords(entity)));
      return answer !== null && !entities.every(isAsked);
    },
  },
  over_search: {
    title: 'Searched on with all evidence',
    meaning: 'searched again after all evidence had been shown',
    needs: `${EVIDENCE} and the passages of each search`,
    test: ({ evidenceByTurn }) => evidenceByTurn?.slice(0, -1).includes(1) ?? null,
  },
  over_parallelized: {
    title: 'Over-parallelized',
    unit: 'share of sequential questions',
    meaning: 'decomposed, though a later sub-query needs the answer of an earlier one',
    needs: 'a sequential question',
    test: ({ subset, decomposed }) => (subset === 'sequential' ? decomposed : null),
  },
  half_decomposed: {
    title: 'Half a decomposition',
    unit: 'share of parallelizable questions',
    meaning: 'decomposed, and a part was never asked',
    needs: 'a parallelizable question with a graph',
    test: ({ subset, decomposed, coverage }) =>
      subset === 'parallelizable' && isKnown(coverage) ? decomposed && coverage < 1 : null,
  },
  gave_up: {
    title: 'Gave up',
    meaning: 'answered with search turns left and some evidence never shown',
    needs: `${EVIDENCE} and the maximum number of search turns`,
    test: ({ evidenceSeen, maxSearchTurns, ...facts }) =>
      isKnown(evidenceSeen) && maxSearchTurns !== undefined
        ? gaveUp({ ...facts, evidenceSeen, maxSearchTurns })
        : null,
  },
  out_of_turns: {
    title: 'Out of turns',
    meaning: 'no turn was left to answer in',
    needs: 'an answer, why the rollout ended, or the maximum number of search turns',
    test: ({ finish, answer, modelCalls, maxSearchTurns }) => {
      if (finish === 'budget') return true;
      if (finish === 'length' || finish === 'refused' || answer !== null) return false;
      return maxSearchTurns === undefined ? null : modelCalls > maxSearchTurns;
    },
  },
  cut_off: {
    title: 'Cut off',
    meaning: 'ended because the context was full',
    needs: 'why the rollout ended',
    test: ({ finish }) => (finish ? finish === 'length' : null),
  },
  no_answer: {
    title: 'No answer',
    meaning: 'ended without an answer',
    test: ({ answer }) => answer === null,
  },
  incomplete_evidence: {
    title: 'Answered with evidence incomplete',
    meaning: 'an answer, right or wrong, though some evidence was never shown',
    needs: EVIDENCE,
    test: answersEarly,
  },
  evidence_unused: {
    title: 'Evidence shown but not used',
    meaning: 'all evidence was shown, and the answer is wrong or missing',
    needs: `${EVIDENCE} and ${GOLD}`,
    test: failsWithEvidence,
  },
  wrong_aggregation: {
    title: 'Wrong aggregation',
    unit: 'share of parallelizable questions',
    meaning:
      'as `evidence_unused`, on a parallelizable question that was decomposed with every part asked',
    needs: `a parallelizable question, ${EVIDENCE} and ${GOLD}`,
    test: (facts) => {
      const fails = failsWithEvidence(facts);
      if (fails === null || facts.subset !== 'parallelizable') return null;
      return fails && facts.decomposed && facts.coverage === 1;
    },
  },
  wrong_comparison: {
    title: 'Wrong comparison',
    unit: 'share of questions that offer a choice',
    meaning: 'all evidence was shown, and the answer is another of the things compared',
    needs: `a question that names its gold answer and another thing, and ${EVIDENCE}`,
    test: (facts) => {
      const fails = failsWithEvidence(facts);
      if (fails === null || !facts.compared) return null;
      return fails && exactMatch(facts.answer, facts.compared) === 1;
    },
  },
  malformed: {
    title: 'Malformed',
    meaning: 'breaks the format of Eq. 6',
    test: ({ formatOk }) => !formatOk,
  },
  invented_information: {
    title: 'Invented information',
    meaning:
      'the policy wrote an information block itself, or continued one that a raw cut left open',
    needs: 'a trajectory',
    test: ({ inventsInformation }) => inventsInformation ?? null,
  },
  answer_not_shown: {
    title: 'Answer in no passage',
    meaning: 'answered, though no passage shown states a gold answer',
    needs: PASSAGES,
    test: ({ answer, isAnswerShown }) =>
      isAnswerShown === undefined ? null : answer !== null && !isAnswerShown,
  },
  shown_answer_missed: {
    title: 'Missed a stated answer',
    meaning: 'a passage shown states a gold answer, and the answer is wrong or missing',
    needs: PASSAGES,
    test: ({ em, isAnswerShown }) =>
      isAnswerShown === undefined ? null : em === 0 && isAnswerShown,
  },
} satisfies Record<
  string,
  Omit<BehaviourDefinition, keyof typeof DEFAULTS> & Partial<typeof DEFAULTS>
>;

export type BehaviourLabel = keyof typeof LABELS;
export const BEHAVIOUR_LABELS = Object.keys(LABELS) as BehaviourLabel[];

export const BEHAVIOURS = Object.fromEntries(
  Object.entries(LABELS).map(([label, given]) => [label, { ...DEFAULTS, ...given }]),
) as Readonly<Record<BehaviourLabel, BehaviourDefinition>>;

/** The value of each label: true, false, or null if unknown or not applicable. */
export type Behaviour<Label extends BehaviourLabel = BehaviourLabel> = Record<
  Label,
  boolean | null
>;

const labelBehaviour = <Label extends BehaviourLabel = BehaviourLabel>(
  facts: BehaviourFacts,
  labels = BEHAVIOUR_LABELS as readonly string[] as readonly Label[],
): Behaviour<Label> =>
  Object.fromEntries(
    labels.map((label) => [label, BEHAVIOURS[label].test(facts)]),
  ) as Behaviour<Label>;

export const shownLabels = (behaviour: Behaviour): BehaviourLabel[] =>
  BEHAVIOUR_LABELS.filter((label) => behaviour[label]);

type Truth = Pick<Question, 'question' | 'goldenAnswers' | 'metadata'>;

type QuestionFacts = Pick<BehaviourFacts, 'names' | 'hasGold' | 'entities' | 'compared'>;

/** Facts about a question that hold for all its answers. */
const questionFacts = memoised((truth: Truth): QuestionFacts => {
  const { question, goldenAnswers, metadata } = truth;
  const { graph = [] } = metadata;
  const hasGraph = graph.length > 0;
  const names = hasGraph
    ? [...new Set(independentSubQuestions(graph).map(({ entity }) => entity))]
    : findNames(question);
  const hasChoice =
    names.length >= 2 && names.some((name) => exactMatch(name, goldenAnswers) === 1);
  return {
    names,
    hasGold: goldenAnswers.length > 0,
    ...(hasGraph && { entities: [...new Set(graph.map(({ entity }) => entity))] }),
    ...(hasChoice && { compared: names }),
  };
});

/** Labels a recorded answer. Labels that need passages or the policy's text are null. */
export function labelAnswer<Label extends BehaviourLabel = BehaviourLabel>(
  answer: Measurement & Pick<QuestionResult, 'maxSearchTurns'>,
  question?: Truth,
  labels?: readonly Label[],
): Behaviour<Label> {
  const { names, hasGold, entities, compared } = question ? questionFacts(question) : {};
  const evidenceSeen = question && !hasEvidence(question) ? null : answer.evidenceSeen;
  // A second spread would be several times slower, and there are 100,000 answers.
  return labelBehaviour({ ...answer, evidenceSeen, names, hasGold, entities, compared }, labels);
}

function isAnswerShown(
  segments: readonly TextSegment[],
  goldenAnswers: readonly string[],
): boolean | undefined {
  const answers = statableAnswers(goldenAnswers);
  if (answers.length === 0) return undefined;
  const shown = segments.filter(({ kind }) => kind === 'information');
  return shown.some(({ text }) => {
    const passages = parseLabelled(text)?.documents.join('\n') ?? text;
    const words = paddedWords(passages.replace(/<\/?information>/g, ' '));
    return answers.some((answer) => words.includes(answer));
  });
}

/**
 * Whether the policy wrote an information block, or text into an unclosed one: after a
 * raw cut it may continue with made-up passages.
 */
const inventsInformation = (segments: readonly TextSegment[]): boolean =>
  segments.some(({ kind, text }, i) => {
    if (kind !== 'policy') return false;
    if (text.includes('<information>')) return true;
    const before = segments[i - 1];
    const isOpen = before?.kind === 'information' && openTag(before.text) === 'information';
    return isOpen && /^\s*[^\s<]/.test(text);
  });

/**
 * Labels a trajectory of this project or another system.
 * @param question with its graph. Default: what the trajectory records
 */
export function labelTrajectory(
  trajectory: Trajectory,
  question: Question = {
    id: trajectory.questionId,
    question: trajectory.question,
    goldenAnswers: trajectory.goldenAnswers,
    metadata: trajectory.metadata ?? {},
  },
): Behaviour {
  const { segments, searchTurns, finish, maxSearchTurns, questionType } = trajectory;
  const measured = measure(question, trajectory);
  const { graph = [] } = question.metadata;
  // Without passage ids, a transcript does not tell which evidence was shown.
  const hasPassages = searchTurns.every(({ queries, results }) => results.length >= queries.length);
  const knowsEvidence = hasEvidence(question) && hasPassages;
  const evidenceByTurn = searchTurns.map((_, turn) =>
    evidenceRecall(graph, { searchTurns: searchTurns.slice(0, turn + 1) }),
  );
  return labelBehaviour({
    ...measured,
    ...questionFacts(question),
    subset: measured.subset === 'unknown' ? (questionType ?? 'unknown') : measured.subset,
    evidenceSeen: knowsEvidence ? measured.evidenceSeen : null,
    ...(knowsEvidence && { evidenceByTurn }),
    queries: searchTurns.flatMap(({ queries }) => queries),
    maxSearchTurns,
    finish,
    isAnswerShown: isAnswerShown(segments, question.goldenAnswers),
    inventsInformation: inventsInformation(segments),
  });
}

interface BehaviourShare extends Interval {
  label: BehaviourLabel;
  count: number;
  /** Number of answers whose label is not null. */
  n: number;
}

/** The 97.5th percentile of the standard normal distribution. */
const Z = 1.959963984540054;

/** The share `count / n` with its 95 % score interval (Wilson, JASA 22, 1927). */
export function wilsonInterval(count: number, n: number): Interval {
  const share = count / n;
  const spread = 1 + Z ** 2 / n;
  const center = (share + Z ** 2 / (2 * n)) / spread;
  const half = (Z / spread) * Math.sqrt((share * (1 - share)) / n + Z ** 2 / (4 * n ** 2));
  const low = count === 0 ? 0 : center - half;
  return { value: share, low, high: count === n ? 1 : center + half };
}

/** The share of each label that is known for at least one answer. */
export function behaviourShares(
  behaviours: readonly NonNullable<Measurement['behaviour']>[],
): BehaviourShare[] {
  return BEHAVIOUR_LABELS.flatMap((label) => {
    const labelled = behaviours.filter((behaviour) => typeof behaviour[label] === 'boolean');
    const count = sum(labelled, (behaviour) => Number(behaviour[label]));
    const n = labelled.length;
    return n > 0 ? [{ label, count, n, ...wilsonInterval(count, n) }] : [];
  });
}

/**
 * Measures for the tidy table: one per label that is known for some answer, over the
 * questions where it is known.
 */
export function behaviourMeasures(
  answers: readonly QuestionResult[],
  labels: readonly BehaviourLabel[] = BEHAVIOUR_LABELS,
): Measure[] {
  const keys = answers.map(questionKey);
  return labels.flatMap((label) => {
    const value = ({ behaviour }: QuestionResult): boolean | null => behaviour?.[label] ?? null;
    const labelledKeys = new Set(keys.filter((_, i) => value(answers[i]) !== null));
    if (labelledKeys.size === 0) return [];
    return [
      {
        metric: label,
        numerator: (answer) => Number(value(answer) === true),
        denominator: (answer) => Number(value(answer) !== null),
        includes: (question) => labelledKeys.has(questionKey(question)),
      },
    ];
  });
}
