/**
 * Wall clock of 1 to 8 sub-queries asked in one turn against the same ones in turns, with
 * fast and slow retrievers.
 */
import { loadavg } from 'node:os';
import { configHash } from '../../io/hash.js';
import { createRemoteRetriever } from '../../retrieval/remote.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { count, dataHash, drawOf } from '../answers.js';
import { computation, type Experiment, type Job, type WorkContext } from '../experiment.js';
import { reportOf, told } from '../report.js';
import { provenanceOf, requireResults } from '../results.js';
import { loadTiming } from '../timing/experiment.js';
import { generationTimeOf } from '../timing/experiment.js';
import { independentQueries, measureLatency, measureService } from './measuring.js';
import {
  costsOf,
  partsOf,
  questionsOf,
  speedUpsOf,
  summariseLatency,
  WAITED_FOR_ONCE,
  type Latency,
} from './measures.js';
import { startLatencyServer } from './server.js';
import {
  askingTitle,
  LATENCY_RETRIEVERS,
  LATENCY_SETTINGS,
  type LatencyRetriever,
} from './measuring.js';

/** What was measured of a retriever. */
export interface Measured extends Latency {
  /** How busy the machine was. */
  load?: string;
}

async function latencyJobs(): Promise<Job<LatencyRetriever>[]> {
  const inputs = await dataHash();
  return LATENCY_RETRIEVERS.map((retriever) => {
    const { roughSeconds: seconds, ...measured } = retriever;
    const hash = configHash({ ...LATENCY_SETTINGS, retriever: measured, inputs });
    return { key: `latency/${retriever.name}`, hash, input: retriever, seconds };
  });
}

const loadOf = (): string => loadavg()[0].toFixed(2);
const loadText = (before: string, after: string): string =>
  `${before} before, ${after} after (processes that want to run, average of a minute)`;

/**
 * Measures a retriever, behind a server where it is to be; of an embedded one also its
 * searches by themselves.
 */
async function measureRetriever(
  { name, place, delayMs, repeats }: LatencyRetriever,
  { world, onFraction }: WorkContext,
): Promise<Measured> {
  const queries = independentQueries(world.questions);
  const options = { settings: LATENCY_SETTINGS, repeats, queries, onProgress: onFraction };
  const loadBefore = loadOf();
  const server = place === 'server' ? startLatencyServer() : null;
  try {
    const found: Retriever = server
      ? createRemoteRetriever({ url: await (await server.send({ delayMs })).reply })
      : world.retriever;
    const retriever: Retriever = { name, retrieve: (asked, how) => found.retrieve(asked, how) };
    const serviceSamplesMs = server ? [] : await measureService(retriever, options);
    const measurements = await measureLatency(retriever, options);
    return { measurements, serviceSamplesMs, load: loadText(loadBefore, loadOf()) };
  } finally {
    server?.stop();
  }
}

/** Times belong to a machine: the provenance names it. */
export const latency: Experiment = {
  name: 'latency',
  title: 'wall clock of sub-queries in one turn and in turns, with fast and slow retrievers',
  computation: computation({ jobs: latencyJobs, work: measureRetriever, processes: 1 }),
};

const withAsked = <T extends Parameters<typeof askingTitle>[0]>(rows: readonly T[]): object[] =>
  rows.map((row) => ({ ...row, asked: askingTitle(row) }));

/**
 * What was measured, and what the model of time says of it; `generation` is the time of
 * a call of the language model, null where the timing experiment was not run.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 * @throws Error naming the command that measures, where results are missing
 */
export async function loadLatency(folder?: string) {
  const done = await requireResults<LatencyRetriever, Measured>(latency, folder);
  const timed = await loadTiming(folder);
  const generation = timed && generationTimeOf(timed.answers, String(timed.provenance.backend));
  const values = done.map(({ record }) => record.value);
  const measured = {
    measurements: values.flatMap(({ measurements }) => measurements),
    serviceSamplesMs: values.flatMap(({ serviceSamplesMs }) => serviceSamplesMs),
  };
  const { seeds, warmUps } = LATENCY_SETTINGS;
  const repeats = LATENCY_RETRIEVERS.map((retriever) => [
    retriever.name,
    retriever.repeats * seeds.length,
  ]);
  const loads = new Set(values.flatMap(({ load }) => load ?? []));
  const tidy = summariseLatency(measured, generation, {
    ...provenanceOf(done, {
      seeds,
      repeats: Object.fromEntries(repeats),
      warmUps,
      ...(await drawOf()),
    }),
    backend: 'none: retrieval only',
    ...(loads.size > 0 ? { load: [...loads].join('; ') } : {}),
  });
  const call = generation
    ? `a call of the model takes ${generation.msPerCall.toFixed(1)} ms (${generation.source})`
    : 'nothing says how long a call of the model takes';
  const sets = count(measured.measurements.flatMap(({ samplesMs }) => samplesMs));
  const shares = ['slow-50', 'slow-200'].map((retriever) =>
    told(tidy.contrasts, { ...WAITED_FOR_ONCE.figure, retriever, sub_queries: 8 }),
  );
  const report = reportOf({
    finding: `8 sub-queries in one turn take ${shares[0].text} of their time in turns where a request waits 50 ms, and ${shares[1].text} where it waits 200 ms (medians and quartiles).`,
    summary: `${sets} sets of sub-queries timed with ${done.length} retrievers; ${call}.`,
    tidy,
    predicted: [WAITED_FOR_ONCE],
    rows: withAsked(tidy.rows),
    contrasts: withAsked(tidy.contrasts),
    frames: {
      // The three costs of a request to each retriever, as the model of time knows them.
      costs: costsOf(measured),
      // Where the model says that the time goes: a row for each set, way of asking and
      // part.
      parts: partsOf(measured),
      // Whole questions in turns and in one turn.
      questions: questionsOf(tidy.rows, generation),
      // How many times as fast a question is in one turn, by the time of a call of the
      // language model.
      speedUps: speedUpsOf(tidy.rows, generation),
    },
  });
  return { ...report, generation };
}
export type LatencyResults = Awaited<ReturnType<typeof loadLatency>>;
