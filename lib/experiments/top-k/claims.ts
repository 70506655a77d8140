/** The claim of the paper that passages per query decide. */
import { AHEAD, EM_DIFFERENCE, OURS, partsWhere } from '../evidence.js';
import type { PaperClaim } from '../verdicts.js';

export const topKClaims: readonly PaperClaim[] = [
  {
    id: 'top-k',
    claim: 'More passages per query help: k = 10 answers more questions than k = 1',
    paper: 'about +6 (2Wiki) and +7 (HotpotQA), Figure 6',
    tables: () => 'no point values are printed',
    evidence: {
      cell: 'claims',
      rule: 'Difference in exact match on all questions with BM25 above 0',
      parts: ({ contrasts }) =>
        partsWhere(
          contrasts,
          { ...OURS, ...EM_DIFFERENCE, subset: 'all', retriever: 'bm25', k: 10, against_k: 1 },
          { of: 'BM25', ...AHEAD },
        ),
    },
  },
];
