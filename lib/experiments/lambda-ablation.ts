/**
 * Table 4: what the weights of the decomposition reward (lambda_d) and of the search-count reward (lambda_s) do. The grid is
 * the paper's; its own setting is that of the main comparison, whose runs are shared.
 */
import { configHash, type Lambdas } from '../config.js';
import { loadPaperTables } from '../evaluation/paper.js';
import { packagePath } from '../paths.js';
import { rewardOptions } from '../rewards/presets.js';
import { evaluationHash } from './evaluation-run.js';
import { evaluateRuns, SEEDS, type EvaluateRunsOptions } from './evaluate-runs.js';
import type { PolicyRun } from './world.js';

/** Where the notebook finds results, curves and provenance. */
export const LAMBDA_ABLATION = packagePath('runs', 'experiments', 'lambda-ablation');

const START = 'instruct';

const isSame = (a: Lambdas, b: Lambdas): boolean => a.lambdaD === b.lambdaD && a.lambdaS === b.lambdaS;

/** Every setting of Table 4 once, in its order. */
export function lambdaGrid(): Lambdas[] {
  const rows = loadPaperTables().table4_lambda_ablation.rows.map(({ lambda_d, lambda_s }) => ({
    lambdaD: lambda_d,
    lambdaS: lambda_s,
  }));
  return rows.filter((row, i) => rows.findIndex((other) => isSame(other, row)) === i);
}

/** Name of a setting in results, such as `lambda_d=0.15,lambda_s=0.35`. */
export const lambdaMethod = ({ lambdaD, lambdaS }: Lambdas): string =>
  `lambda_d=${lambdaD},lambda_s=${lambdaS}`;

/** The lambdas of a run: its own, or the paper's. */
export function lambdasOf({ lambdas }: PolicyRun): Lambdas {
  const { lambdaD, lambdaS } = rewardOptions('paper');
  return lambdas ?? { lambdaD, lambdaS };
}

/** ParallelSearch with every setting and seed; the paper's own setting is the main comparison's. */
export function lambdaRuns(): PolicyRun[] {
  const main = lambdasOf({ method: 'parallelsearch', start: START, seed: 1 });
  return SEEDS.flatMap((seed) =>
    lambdaGrid().map((lambdas): PolicyRun => {
      const run = { method: 'parallelsearch', start: START, seed } as const;
      return isSame(lambdas, main) ? run : { ...run, lambdas };
    }),
  );
}

/** Evaluates the ablation's runs into the folder that its notebook reads. */
export function evaluateLambdaAblation(options: Omit<EvaluateRunsOptions, 'folder'>): Promise<void> {
  return evaluateRuns(lambdaRuns(), { ...options, folder: LAMBDA_ABLATION }, (run) =>
    lambdaMethod(lambdasOf(run)),
  );
}

/** Changes with anything that the ablation's results depend on. */
export async function lambdaAblationHash(): Promise<string> {
  return configHash({ runs: await Promise.all(lambdaRuns().map(evaluationHash)) });
}
