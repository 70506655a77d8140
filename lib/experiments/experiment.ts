/** Types of an experiment: its jobs, its result, and the claims that it decides. */
import type { BackendName } from '../tensor/backend.js';
import type { ResultParts } from '../report/opening.js';
import type { Interval } from '../evaluation/bootstrap.js';
import type { SummaryOptions } from '../evaluation/table.js';
import type { World } from '../retrieval/small-world.js';

/** A piece of work, recorded under its key; valid while the hash matches. */
export interface Job<Input> {
  key: string;
  /** Changes with everything the record depends on: settings, data, weights. */
  hash: string;
  /** Plain data for the worker process. */
  input: Input;
  /** Estimate on one core. */
  seconds: number;
}

export interface WorkContext {
  backend: BackendName;
  /** The small world, loaded once per process. */
  world: World;
  /** @param fraction of the job that is done, 0 to 1 */
  onFraction: (fraction: number) => void;
  /** Items of an interrupted call; {@link keep} adds to them. */
  kept: readonly unknown[];
  keep: (item: unknown) => Promise<void>;
  /** When to stop early, on the clock of `performance.now()`. */
  until: number;
}

export interface Computation {
  jobs(): Promise<Job<unknown>[]>;
  /** Runs a job in a worker process. Returns undefined if it stopped at `until`. */
  work(input: unknown, context: WorkContext): Promise<unknown>;
  /** Maximum number of concurrent processes; default 2. Timings need 1. */
  processes?: number;
  /** Threads per process; default 1, since a small policy uses no more. */
  threads?: number;
  /** What this machine lacks, with the remedy; undefined if nothing. */
  missing?(): string | undefined;
  /** Work that precedes listing the jobs, such as training. */
  prepare?: Preparation;
  /** Puts kept items into a record, with a note for its provenance. */
  merge?(recorded: unknown, kept: readonly unknown[]): { value: unknown; note: string };
}

export interface Preparation {
  /** The remaining work in a few words; null if there is none. */
  plan(): Promise<{ work: string; seconds: number } | null>;
  run(options: {
    backend: BackendName;
    signal: AbortSignal;
    onProgress: (fraction: number) => void;
  }): Promise<void>;
}

export interface ExperimentResult extends Required<ResultParts> {
  name: string;
  /** Changes with recorded answers and the library's code. */
  hash: string;
}

export interface Experiment {
  /** Also the name of its report, and on the command line. */
  name: string;
  /** What is computed or shown. */
  title: string;
  /** Absent if the experiment only reads the records of others. */
  computation?: Computation;
  /** Experiments whose records its result reads; default: only itself. */
  reads?: readonly string[];
  /**
   * Computes the result from records, which takes seconds.
   * @param folder of this machine's records; the repository's records fill gaps
   * @param options of the bootstrap
   * @throws Error with the command that computes missing records
   */
  result?: (folder?: string, options?: SummaryOptions) => Promise<ResultParts>;
  /** Claims of the paper that its result decides. */
  claims?: readonly PaperClaim[];
}

/** A computation whose jobs and work have the same types. */
export const defineComputation = <Input, Value>(
  spec: Omit<Computation, 'jobs' | 'work' | 'merge'> & {
    jobs(): Promise<Job<Input>[]>;
    work(input: Input, context: WorkContext): Promise<Value | undefined>;
    merge?(recorded: Value, kept: readonly unknown[]): { value: Value; note: string };
  },
): Computation => spec;

/** A figure that a claim rests on, and where its interval must lie. */
export interface ClaimPart {
  /** A model or benchmark, if the claim has several figures. */
  label: string;
  estimate: Interval;
  /** How to print it: a difference in points, or a plain number. */
  unit: 'points' | 'number';
  side: 'above' | 'below';
  threshold: number;
}

export type Figures = readonly (Interval & Readonly<Record<string, unknown>>)[];

/** The tables of a result; `rows` include the rows of training. */
export interface ResultTables {
  rows: Figures;
  contrasts: Figures;
  frames: ExperimentResult['frames'];
}

export interface Evidence {
  /** Id of the notebook cell that shows it. */
  cell: string;
  /** What must hold. */
  rule: string;
  /** Empty if the result lacks the figures. */
  parts: (tables: ResultTables) => ClaimPart[];
  /** Why the figures decide nothing, by the result; null if they do. */
  findReason?: (tables: ResultTables) => string | null;
}

/** A claim of the paper about its method. */
export interface PaperClaim {
  id: string;
  claim: string;
  /** The figure in the paper's text. */
  paper: string;
  /** The same figure recomputed from the paper's tables. */
  tables: () => string;
  /** Or the reason why this project cannot decide it. */
  evidence: Evidence | { untestable: string };
}
