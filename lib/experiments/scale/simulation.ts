/**
 * A discrete-event simulation of how long the rollouts of a GRPO step take on several
 * engines. An engine decodes one token per row and step, and pauses to read what a search
 * returned; searches queue for a service. Tokens are only counted.
 */
import { bisector, max, minIndex, range, sum } from 'd3-array';

/** A model call: tokens written, then sub-queries sent (0 for the answer). */
interface Call {
  written: number;
  subQueries: number;
}
export type RolloutShape = readonly Call[];

export interface Engine {
  /** Milliseconds of a decoding step, by its number of rows. */
  stepMs(rows: number): number;
  /** Milliseconds to read a number of tokens; nothing is decoded meanwhile. */
  readMs(tokens: number): number;
}

/**
 * `turn by turn`: all rollouts write, then all search, and each waits for the slowest;
 * `overlapping`: each proceeds at its own pace.
 */
export const SCHEDULES = ['turn by turn', 'overlapping'] as const;
export type Schedule = (typeof SCHEDULES)[number];

export interface Cluster {
  engine: Engine;
  /** Number of engines; rollouts are dealt out to them in turn. */
  replicas: number;
  /** Concurrent rollouts per engine. */
  inFlight: number;
  /** Overhead of a request, work per sub-query, and number of concurrent searches. */
  search: { requestMs: number; serviceMs: number; servers: number };
  promptTokens: number;
  /** Tokens that a turn returns, by its number of sub-queries. */
  foundTokens: (subQueries: number) => number;
}

/** Milliseconds, averaged over engines; the four parts add up to the total. */
export interface SimulatedTime {
  totalMs: number;
  decodingMs: number;
  readingMs: number;
  /** Nothing to decode while searches are in flight. */
  searchingMs: number;
  /** Nothing to do until other engines are done. */
  idleMs: number;
}

interface Row {
  shape: RolloutShape;
  call: number;
  replica: Replica;
}

interface Replica extends Omit<SimulatedTime, 'totalMs'> {
  /** Milliseconds of reading left. */
  reading: number;
  /** Tokens that a row decoding since the start would have by now. */
  decoded: number;
  /** Decoding rows, sorted by the `decoded` at which their call ends. */
  active: { row: Row; end: number }[];
}

const byEnd = bisector(({ end }: { end: number }) => end);
const byTime = bisector(({ time }: { time: number }) => time);
/** Bound on rounding errors, in tokens and milliseconds. */
const TINY = 1e-9;

export function simulateRollouts(
  shapes: readonly RolloutShape[],
  cluster: Cluster,
  schedule: Schedule,
): SimulatedTime {
  const { engine, search } = cluster;
  const replicas = range(cluster.replicas).map((): Replica => {
    const spent = { decodingMs: 0, readingMs: 0, searchingMs: 0, idleMs: 0 };
    return { reading: 0, decoded: 0, active: [], ...spent };
  });
  const waiting = shapes.map((shape, i): Row => {
    return { shape, call: 0, replica: replicas[i % replicas.length] };
  });
  const serverFree = new Array<number>(search.servers).fill(0);
  const searching: { row: Row; time: number }[] = [];
  /** In `turn by turn`: rows that have written and wait for the others. */
  let together: Row[] = [];
  let now = 0;

  const write = (row: Row, tokensRead: number): void => {
    const { replica, shape, call } = row;
    replica.reading += engine.readMs(tokensRead);
    const end = replica.decoded + shape[call].written;
    replica.active.splice(byEnd.right(replica.active, end), 0, { row, end });
  };
  const searchEnd = ({ shape, call }: Row): number => {
    const ends = range(shape[call].subQueries).map(() => {
      const server = minIndex(serverFree);
      return (serverFree[server] = Math.max(serverFree[server], now) + search.serviceMs);
    });
    return max(ends)! + search.requestMs;
  };
  const startSearch = (row: Row, time: number): void => {
    searching.splice(byTime.right(searching, time), 0, { row, time });
  };
  const finishCall = (row: Row): void => {
    if (row.shape[row.call].subQueries > 0) {
      if (schedule === 'overlapping') startSearch(row, searchEnd(row));
      else together.push(row);
    } else if (schedule === 'overlapping') {
      const next = waiting.findIndex(({ replica }) => replica === row.replica);
      if (next >= 0) write(waiting.splice(next, 1)[0], cluster.promptTokens);
    }
  };
  const startBatch = (): void => {
    for (const row of waiting.splice(0, cluster.inFlight * replicas.length))
      write(row, cluster.promptTokens);
  };
  const nextEventMs = ({ reading, decoded, active }: Replica): number => {
    if (active.length === 0) return Infinity;
    return reading > 0 ? reading : (active[0].end - decoded) * engine.stepMs(active.length);
  };

  startBatch();
  for (;;) {
    if (searching.length === 0 && replicas.every(({ active }) => active.length === 0)) {
      if (together.length === 0 && waiting.length === 0) break;
      const last = max(together.map(searchEnd));
      together.forEach((row) => startSearch(row, last!));
      if (together.length === 0) startBatch();
      together = [];
      continue;
    }
    const ms = Math.min(...replicas.map(nextEventMs), (searching[0]?.time ?? Infinity) - now);
    for (const replica of replicas) {
      if (replica.active.length === 0)
        replica[searching.length > 0 ? 'searchingMs' : 'idleMs'] += ms;
      else if (replica.reading > 0) {
        replica.readingMs += ms;
        replica.reading -= ms;
        if (replica.reading < TINY) replica.reading = 0;
      } else {
        replica.decodingMs += ms;
        replica.decoded += ms / engine.stepMs(replica.active.length);
      }
    }
    now += ms;
    for (const replica of replicas) {
      if (replica.reading > 0) continue;
      const numDone = byEnd.right(replica.active, replica.decoded + TINY);
      for (const { row } of replica.active.splice(0, numDone)) finishCall(row);
    }
    for (const { row } of searching.splice(0, byTime.right(searching, now + TINY))) {
      const tokens = cluster.foundTokens(row.shape[row.call].subQueries);
      row.call++;
      write(row, tokens);
    }
  }
  const average = (part: Exclude<keyof SimulatedTime, 'totalMs'>): number =>
    sum(replicas, (replica) => replica[part]) / replicas.length;
  return {
    totalMs: now,
    decodingMs: average('decodingMs'),
    readingMs: average('readingMs'),
    searchingMs: average('searchingMs'),
    idleMs: average('idleMs'),
  };
}

/** The time of a rollout with a machine to itself, in ms: more machines cannot help. */
export function aloneMs(shape: RolloutShape, { engine, search, ...cluster }: Cluster): number {
  const callMs = ({ written, subQueries }: Call): number =>
    written * engine.stepMs(1) +
    (subQueries > 0
      ? Math.ceil(subQueries / search.servers) * search.serviceMs +
        search.requestMs +
        engine.readMs(cluster.foundTokens(subQueries))
      : 0);
  return engine.readMs(cluster.promptTokens) + sum(shape, callMs);
}
