/**
 * What was measured with the benchmarks of `bench/` and put into `data/scale`: an object
 * of the same name each.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { matching } from '../../evaluation/table.js';
import { readJson } from '../../io/files.js';
import { packagePath } from '../../io/paths.js';
import { PAPER_RUN } from './settings.js';

const spread = z.tuple([z.number(), z.number(), z.number()]);
const provenance = z.record(z.string(), z.unknown());

/** `npm run bench -- rollouts`, one for each engine. */
const rolloutsSchema = z.array(
  z.object({
    engine: z.string(),
    rows: z.array(
      z.object({
        schedule: z.enum(['turn by turn', 'overlapping']),
        rows: z.number(),
        delayMs: z.number(),
        /** Least, median, most. */
        questionsPerSecond: spread,
        tokensPerSecond: spread,
        ratioOfSeconds: spread.optional(),
      }),
    ),
    provenance,
  }),
);

/** `npm run bench -- turns`. */
const turnsSchema = z.object({
  rows: z.array(
    z.object({
      retriever: z.string(),
      asked: z.enum(['in turns', 'one turn']),
      sub_queries: z.number(),
      /** Milliseconds: median and quartiles. */
      value: z.number(),
      low: z.number(),
      high: z.number(),
      n: z.number(),
    }),
  ),
  provenance,
});

/** `npm run bench -- vector-index`. */
const indexesSchema = z.object({
  dimensions: z.number(),
  rows: z.array(
    z.object({
      engine: z.string(),
      size: z.number(),
      buildSeconds: z.number(),
      memoryMb: z.number().nullable(),
      recall: z.number(),
      /** Median and 99th percentile. */
      oneQueryMs: z.tuple([z.number(), z.number()]),
    }),
  ),
  fits: z.array(
    z.object({
      engine: z.string(),
      what: z.string(),
      exponent: z.number(),
      atPaperSize: z.number(),
    }),
  ),
  provenance,
});

const read = async <T>(name: string, schema: z.ZodType<T>): Promise<T> =>
  schema.parse(await readJson(join(packagePath('data', 'scale'), `${name}.json`)));

export const readMeasured = async () => ({
  engines: await read('rollouts', rolloutsSchema),
  turns: await read('turns', turnsSchema),
  indexes: await read('vector-index', indexesSchema),
});
export type MeasuredScale = Awaited<ReturnType<typeof readMeasured>>;

/**
 * Milliseconds of work for a search among the paper's passages: the power law through the
 * measured sizes, by the vectors' length.
 */
export function searchMs({ indexes }: MeasuredScale, engine: string): number {
  const [{ atPaperSize }] = matching(indexes.fits, { engine, what: 'oneQueryMs' });
  return atPaperSize * (PAPER_RUN.dimensions / indexes.dimensions);
}

/**
 * Milliseconds that a request to a server takes beside the search: HTTP over the same
 * index in the process, measured.
 */
export function requestMs({ turns }: MeasuredScale): number {
  const one = (retriever: string): number =>
    matching(turns.rows, { retriever, asked: 'one turn', sub_queries: 1 })[0].value;
  return one('http') - one('bm25');
}

/** Throughput by engine, schedule and rows at a time, where a search takes no time. */
export const throughputOf = ({ engines }: MeasuredScale) =>
  engines.flatMap(({ engine, rows }) =>
    matching(rows, { delayMs: 0 }).flatMap(({ schedule, rows: inFlight, ...measured }) =>
      (
        [
          ['questions_per_second', measured.questionsPerSecond],
          ['tokens_per_second', measured.tokensPerSecond],
        ] as const
      ).map(([metric, [low, value, high]]) => ({
        engine: schedule === 'overlapping' ? `${engine}, overlapping` : engine,
        rows: inFlight,
        metric,
        value,
        low,
        high,
      })),
    ),
  );

/** Each index at the paper's size, by the power laws through the measured ones. */
export function atPaperSizeOf({ indexes }: MeasuredScale) {
  const byDimensions = PAPER_RUN.dimensions / indexes.dimensions;
  const engines = [...new Set(indexes.rows.map(({ engine }) => engine))];
  return engines.map((engine) => {
    const of = (what: string) => matching(indexes.fits, { engine, what })[0];
    const at = (what: string): number | null => {
      const fit = of(what);
      return fit ? fit.atPaperSize * byDimensions : null;
    };
    const [memory, build, query] = [at('memoryMb'), at('buildSeconds'), at('oneQueryMs')];
    return {
      engine,
      gigabytes: memory === null ? null : memory / 1024,
      build_hours: build! / 3600,
      query_ms: query,
      build_exponent: of('buildSeconds').exponent,
      query_exponent: of('oneQueryMs').exponent,
    };
  });
}
