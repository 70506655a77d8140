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

export const simulateRollouts = (
  shapes: readonly RolloutShape[],
  cluster: Cluster,
  schedule: Schedule,
): SimulatedTime => new Simulation(shapes, cluster, schedule).run();

class Simulation {
  private now = 0;
  private readonly replicas: readonly Replica[];
  /** Not started yet. */
  private readonly waiting: Row[];
  private readonly searching: { row: Row; time: number }[] = [];
  /** In `turn by turn`: rows that have written and wait for the others. */
  private together: Row[] = [];
  /** When each of the concurrent searches ends. */
  private readonly serverFree: number[];

  constructor(
    shapes: readonly RolloutShape[],
    private readonly cluster: Cluster,
    private readonly schedule: Schedule,
  ) {
    this.replicas = range(cluster.replicas).map((): Replica => {
      const spent = { decodingMs: 0, readingMs: 0, searchingMs: 0, idleMs: 0 };
      return { reading: 0, decoded: 0, active: [], ...spent };
    });
    this.waiting = shapes.map((shape, i): Row => {
      return { shape, call: 0, replica: this.replicas[i % this.replicas.length] };
    });
    this.serverFree = new Array<number>(cluster.search.servers).fill(0);
  }

  run(): SimulatedTime {
    while (this.startNext()) {
      this.spend(this.nextEventMs());
      this.finishCalls();
      this.finishSearches();
    }
    const average = (part: Exclude<keyof SimulatedTime, 'totalMs'>): number =>
      sum(this.replicas, (replica) => replica[part]) / this.replicas.length;
    return {
      totalMs: this.now,
      decodingMs: average('decodingMs'),
      readingMs: average('readingMs'),
      searchingMs: average('searchingMs'),
      idleMs: average('idleMs'),
    };
  }

  /** Starts rows that had to wait for all others. @returns whether anything is running */
  private startNext(): boolean {
    const isBusy = this.searching.length > 0 || this.replicas.some((one) => one.active.length > 0);
    if (isBusy) return true;
    if (this.together.length > 0) {
      const last = max(this.together, (row) => this.searchEnd(row))!;
      for (const row of this.together) this.startSearch(row, last);
      this.together = [];
      return true;
    }
    const batch = this.waiting.splice(0, this.cluster.inFlight * this.replicas.length);
    for (const row of batch) this.write(row, this.cluster.promptTokens);
    return batch.length > 0;
  }

  /** Milliseconds until a replica has read or written, or a search has ended. */
  private nextEventMs(): number {
    const { engine } = this.cluster;
    const ends = this.replicas.map(({ reading, decoded, active }) => {
      if (active.length === 0) return Infinity;
      return reading > 0 ? reading : (active[0].end - decoded) * engine.stepMs(active.length);
    });
    return Math.min(...ends, (this.searching[0]?.time ?? Infinity) - this.now);
  }

  private spend(ms: number): void {
    this.now += ms;
    for (const replica of this.replicas) {
      if (replica.active.length === 0)
        replica[this.searching.length > 0 ? 'searchingMs' : 'idleMs'] += ms;
      else if (replica.reading > 0) {
        replica.readingMs += ms;
        replica.reading -= ms;
        if (replica.reading < TINY) replica.reading = 0;
      } else {
        replica.decodingMs += ms;
        replica.decoded += ms / this.cluster.engine.stepMs(replica.active.length);
      }
    }
  }

  private finishCalls(): void {
    for (const replica of this.replicas) {
      if (replica.reading > 0) continue;
      const numDone = byEnd.right(replica.active, replica.decoded + TINY);
      for (const { row } of replica.active.splice(0, numDone)) this.finishCall(row);
    }
  }

  private finishCall(row: Row): void {
    if (row.shape[row.call].subQueries > 0) {
      if (this.schedule === 'overlapping') this.startSearch(row, this.searchEnd(row));
      else this.together.push(row);
    } else if (this.schedule === 'overlapping') {
      const next = this.waiting.findIndex(({ replica }) => replica === row.replica);
      if (next >= 0) this.write(this.waiting.splice(next, 1)[0], this.cluster.promptTokens);
    }
  }

  private finishSearches(): void {
    const numDone = byTime.right(this.searching, this.now + TINY);
    for (const { row } of this.searching.splice(0, numDone)) {
      const tokensRead = this.cluster.foundTokens(row.shape[row.call].subQueries);
      row.call++;
      this.write(row, tokensRead);
    }
  }

  private write(row: Row, tokensRead: number): void {
    const { replica, shape, call } = row;
    replica.reading += this.cluster.engine.readMs(tokensRead);
    const end = replica.decoded + shape[call].written;
    replica.active.splice(byEnd.right(replica.active, end), 0, { row, end });
  }

  private searchEnd({ shape, call }: Row): number {
    const { requestMs, serviceMs } = this.cluster.search;
    const ends = range(shape[call].subQueries).map(() => {
      const server = minIndex(this.serverFree);
      const start = Math.max(this.serverFree[server], this.now);
      return (this.serverFree[server] = start + serviceMs);
    });
    return max(ends)! + requestMs;
  }

  private startSearch(row: Row, time: number): void {
    this.searching.splice(byTime.right(this.searching, time), 0, { row, time });
  }
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
