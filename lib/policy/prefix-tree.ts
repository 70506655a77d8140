/**
 * Rows of tokens as the tree of their prefixes. What several rows begin with, such as
 * the prompt of a group of rollouts, is one branch that is computed once: exact, since
 * the state of a token follows from the tokens before it.
 *
 * Shape letters: B rows, T tokens of the longest row, N tokens of the tree.
 */
export interface PrefixTree {
  /** Tokens of the tree, and the place of each in its rows. (N) int32 */
  ids: number[];
  places: number[];
  /** B and T. */
  shape: [rows: number, tokens: number];
  /**
   * Index into N of the token in each cell of the padded rows; padding is token 0, which
   * nothing reads there. (B*T) int32
   */
  cells: number[];
  /** A cell of each token: index into B*T. (N) int32 */
  firsts: number[];
}

/** The tree of some rows. Tokens are in the order in which rows come to them. */
export function prefixTree(rows: readonly (readonly number[])[]): PrefixTree {
  const length = Math.max(...rows.map((row) => row.length));
  const cells = new Array<number>(rows.length * length).fill(0);
  const tree: PrefixTree = { ids: [], places: [], shape: [rows.length, length], cells, firsts: [] };
  /** Of each token and, first, of the beginning: which token goes on with an id. */
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

/** Orders two rows so that those that begin alike come to lie side by side. */
export function comparePrefixes(a: readonly number[], b: readonly number[]): number {
  const t = a.findIndex((id, i) => id !== b[i]);
  return t < 0 ? a.length - b.length : a[t] - (b[t] ?? -1);
}
