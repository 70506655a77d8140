import { z } from 'zod';

/**
 * Search-R1's retrieval protocol: `POST /retrieve {"queries": [..], "topk": 3,
 * "return_scores": true}` answered by `{"result": [[{"document": {"id", "contents"},
 * "score"}]]}`, one list for each query. Source: PeterGriffinJin/Search-R1,
 * search_r1/search/retrieval_server.py.
 */
export const retrieveRequestSchema = z.object({
  queries: z.array(z.string()).min(1),
  topk: z.int().min(1).optional(),
  return_scores: z.boolean().optional(),
});

/**
 * Ids may be numbers in FlashRAG's corpora, and web-search servers of the same protocol
 * send neither id nor score.
 */
const documentSchema = z.object({
  id: z.union([z.string(), z.number()]).optional(),
  contents: z.string(),
});

export const retrieveResponseSchema = z.object({
  result: z.array(z.array(z.object({ document: documentSchema, score: z.number().optional() }))),
});

export type RetrieveRequest = z.infer<typeof retrieveRequestSchema>;
export type RetrieveResponse = z.infer<typeof retrieveResponseSchema>;
