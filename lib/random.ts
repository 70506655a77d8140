/**
 * The project's single source of randomness: the 32-bit generator sfc32 (PractRand),
 * seeded by hashing labels. Every consumer draws from its own stream, and one seed
 * determines all.
 */
export interface Random {
  /** A number in [0, 1). */
  uniform(): number;
  /** A standard normal deviate (Box and Muller). */
  normal(): number;
  /** An integer in [0, bound). */
  integer(bound: number): number;
  /** One element of a non-empty list. */
  choice<T>(items: readonly T[]): T;
  /** A shuffled copy (Fisher and Yates). */
  shuffle<T>(items: readonly T[]): T[];
  /** An independent generator named by `label`; does not advance this one. */
  fork(label: string | number): Random;
  /** The state, for a checkpoint. */
  state(): number[];
}

const FNV_BASIS = 0x811c9dc5;

/** 32-bit FNV-1a over UTF-16 code units with a final avalanche. */
export function hash32(text: string, basis = FNV_BASIS): number {
  let h = basis >>> 0;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Creates a generator from a seed (any number or text) or from a saved `state`. */
export function createRandom(seed: number | string, state?: readonly number[]): Random {
  const name = String(seed);
  let [a, b, c, d] =
    state ?? [1, 2, 3, 4].map((lane) => hash32(name, FNV_BASIS + lane * 0x9e3779b9));
  const next = (): number => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return t >>> 0;
  };
  if (!state) for (let i = 0; i < 12; i++) next();

  const uniform = (): number => next() / 4294967296;
  const integer = (bound: number): number => {
    if (!Number.isInteger(bound) || bound < 1) {
      throw new RangeError(`Expected bound to be an integer >= 1, but got ${bound}.`);
    }
    return Math.floor(uniform() * bound);
  };
  return {
    uniform,
    integer,
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
    choice: (items) => items[integer(items.length)],
    shuffle: (items) => {
      const copy = items.slice();
      for (let i = copy.length - 1; i > 0; i--) {
        const j = integer(i + 1);
        [copy[i], copy[j]] = [copy[j], copy[i]];
      }
      return copy;
    },
    fork: (label) => createRandom(`${name}/${label}`),
    state: () => [a, b, c, d],
  };
}
