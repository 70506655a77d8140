/** Wall clock of 1 to 8 sub-queries asked in one turn against the same ones in turns, with fast and slow retrievers. */
import { loadavg } from 'node:os';
import { configHash } from '../../io/hash.js';
import type { ReportResults } from '../../report/display.js';
import { frameOf, type Frame } from '../../report/frame.js';
import { createRemoteRetriever } from '../../retrieval/remote.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { dataHash } from '../answers.js';
import { computation, type Experiment, type Job, type WorkContext } from '../experiment.js';
import { provenanceOf, requireResults } from '../results.js';
import { loadTiming } from '../timing/experiment.js';
import { generationTimeOf, type GenerationTime } from '../timing/measures.js';
import { independentQueries, measureLatency, measureService } from './measuring.js';
import { costsOf, partsOf, questionsOf, speedUpsOf, summariseLatency, type Latency } from './measures.js';
import { startLatencyServer } from './server.js';
import { askingTitle, LATENCY_RETRIEVERS, LATENCY_SETTINGS, type LatencyRetriever } from './settings.js';

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

/** Measures a retriever, behind a server where it is to be; of an embedded one also its searches by themselves. */
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

export interface LatencyResults extends ReportResults {
  /** The three costs of a request to each retriever, as the model of time knows them. */
  costs: Frame;
  /** Where the model says that the time goes: a row for each set, way of asking and part. */
  parts: Frame;
  /** Whole questions in turns and in one turn. */
  questions: Frame;
  /** How many times as fast a question is in one turn, by the time of a call of the model. */
  speedUps: Frame;
  /** The time of a call of the model; null where the timing experiment was not run. */
  generation: GenerationTime | null;
}

/**
 * What was measured, and what the model of time says of it.
 * @param folder of this machine's results; what is not there is taken from the recorded ones
 * @throws Error naming the command that measures, where results are missing
 */
export async function loadLatency(folder?: string): Promise<LatencyResults> {
  const done = await requireResults<LatencyRetriever, Measured>(latency, folder);
  const timed = await loadTiming(folder);
  const generation = timed && generationTimeOf(timed.answers, String(timed.provenance.backend));
  const values = done.map(({ record }) => record.value);
  const measured = {
    measurements: values.flatMap(({ measurements }) => measurements),
    serviceSamplesMs: values.flatMap(({ serviceSamplesMs }) => serviceSamplesMs),
  };
  const { seeds, warmUps } = LATENCY_SETTINGS;
  const repeats = LATENCY_RETRIEVERS.map((retriever) => [retriever.name, retriever.repeats * seeds.length]);
  const loads = new Set(values.flatMap(({ load }) => load ?? []));
  const tidy = summariseLatency(measured, generation, {
    ...provenanceOf(done, { seeds, repeats: Object.fromEntries(repeats), warmUps }),
    ...{ backend: 'none: retrieval only' },
    ...(loads.size > 0 ? { load: [...loads].join('; ') } : {}),
  });
  const sets = measured.measurements.reduce((sum, { samplesMs }) => sum + samplesMs.length, 0);
  const call = generation
    ? `a call of the model takes ${generation.msPerCall.toFixed(1)} ms (${generation.source})`
    : 'nothing says how long a call of the model takes';
  return {
    kind: 'results',
    summary: `${sets.toLocaleString('en')} sets of sub-queries timed with ${done.length} retrievers; ${call}.`,
    tidy,
    rows: frameOf(tidy.rows.map((row) => ({ ...row, asked: askingTitle(row) }))),
    contrasts: frameOf(tidy.contrasts.map((row) => ({ ...row, asked: askingTitle(row) }))),
    costs: frameOf(costsOf(measured)),
    parts: frameOf(partsOf(measured)),
    questions: frameOf(questionsOf(tidy.rows, generation)),
    speedUps: frameOf(speedUpsOf(tidy.rows, generation)),
    generation,
  };
}
