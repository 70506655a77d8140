/**
 * Rows of tokens as the tree of their prefixes. A prefix that rows share, such as the
 * prompt of a group of rollouts, is computed once; this is exact, since a token's state
 * depends on the tokens before it only.
 *
 * Shape letters: B rows, T tokens of the longest row, N tokens of the tree.
 */
export interface PrefixTree {
  /** The tokens of the tree. (N) */
  ids: number[];
  /** The position of each token in its rows. (N) */
  places: number[];
  /** B and T. */
  shape: [rows: number, tokens: number];
  /** For each cell of the rows, the tree's token; 0, never read, for padding. (B*T) */
  cells: number[];
  /** The first cell of each token. (N) */
  firsts: number[];
}

/** Builds the tree of some rows; tokens are in the order in which rows reach them. */
export function prefixTree(rows: readonly (readonly number[])[]): PrefixTree {
  const length = Math.max(...rows.map((row) => row.length));
  const cells = new Array<number>(rows.length * length).fill(0);
  const tree: PrefixTree = { ids: [], places: [], shape: [rows.length, length], cells, firsts: [] };
  /** Children by token id, of the root and then of each token. */
  const children: Map<number, number>[] = [new Map<number, number>()];
  rows.forEach((row, r) => {
    let parent = -1;
    row.forEach((id, t) => {
      const cell = r * length + t;
      let token = children[parent + 1].get(id);
      if (token === undefined) {
        token = tree.ids.length;
        children[parent + 1].set(id, token);
        children.push(new Map());
        tree.ids.push(id);
        tree.places.push(t);
        tree.firsts.push(cell);
      }
      cells[cell] = token;
      parent = token;
    });
  });
  return tree;
}

/** Orders rows so that rows with a common prefix are adjacent. */
export function comparePrefixes(a: readonly number[], b: readonly number[]): number {
  const t = a.findIndex((id, i) => id !== b[i]);
  return t < 0 ? a.length - b.length : a[t] - (b[t] ?? -1);
}
