/**
 * What an experiment is: jobs whose results are kept, and claims of the paper that they
 * decide.
 */
import type { BackendName } from '../tensor/backend.js';
import type { ResultParts } from '../report/opening.js';
import type { Interval } from '../evaluation/bootstrap.js';
import type { World } from '../retrieval/world.js';

/**
 * A piece of work whose result is kept under its key, and counts while its hash is the
 * same.
 */
export interface Job<Input> {
  key: string;
  /** Changes with everything that the result depends on: settings, data, weights. */
  hash: string;
  /** What the process that does it is told; plain data. */
  input: Input;
  /** About how long it takes on one core. */
  seconds: number;
}

export type { ResultParts };

export interface WorkContext {
  backend: BackendName;
  /** The small world, loaded once for each process. */
  world: World;
  /** @param fraction of the job that is done, 0 to 1 */
  onFraction: (fraction: number) => void;
  /** What an earlier call has got so far, which grows by {@link keep}. */
  kept: readonly unknown[];
  keep: (item: unknown) => Promise<void>;
  /** When to stop before all is done, as a time of `performance.now()`. */
  until: number;
}

/** What is computed, in jobs that do not need each other. */
export interface Computation {
  jobs(): Promise<Job<unknown>[]>;
  /**
   * Does a job in a process of its own. Returns undefined where it stopped at `until`;
   * what it has kept stays.
   */
  work(input: unknown, context: WorkContext): Promise<unknown>;
  /** Most processes side by side; default 2. Times want 1. */
  processes?: number;
  /** Threads of each; default 1, since a small policy uses no more. */
  threads?: number;
  /**
   * Whether the native backend multiplies with oneDNN: better for a language model;
   * default false, which is better for a small policy.
   */
  oneDnn?: boolean;
  /**
   * What this machine lacks for it, with the remedy; undefined where nothing is missing.
   */
  missing?(): string | undefined;
  /** What must be there before the jobs are known, such as training. */
  prepare?: Preparation;
  /** A recorded result with the items that were kept of a new one in place of the old. */
  merged?(recorded: unknown, kept: readonly unknown[]): { value: unknown; note: string };
}

export interface Preparation {
  /** What there is to be done, in a few words; null where nothing is. */
  plan(): Promise<{ work: string; seconds: number } | null>;
  run(options: {
    backend: BackendName;
    signal: AbortSignal;
    onProgress: (fraction: number) => void;
  }): Promise<void>;
}

export interface ExperimentResult extends Required<ResultParts> {
  name: string;
  /** Of the recorded answers and of the library's code. */
  hash: string;
}

export interface Experiment {
  /** Of its folder, its notebook's report and the command line. */
  name: string;
  /** What is computed or shown, in a line. */
  title: string;
  /** Absent where a report only looks at what others have computed. */
  computation?: Computation;
  /** Names of the experiments whose results its report reads, in place of its own. */
  reads?: readonly string[];
  /**
   * Computes the result from answers, which takes seconds.
   * @param folder of this machine's records; what it lacks is taken from the recorded
   * ones
   */
  result?: (folder?: string) => Promise<ResultParts>;
  /** Claims of the paper that its report decides. */
  claims?: readonly PaperClaim[];
}

/** A computation whose jobs and work speak of the same types. */
export const computation = <Input, Value>(
  spec: Omit<Computation, 'jobs' | 'work' | 'merged'> & {
    jobs(): Promise<Job<Input>[]>;
    work(input: Input, context: WorkContext): Promise<Value | undefined>;
    merged?(recorded: Value, kept: readonly unknown[]): { value: Value; note: string };
  },
): Computation => spec;

/** One figure that a claim rests on, and where its interval must lie. */
export interface Part {
  /** Which figure of several: a model, a benchmark. */
  of: string;
  found: Interval;
  /** How the figure is written: a difference in points, or a plain number. */
  unit: 'points' | 'number';
  side: 'above' | 'below';
  threshold: number;
}

export type Figures = readonly (Interval & Readonly<Record<string, unknown>>)[];
/** The rows and contrasts of a result; rows include those of training. */
export interface Numbers {
  rows: Figures;
  contrasts: Figures;
}

/** Where the evidence for a claim is, and what it says. */
export interface Evidence {
  /** Id of the notebook's cell that shows it. */
  cell: string;
  /** What must hold, in words. */
  rule: string;
  /** None where the report does not hold the figures. */
  parts: (numbers: Numbers) => Part[];
}

/** Something that the paper says of its method. */
export interface PaperClaim {
  id: string;
  claim: string;
  /** The figure as the paper states it. */
  paper: string;
  /** The same from the paper's own tables, recomputed. */
  tables: () => string;
  /** Or the reason why this project cannot tell. */
  evidence: Evidence | { untestable: string };
}
