/** Reads what an evaluation wrote: `results.jsonl`, `curves.jsonl` and `provenance.json` of one folder. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { QuestionResult } from './result.js';
import type { Provenance, TidyResults } from './table.js';

const count = z.number().int().nonnegative();
const share = z.number().min(0).max(1);
/** One line of `results.jsonl`. */
export const questionResultSchema: z.ZodType<QuestionResult> = z.object({
  questionId: z.string().min(1),
  method: z.string().min(1),
  model: z.enum(['base', 'instruct']),
  seed: z.number().int(),
  benchmark: z.string().min(1),
  type: z.string(),
  subset: z.enum(['single_hop', 'parallelizable', 'sequential', 'hybrid']),
  entitiesCompared: count,
  em: z.union([z.literal(0), z.literal(1)]),
  f1: share,
  formatOk: z.boolean(),
  turns: count,
  modelCalls: count,
  decomposed: z.boolean(),
  coverage: share,
  criticalPathRatio: z.number().nonnegative(),
  responseTokens: count,
  searches: z.array(z.array(z.string())),
  answer: z.string().nullable(),
});

/** Every number that training wrote at one step, under its own name (`reward`, `reward/outcome`, `turns`, ...). */
export interface CurvePoint {
  method: string;
  model: string;
  seed: number;
  step: number;
  [metric: string]: string | number | null;
}
const curveSchema: z.ZodType<CurvePoint> = z
  .object({ method: z.string(), model: z.string(), seed: z.number().int(), step: count })
  .catchall(z.number().nullable());

const provenanceSchema = z.record(z.string(), z.unknown());

/** All that a notebook needs: every answered question, the tidy table over them, and the training curves. */
export interface Results {
  questions: QuestionResult[];
  curves: CurvePoint[];
  tidy: TidyResults;
}

/** What an evaluation wrote, as it is. */
export interface Evaluation {
  questions: QuestionResult[];
  curves: CurvePoint[];
  provenance: Provenance;
}

/** Reads the files of an evaluation. Training curves may be absent. Errors name the file and the line. */
export function readEvaluation(folder: string): Evaluation {
  const file = (name: string): string => path.join(folder, name);
  if (!existsSync(file('results.jsonl'))) {
    throw new Error(
      `Expected ${file('results.jsonl')} to exist, but it does not. Run "npx parallelsearch evaluate" first.`,
    );
  }
  const questions = readJsonLines(file('results.jsonl'), questionResultSchema);
  const curves = existsSync(file('curves.jsonl')) ? readJsonLines(file('curves.jsonl'), curveSchema) : [];
  const provenance = provenanceSchema.parse(JSON.parse(readFileSync(file('provenance.json'), 'utf8')));
  return { questions, curves, provenance };
}

/** Parses a JSON Lines file, each line by `schema`; blank lines are skipped, a bad one is named by file and number. */
export function readJsonLines<T>(file: string, schema: z.ZodType<T>): T[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line, i) => {
    if (line.trim() === '') return [];
    try {
      return [schema.parse(JSON.parse(line))];
    } catch (error) {
      const reason = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
      throw new Error(`${file}:${i + 1} is not a valid line: ${reason}`, { cause: error });
    }
  });
}
