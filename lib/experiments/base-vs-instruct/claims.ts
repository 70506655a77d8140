/** The claim of the paper that the comparison of the initial models decides. */
import { pointsText } from '../../report/text.js';
import { AHEAD, EM_DIFFERENCE, OURS, partsWhere } from '../evidence.js';
import { paperMean } from '../paper.js';
import { INITIAL_MODELS } from '../runs.js';
import type { PaperClaim } from '../verdicts.js';

export const baseVsInstructClaims: readonly PaperClaim[] = [
  {
    id: 'base-over-instruct',
    claim: 'The base model ends above the instruct model',
    paper: '+3.3',
    tables: () => {
      const average = { method: 'parallelsearch', benchmark: 'average', subset: 'all', metric: 'em' };
      const [base, instruct] = INITIAL_MODELS.map((model) => paperMean({ ...average, model }));
      return `${pointsText(base - instruct)} points (printed averages of Table 2)`;
    },
    evidence: {
      cell: 'gap-table',
      rule: 'Base minus instruct of ParallelSearch, average of the benchmarks, above 0',
      parts: ({ contrasts }) => {
        const sides = { against: 'parallelsearch', model: 'base', against_model: 'instruct' };
        const cell = { ...OURS, ...sides, ...EM_DIFFERENCE, benchmark: 'average', subset: 'all' };
        return partsWhere(contrasts, cell, { of: '', ...AHEAD });
      },
    },
  },
];
