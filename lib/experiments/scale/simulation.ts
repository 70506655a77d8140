/**
 * How long the rollouts of a GRPO step take on several engines: a simulation by events.
 * An engine decodes a token for each of its rows at a time, and reads what is found
 * before it goes on; searches queue for a service. Nothing is known of tokens but how
 * many there are.
 */
import { bisector, max, minIndex, range, sum } from 'd3-array';

/**
 * A call of the model: the tokens that it writes, and the sub-queries that it then asks;
 * none where it answers.
 */
export interface Call {
  written: number;
  subQueries: number;
}
/** The calls of a rollout, one after another. */
export type RolloutShape = readonly Call[];

export interface Engine {
  /** Milliseconds of a decoding step, in which each of so many rows gets a token. */
  stepMs(rows: number): number;
  /** Milliseconds to read so many tokens, in which nothing is decoded. */
  readMs(tokens: number): number;
}

export interface SearchService {
  /** Milliseconds of a request beside the search itself. */
  requestMs: number;
  /** Milliseconds of work for a sub-query. */
  serviceMs: number;
  /** Sub-queries that are worked on at a time. */
  servers: number;
}

/**
 * `turn by turn`: all rollouts write, then all search, and each waits for the slowest;
 * `overlapping`: each goes at its own pace.
 */
export const SCHEDULES = ['turn by turn', 'overlapping'] as const;
export type Schedule = (typeof SCHEDULES)[number];

export interface Cluster {
  engine: Engine;
  /** Engines side by side; rollouts are dealt out to them in turn. */
  replicas: number;
  /** Rollouts under way at a time on each. */
  inFlight: number;
  search: SearchService;
  /** Tokens of a prompt. */
  promptTokens: number;
  /** Tokens that a turn of so many sub-queries brings. */
  foundTokens: (subQueries: number) => number;
}

/** Milliseconds, of the engines' mean but for the total; the four parts add up to it. */
export interface SimulatedTime {
  totalMs: number;
  decodingMs: number;
  readingMs: number;
  /** Nothing to decode while searches are under way. */
  searchingMs: number;
  /** Nothing to do until other engines are done. */
  idleMs: number;
}

interface Row {
  shape: RolloutShape;
  call: number;
  replica: Replica;
}

interface Replica {
  /** Milliseconds of reading that are left. */
  reading: number;
  /** Tokens that a row decoding from the beginning would have by now. */
  decoded: number;
  /** Rows that decode, by the `decoded` at which their call ends. */
  active: { row: Row; end: number }[];
  decodingMs: number;
  readingMs: number;
  searchingMs: number;
  idleMs: number;
}

const byEnd = bisector(({ end }: { end: number }) => end);
const byTime = bisector(({ time }: { time: number }) => time);
/** Rounding, in tokens and milliseconds. */
const TINY = 1e-9;

/** The rollouts of a step, in the order given. */
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
  const waiting = shapes.map((shape, i): Row => ({
    shape,
    call: 0,
    replica: replicas[i % replicas.length],
  }));
  const serverFree = new Array<number>(search.servers).fill(0);
  const found: { row: Row; time: number }[] = [];
  /** Turn by turn: those that have written and wait for the others to have done so. */
  let together: Row[] = [];
  let now = 0;

  const write = (row: Row, tokensRead: number): void => {
    const { replica, shape, call } = row;
    replica.reading += engine.readMs(tokensRead);
    const end = replica.decoded + shape[call].written;
    replica.active.splice(byEnd.right(replica.active, end), 0, { row, end });
  };
  const start = (row: Row | undefined): void => {
    if (row) write(row, cluster.promptTokens);
  };
  /** When the search of a row is done. */
  const searched = ({ shape, call }: Row): number => {
    const ends = range(shape[call].subQueries).map(() => {
      const server = minIndex(serverFree);
      return (serverFree[server] = Math.max(serverFree[server], now) + search.serviceMs);
    });
    return max(ends)! + search.requestMs;
  };
  const find = (row: Row, time: number): void => {
    found.splice(byTime.right(found, time), 0, { row, time });
  };
  const written = (row: Row): void => {
    if (row.shape[row.call].subQueries > 0) {
      if (schedule === 'overlapping') find(row, searched(row));
      else together.push(row);
    } else if (schedule === 'overlapping') {
      const next = waiting.findIndex(({ replica }) => replica === row.replica);
      if (next >= 0) start(waiting.splice(next, 1)[0]);
    }
  };
  const startBatch = (): void =>
    waiting.splice(0, cluster.inFlight * replicas.length).forEach(start);
  const nextEventOf = ({ reading, decoded, active }: Replica): number => {
    if (active.length === 0) return Infinity;
    return reading > 0 ? reading : (active[0].end - decoded) * engine.stepMs(active.length);
  };

  startBatch();
  for (;;) {
    const isBusy = replicas.some(({ active }) => active.length > 0);
    if (!isBusy && found.length === 0) {
      if (together.length === 0 && waiting.length === 0) break;
      const last = max(together.map(searched));
      together.forEach((row) => find(row, last!));
      if (together.length === 0) startBatch();
      together = [];
      continue;
    }
    const ms = Math.min(...replicas.map(nextEventOf), (found[0]?.time ?? Infinity) - now);
    for (const replica of replicas) {
      if (replica.active.length === 0) replica[found.length > 0 ? 'searchingMs' : 'idleMs'] += ms;
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
      for (const { row } of replica.active.splice(0, numDone)) written(row);
    }
    for (const { row } of found.splice(0, byTime.right(found, now + TINY))) {
      const tokens = cluster.foundTokens(row.shape[row.call].subQueries);
      row.call++;
      write(row, tokens);
    }
  }
  const meanOf = (part: keyof SimulatedTime & keyof Replica): number =>
    sum(replicas, (replica) => replica[part]) / replicas.length;
  return {
    totalMs: now,
    decodingMs: meanOf('decodingMs'),
    readingMs: meanOf('readingMs'),
    searchingMs: meanOf('searchingMs'),
    idleMs: meanOf('idleMs'),
  };
}

/**
 * A rollout that has everything to itself, milliseconds: what more machines cannot
 * shorten.
 */
export function aloneMs(shape: RolloutShape, { engine, search, ...cluster }: Cluster): number {
  const ofCall = ({ written, subQueries }: Call): number =>
    written * engine.stepMs(1) +
    (subQueries > 0
      ? Math.ceil(subQueries / search.servers) * search.serviceMs +
        search.requestMs +
        engine.readMs(cluster.foundTokens(subQueries))
      : 0);
  return engine.readMs(cluster.promptTokens) + sum(shape, ofCall);
}
