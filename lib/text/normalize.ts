/**
 * Answer normalisation and answer metrics as SQuAD's evaluation script defines them;
 * Eq. 3 and every reported EM and F1 rest on this file.
 */

/**
 * Python's `string.punctuation`: ASCII only, so that a dash such as U+2013 stays, as in
 * SQuAD's script.
 */
const PUNCTUATION = /[!-/:-@[-`{-~]/g;
/** Word boundaries as Python sees them: letters of every alphabet belong to words. */
const ARTICLES = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;

/**
 * Lower case, punctuation dropped, articles dropped, white space collapsed, in this
 * order.
 */
export function normalizeAnswer(text: string): string {
  return text
    .toLowerCase()
    .replace(PUNCTUATION, '')
    .replace(ARTICLES, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

/**
 * 1 if the normalised answer equals a normalised gold answer; no answer (`null`) gives 0.
 */
export function exactMatch(answer: string | null, goldenAnswers: readonly string[]): 0 | 1 {
  if (answer === null) return 0;
  const normalized = normalizeAnswer(answer);
  return goldenAnswers.some((golden) => normalizeAnswer(golden) === normalized) ? 1 : 0;
}

/** Words that have no partial credit. */
const CLOSED_ANSWERS = new Set(['yes', 'no', 'noanswer']);

function pairF1(answer: string, golden: string): number {
  if (answer !== golden && (CLOSED_ANSWERS.has(answer) || CLOSED_ANSWERS.has(golden))) return 0;
  const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');
  const [answerWords, goldenWords] = [words(answer), words(golden)];
  const left = new Map<string, number>();
  for (const word of goldenWords) left.set(word, (left.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of answerWords) {
    const count = left.get(word) ?? 0;
    if (count > 0) common++;
    left.set(word, count - 1);
  }
  if (common === 0) return 0;
  const [precision, recall] = [common / answerWords.length, common / goldenWords.length];
  return (2 * precision * recall) / (precision + recall);
}

/**
 * The best F1 of word overlap between the answer and a gold answer, in [0, 1]. As in
 * HotpotQA's script, `yes`, `no` and `noanswer` get no partial credit.
 */
export function tokenF1(answer: string | null, goldenAnswers: readonly string[]): number {
  if (answer === null) return 0;
  const normalized = normalizeAnswer(answer);
  return Math.max(0, ...goldenAnswers.map((golden) => pairF1(normalized, normalizeAnswer(golden))));
}
