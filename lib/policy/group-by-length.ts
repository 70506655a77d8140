/**
 * Indices of sequences in groups of similar length, each of at most `maxTokens` padded
 * tokens.
 */
export function groupByLength(lengths: readonly number[], maxTokens: number): number[][] {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[a] - lengths[b] || a - b);
  const groups: number[][] = [];
  for (const i of order) {
    const group = groups[groups.length - 1];
    // Lengths ascend, so the newest member is the longest.
    if (group && (group.length + 1) * lengths[i] <= maxTokens) group.push(i);
    else groups.push([i]);
  }
  return groups;
}
