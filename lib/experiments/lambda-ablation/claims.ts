/** Claims of the paper on the weights of the two rewards. */
import { greatest } from 'd3-array';
import type { Lambdas } from '../../methods/config.js';
import { figureText } from '../../report/text.js';
import { listed } from '../../text/listed.js';
import { paperMean } from '../paper.js';
import { partsAhead, partsWhere, type PaperClaim } from '../verdicts.js';
import { identicalSettings, lambdaGrid, lambdaMethod, lambdaTitle, PAPER } from './settings.js';

const ON_PARALLEL = { benchmark: 'all', subset: 'parallelizable' };

/** The mean of Table 4's two data sets for a setting. */
const table4Mean = (setting: Lambdas, metric: string): number =>
  paperMean({ method: lambdaMethod(setting), metric });

/** Table 4: the setting with the best mean EM, and settings whose rows are the same. */
function bestText(): string {
  const best = greatest(lambdaGrid(), (setting) => table4Mean(setting, 'em'))!;
  const twins = identicalSettings().map(lambdaTitle);
  const note = twins.length > 0 ? `; the rows ${listed(twins)} are identical` : '';
  return `best mean of Table 4: ${lambdaTitle(best)} with ${figureText(table4Mean(best, 'em'))}${note}`;
}

export const lambdaClaims: readonly PaperClaim[] = [
  {
    id: 'lambda-best',
    claim: 'Weights of 0.15 (decomposition) and 0.35 (search count) answer most questions',
    paper: 'Table 4',
    tables: bestText,
    evidence: {
      cell: 'claims',
      rule: 'Difference in exact match on parallelizable questions to every other setting of Table 4 above 0',
      parts: (numbers) =>
        lambdaGrid().flatMap((setting) => {
          const sides = { method: lambdaMethod(PAPER), against: lambdaMethod(setting) };
          return partsAhead(numbers, `over ${lambdaTitle(setting)}`, { ...sides, ...ON_PARALLEL });
        }),
    },
  },
  {
    id: 'lambda-calls',
    claim: 'The search-count reward saves calls',
    paper: 'Table 4',
    tables: () => {
      const turns = (lambdaS: number): number => table4Mean({ ...PAPER, lambdaS }, 'model_calls');
      return `${turns(PAPER.lambdaS).toFixed(2)} calls with it, ${turns(0).toFixed(2)} without (means of Table 4)`;
    },
    evidence: {
      cell: 'claims',
      rule: 'Difference in model calls on parallelizable questions to the setting without it, beside the other reward and alone, below 0',
      parts: ({ contrasts }) =>
        [
          { of: 'beside the other', lambdaD: PAPER.lambdaD },
          { of: 'alone', lambdaD: 0 },
        ].flatMap(({ of, lambdaD }) => {
          const [method, against] = [PAPER.lambdaS, 0].map((lambdaS) =>
            lambdaMethod({ lambdaD, lambdaS }),
          );
          const cell = {
            method,
            against,
            ...ON_PARALLEL,
            metric: 'model_calls',
            kind: 'difference',
          };
          return partsWhere(contrasts, cell, { of, unit: 'number', side: 'below', threshold: 0 });
        }),
    },
  },
];
