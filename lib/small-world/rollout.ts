/**
 * How rollouts go in the small world, for all methods alike: the paper's three passages a query; turns enough to ask each of five entities one
 * by one; and a limit on what one turn brings in proportion to the paper's 500 tokens, whose passages are of about 130 and these of about 18.
 */
export const SMALL_ROLLOUT = {
  topK: 3,
  maxSearchTurns: 6,
  maxNewTokens: 160,
  maxInformationTokens: 320,
} as const;
