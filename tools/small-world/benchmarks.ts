/**
 * The benchmarks of the small world: imitations of the paper's seven, in their real
 * proportions, and one of comparisons of many entities. Proportions are those of the
 * original dev sets: HotpotQA with 5,918 bridge and 1,487 comparison questions;
 * 2WikiMultiHopQA's four types; MuSiQue's answerable questions by hops. Comparisons are
 * of two, as in the originals, except yes/no questions, which models of this size do not
 * learn; those of up to eight are only in `many`.
 */
import { range } from 'd3-array';
import type { Question } from '../../lib/data/question.js';
import type { Random } from '../../lib/random.js';
import { createQuestionMaker, type Draft, type QuestionMaker, type Wording } from './questions.js';
import type { Split, Thing } from './world.js';

type Maker = (make: QuestionMaker, wording: Wording, random: Random) => Draft;

interface Type {
  type: string;
  share: number;
  draw: Maker;
}

const chain = (length: number, type: string, share = 1): Type => ({
  type,
  share,
  draw: (make, wording, random) => make.chain(length, wording, random),
});
const single = (...kinds: Parameters<QuestionMaker['chain']>[3] & object): Type => ({
  type: 'single_hop',
  share: 1,
  draw: (make, wording, random) => make.chain(1, wording, random, kinds),
});
const comparisonOfTwo = (type: string, share: number, length: 1 | 2 = 1): Type => ({
  type,
  share,
  draw: (make, wording, random) => make.ordered(2, length, wording, random),
});

/** Maximum number of entities compared by a question of `many`, in each split. */
const MOST_COMPARED = { train: 5, heldOut: 8 };

const BENCHMARKS: Readonly<Record<string, readonly Type[]>> = {
  nq: [single('film', 'novel', 'album')],
  triviaqa: [single('director', 'novelist', 'singer', 'company')],
  popqa: [single('film', 'novel', 'album', 'director', 'novelist', 'singer', 'city', 'country')],
  hotpotqa: [chain(2, 'bridge', 0.799), comparisonOfTwo('comparison', 0.201)],
  '2wikimultihopqa': [
    chain(2, 'compositional', 0.416),
    chain(2, 'inference', 0.123),
    comparisonOfTwo('comparison', 0.242),
    comparisonOfTwo('bridge_comparison', 0.219, 2),
  ],
  musique: [chain(2, '2hop', 0.518), chain(3, '3hop', 0.314), chain(4, '4hop', 0.168)],
  bamboogle: [chain(2, '2hop')],
};

const many = (mostCompared: number): Type[] =>
  range(2, mostCompared + 1).map((count) => ({
    type: `comparison_${count}`,
    share: 1 / (mostCompared - 1),
    draw: (make, wording, random) => make.ordered(count, 1, wording, random),
  }));

/** Number of questions of each benchmark; types have exact shares of them. */
type Counts = Readonly<Record<string, number>>;

const NAMES = [...Object.keys(BENCHMARKS), 'many'];
const counts = (...numbers: number[]): Counts =>
  Object.fromEntries(NAMES.map((name, i) => [name, numbers[i]]));

// In the order of the benchmarks above, with `many` last.
export const TRAIN_COUNTS = counts(300, 300, 300, 700, 700, 400, 0, 1000);
export const DEV_COUNTS = counts(100, 100, 100, 200, 200, 150, 100, 420);
/** More would show little: differences between runs dominate (`scripts/power.mjs`). */
export const TEST_COUNTS = counts(150, 150, 150, 500, 500, 250, 150, 490);
/**
 * Counts of the fresh test of conditions (limits on turns): mostly questions with
 * parallel parts, and as many as six runs answer in a quarter of an hour on one core.
 */
export const CONDITIONS_COUNTS = counts(15, 15, 15, 50, 140, 45, 25, 112);
/** Counts of the fresh test with many hybrids, a fifth of 2WikiMultiHopQA. */
export const HYBRIDS_COUNTS = counts(15, 15, 15, 40, 320, 40, 20, 56);
/** Half as many for the fresh test of passages: each run answers it four times. */
export const PASSAGES_COUNTS = counts(10, 10, 10, 25, 70, 25, 15, 56);

/** Splits `total` into consecutive integers, as close to the shares as possible. */
function splitTotal(total: number, shares: readonly number[]): number[] {
  let [share, before] = [0, 0];
  return shares.map((own) => {
    const until = Math.round((share += own) * total);
    const part = until - before;
    before = until;
    return part;
  });
}

/**
 * Draws distinct questions about the things of a split. Questions that are not for
 * training alternate between wordings of training and their own (`metadata.wording` is
 * `seen` or `unseen`).
 * @param options.except texts of questions that must not be drawn again
 */
export function drawQuestions(
  things: readonly Thing[],
  options: { split: Split; name: string; counts: Counts; except?: readonly string[] },
  random: Random,
): Question[] {
  const { split, name, counts, except = [] } = options;
  const make = createQuestionMaker(things.filter((thing) => thing.split === split));
  const isTraining = split === 'train';
  const asked = new Set(except);
  return Object.entries(counts).flatMap(([benchmark, total]) => {
    const types =
      BENCHMARKS[benchmark] ?? many(isTraining ? MOST_COMPARED.train : MOST_COMPARED.heldOut);
    const own = random.fork(`${name} ${benchmark}`);
    const shares = types.map(({ share }) => share);
    const parts = splitTotal(total, shares);
    const drafts = types.flatMap(({ type, draw }, t) =>
      range(parts[t]).map((i): Draft => {
        const isSeen = isTraining || i % 2 === 0;
        const wording = isSeen ? 'train' : split === 'dev' ? 'dev' : 'test';
        const about = { benchmark, type, wording: isSeen ? 'seen' : 'unseen' } as const;
        for (;;) {
          const { metadata, ...draft } = draw(make, wording, own);
          if (asked.has(draft.question)) continue;
          asked.add(draft.question);
          return { ...draft, metadata: { ...about, ...metadata } };
        }
      }),
    );
    const id = `${benchmark}-${name}`;
    return own.shuffle(drafts).map((draft, i) => ({ id: `${id}-${i + 1}`, ...draft, split: name }));
  });
}
