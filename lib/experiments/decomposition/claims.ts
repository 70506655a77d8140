/** The claim of the paper that the dependency graphs decide. */
import { matching } from '../../evaluation/table.js';
import { figureText } from '../../report/text.js';
import { OURS, partsWhere } from '../evidence.js';
import { INITIAL_MODELS } from '../runs.js';
import type { Numbers, PaperClaim } from '../verdicts.js';

/** F1 of a policy that decomposes every question: what there is to beat. Null where the rows do not say how many there are. */
export function alwaysF1(rows: Numbers['rows']): number | null {
  const size = (subset: string, metric: string): unknown =>
    matching(rows, { benchmark: 'all', subset, metric })[0]?.n;
  const [all, parallel] = [size('all', 'parallelizing_f1'), size('parallelizable', 'coverage')];
  return typeof all === 'number' && typeof parallel === 'number' ? (2 * parallel) / (all + parallel) : null;
}

export const decompositionClaims: readonly PaperClaim[] = [
  {
    id: 'recognises',
    claim: 'Recognises which questions are parallelizable',
    paper: 'stated, no figure',
    tables: () => 'nothing: decomposition is counted on parallelizable questions only',
    evidence: {
      cell: 'parallelizing-table',
      rule: 'F1 against the dependency graphs from both models above that of decomposing every question',
      parts: ({ rows }) => {
        const always = alwaysF1(rows);
        if (always === null) return [];
        return INITIAL_MODELS.flatMap((model) => {
          const cell = { ...OURS, model, subset: 'all', metric: 'parallelizing_f1' };
          const of = `F1 (${model}; always: ${figureText(always)})`;
          return partsWhere(rows, cell, { of, unit: 'number', side: 'above', threshold: always });
        });
      },
    },
  },
];
