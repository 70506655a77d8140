/** Synthetic trajectories on synthetic questions. */
import type { Question } from '../../../lib/data/question.js';
import { viewerData, type ViewerData } from '../../../lib/pages/viewer/data.js';
import { parseTrajectory } from '../../../lib/rollout/recorded.js';
import type { Trajectory } from '../../../lib/rollout/trajectory.js';
import { subQuestion } from '../../data/questions.js';

/** Text of a hostile trajectory. */
export const INJECTION =
  '<script>window.injected = 1</script><img src=x onerror="window.injected = 2">';

/** A comparison of two towns (even) or a chain (odd). */
export function syntheticQuestion(i: number): Question {
  const [a, b] = [`Town${i}`, `River${i}`];
  const isChain = i % 2 === 1;
  const founded = (id: string, entity: string, dependsOn: string[] = []) => {
    const question = `When was ${entity} founded?`;
    return subQuestion(id, { question, entity, attribute: 'year', query: entity, dependsOn });
  };
  return {
    id: `q-${i}`,
    question: isChain ? `When was the place by ${a} founded?` : `Which is older, ${a} or ${b}?`,
    goldenAnswers: [a],
    metadata: {
      benchmark: i % 4 < 2 ? 'hotpotqa' : 'bamboogle',
      type: isChain ? 'bridge' : 'comparison',
      graph: [founded('q1', a), founded('q2', b, isChain ? ['q1'] : [])],
      operation: isChain ? null : { kind: 'argmin', attribute: 'year' },
    },
  };
}

export interface TurnSpec {
  queries: string[];
  failed?: boolean;
}

/** A line of `trajectories.jsonl`: a thought, searches, and an answer unless null. */
export function trajectoryLine(
  question: Question,
  turns: readonly TurnSpec[],
  answer: string | null,
  extra: object = {},
): object {
  const { question: asked } = question;
  const policy = (text: string) => ({ kind: 'policy', tokenIds: [2, 3], text });
  const searched = turns.flatMap(({ queries, failed }) => {
    const lines = queries.map((q) =>
      failed ? 'Retrieval failed: timeout' : `Doc 1(Title: ${q}) ${q} is old.`,
    );
    const text = `<information>${lines.join('\n')}</information>`;
    const thought = `<think> ${question.id} needs ${queries.length} </think>`;
    return [
      policy(`${thought}<search> ${queries.join(' ## ')} </search>`),
      { kind: 'information', tokenIds: [4], text },
    ];
  });
  return {
    questionId: question.id,
    question: asked,
    goldenAnswers: question.goldenAnswers,
    segments: [
      { kind: 'prompt', tokenIds: [1], text: `Answer with search. Question: ${asked}\n` },
      ...searched,
      ...(answer === null ? [] : [policy(`<think> done </think><answer> ${answer} </answer>`)]),
    ],
    searchTurns: turns.map(({ queries, failed }) => ({
      queries,
      results: queries.map((q) =>
        failed
          ? { status: 'failed', reason: 'timeout' }
          : { status: 'ok', passages: [{ id: `wiki-${q}`, title: q, score: 7.25 }] },
      ),
    })),
    modelCalls: turns.length + 1,
    finish: answer === null ? 'budget' : 'answer',
    ...extra,
  };
}

/** A parsed line, by default of the method `m`. */
export const recordedLine = (...line: Parameters<typeof trajectoryLine>): Trajectory =>
  parseTrajectory({ method: 'm', ...trajectoryLine(...line) });

/**
 * `count` lines of two methods on the same questions, five rollouts per group: 60 % are
 * right, every tenth has an incomplete decomposition.
 */
export function syntheticLines(count: number): Trajectory[] {
  return Array.from({ length: count }, (_, i) => {
    const isParallel = i % 2 === 0;
    const place = Math.floor(i / 10);
    const [a, b] = [`Town${place}`, `River${place}`];
    const both = i % 10 === 8 ? [a, 'Elsewhere'] : [a, b];
    const turns = isParallel ? [{ queries: both }] : [{ queries: [a] }, { queries: [b] }];
    const right = i % 10 < 6;
    return recordedLine(syntheticQuestion(place), turns, right ? a : 'Nowhere', {
      step: place % 50,
      advantage: right ? 0.5 : -0.75,
      method: isParallel ? 'parallelsearch' : 'search-r1',
    });
  });
}

/** Viewer data of lines and the first questions. */
export function syntheticData(runs: readonly Trajectory[], numQuestions = 0): ViewerData {
  const questions = Array.from({ length: numQuestions }, (_, i) => syntheticQuestion(i));
  return viewerData(runs, { preset: 'paper', questions });
}
