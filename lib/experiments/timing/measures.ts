/** What the timing experiment wrote: how long a question takes that is answered by itself. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { questionResultSchema } from '../../evaluation/load.js';
import type { Measure } from '../../evaluation/measures.js';
import type { QuestionResult } from '../../evaluation/result.js';
import { paperFigure } from '../paper.js';
import { summariseResults, type SummaryOptions, type TidyResults } from '../../evaluation/table.js';

/** An answer with the wall clock of its question, retrieval included. */
export type TimedAnswer = QuestionResult & { seconds: number };

const timingSchema = z.object({
  answers: z.array(questionResultSchema.and(z.object({ seconds: z.number().positive() }))).min(1),
  provenance: z.looseObject({ backend: z.string() }),
});
export type Timing = z.infer<typeof timingSchema>;

/**
 * Reads the experiment's results; null where it has not been run.
 * @throws Error naming the file when it does not fit
 */
export function readTiming(folder: string): Timing | null {
  const file = path.join(folder, 'results.json');
  if (!existsSync(file)) return null;
  const parsed = timingSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (parsed.success) return parsed.data;
  throw new Error(
    `Expected ${file} to be a timing, but:\n${z.prettifyError(parsed.error)}\nRun "npx parallelsearch experiment timing --force".`,
  );
}

const SECONDS: Measure = {
  metric: 'seconds',
  of: (answer) => (answer as TimedAnswer).seconds,
  byRatio: true,
};

/** Rows and contrasts of the seconds a question takes. */
export function summariseTiming({ answers }: Timing, options: SummaryOptions): TidyResults {
  return summariseResults(answers, {
    ...{ measures: [SECONDS], pairs: [['parallelsearch', 'search-r1']], paper: paperFigure },
    // The two were timed side by side seed by seed, while the machine was as fast as it then was: the same seeds are drawn.
    weightsOf: () => 'timed together',
    ...options,
  });
}

/** The time of one call of the model, and what says so. */
export interface GenerationTime {
  msPerCall: number;
  source: string;
}

/** Milliseconds of a call of the trained model: the seconds of ParallelSearch's answers over its model calls. */
export function generationTimeOf({ answers, provenance }: Timing): GenerationTime {
  const ours = answers.filter(({ method }) => method === 'parallelsearch');
  const sum = (valueOf: (answer: TimedAnswer) => number): number =>
    ours.reduce((total, answer) => total + valueOf(answer), 0);
  return {
    msPerCall: (1000 * sum(({ seconds }) => seconds)) / sum(({ modelCalls }) => modelCalls),
    source: `${ours.length.toLocaleString('en')} answers of ParallelSearch, one question at a time, on ${provenance.backend}: seconds over model calls`,
  };
}
