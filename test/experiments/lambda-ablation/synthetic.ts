/** A made-up evaluation of the settings of Table 4, with known effects of both weights. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { lambdaSettings, lambdaMethod } from '../../../lib/experiments/lambda-ablation/settings.js';
import type { CurvePoint } from '../../../lib/evaluation/load.js';
import type { QuestionResult } from '../../../lib/evaluation/result.js';
import { syntheticCurves, syntheticResults } from '../synthetic.js';

/** Without lambda_d nothing is decomposed; every parallelizable question takes two calls more without lambda_s. */
export function syntheticLambdaResults({ perTemplate = 8, seeds = 3 } = {}): QuestionResult[] {
  const ours = syntheticResults({ perTemplate, seeds }).filter(
    ({ method, model }) => method === 'parallelsearch' && model === 'instruct',
  );
  return lambdaSettings().flatMap((setting) =>
    ours.map((result): QuestionResult => {
      const extra = setting.lambdaS === 0 && result.subset === 'parallelizable' ? 2 : 0;
      return {
        ...result,
        method: lambdaMethod(setting),
        decomposed: result.decomposed && setting.lambdaD > 0,
        turns: result.turns + extra,
        modelCalls: result.modelCalls + extra,
      };
    }),
  );
}

function syntheticLambdaCurves(): CurvePoint[] {
  const ours = syntheticCurves({ steps: 30 }).filter(
    ({ method, model }) => method === 'parallelsearch' && model === 'instruct',
  );
  return lambdaSettings().flatMap((setting) =>
    ours.map((point) => ({ ...point, method: lambdaMethod(setting) })),
  );
}

/** Writes a folder as the experiment does; returns it. */
export function writeSyntheticLambdaAblation(folder: string, options: { perTemplate?: number } = {}): string {
  mkdirSync(folder, { recursive: true });
  const lines = (items: readonly object[]): string =>
    items.map((item) => `${JSON.stringify(item)}\n`).join('');
  const provenance = { seeds: [1, 2, 3], commit: '0000000', configHash: 'synthetic', durationSeconds: 1 };
  writeFileSync(path.join(folder, 'results.jsonl'), lines(syntheticLambdaResults(options)));
  writeFileSync(path.join(folder, 'curves.jsonl'), lines(syntheticLambdaCurves()));
  writeFileSync(path.join(folder, 'provenance.json'), JSON.stringify(provenance));
  return folder;
}
