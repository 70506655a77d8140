/** The parts of an experiment: its jobs, its result, and the claims that it decides. */
import type { ResultParts } from '../report/result.js';
import type { World } from '../retrieval/small-world.js';
import type { BackendName } from '../tensor/backend.js';
import type { PaperClaim } from './results/claims.js';

/** A piece of work, recorded under its key; valid while the hash matches. */
export interface Job<Input> {
  key: string;
  /** Covers everything the record depends on: settings, data, weights. */
  hash: string;
  /** Plain data for the worker process. */
  input: Input;
  /** Estimated duration on one core. */
  seconds: number;
}

export interface WorkContext {
  backend: BackendName;
  /** The small world, loaded once per process. */
  world: World;
  /** @param fraction of the job that is done, 0 to 1 */
  onFraction: (fraction: number) => void;
  /** Items kept by an interrupted call; {@link keep} adds to them. */
  kept: readonly unknown[];
  keep: (item: unknown) => Promise<void>;
  /** When to stop early, on the clock of `performance.now()`. */
  until: number;
}

export interface Computation {
  jobs(): Promise<Job<unknown>[]>;
  /** Runs a job in a worker process. Returns undefined if it stopped at `until`. */
  work(input: unknown, context: WorkContext): Promise<unknown>;
  /** Maximum number of concurrent processes. Default: 2; timings need 1. */
  processes?: number;
  /** Threads per process. Default: 1, because a small policy uses no more. */
  threads?: number;
  /** What this machine lacks, with the remedy; undefined if nothing. */
  missing?(): string | undefined;
  /** Work that precedes listing the jobs, such as training. */
  prepare?: Preparation;
  /** Merges kept items into a record, with a note for its provenance. */
  merge?(recorded: unknown, kept: readonly unknown[]): { value: unknown; note: string };
}

export interface Preparation {
  /** Describes the remaining work; null if there is none. */
  plan(): Promise<{ work: string; seconds: number } | null>;
  run(options: {
    backend: BackendName;
    signal: AbortSignal;
    onProgress: (fraction: number) => void;
  }): Promise<void>;
}

export interface ExperimentResult extends Required<ResultParts> {
  name: string;
  /** Changes with recorded answers and with the library's code. */
  hash: string;
}

export interface Experiment {
  /** Its name on the command line, and that of its report. */
  name: string;
  /** What is computed or shown. */
  title: string;
  /** Absent if the experiment only reads the records of others. */
  computation?: Computation;
  /** Experiments whose records the result reads. Default: only its own. */
  reads?: readonly string[];
  /**
   * Computes the result from records, which takes seconds.
   * @param folder of this machine's records; the repository's records fill gaps
   * @throws Error with the command that computes missing records
   */
  result?: (folder?: string) => Promise<ResultParts>;
  /** Claims of the paper that the result decides. */
  claims?: readonly PaperClaim[];
}

/** Types a computation, so that its jobs' input is its work's. */
export const defineComputation = <Input, Value>(
  spec: Omit<Computation, 'jobs' | 'work' | 'merge'> & {
    jobs(): Promise<Job<Input>[]>;
    work(input: Input, context: WorkContext): Promise<Value | undefined>;
    merge?(recorded: Value, kept: readonly unknown[]): { value: Value; note: string };
  },
): Computation => spec;
