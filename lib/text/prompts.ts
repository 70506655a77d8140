/**
 * The prompts (Table 1). The full forms say what the paper's prompts say, for real language models; the
 * short forms say it in a few tokens, for the small policy, which learns their meaning in the supervised
 * warm-up.
 */
export const PROMPT_NAMES = ['r1', 'search-r1', 'parallel', 'drill'] as const;

/**
 * `r1` answers without search, `search-r1` searches, `parallel` may decompose a search, `drill` is practice
 * in the warm-up.
 */
export type PromptName = (typeof PROMPT_NAMES)[number];

export interface PromptOptions {
  /** `full` is the content of one user message; `short` is the whole prompt. */
  form: 'short' | 'full';
}

const THINK =
  'You must conduct reasoning inside <think> and </think> first every time you get new information. ';
const SEARCH =
  'After reasoning, if you find you lack some knowledge, you can call a search engine by <search> query </search> and it ' +
  'will return the top searched results between <information> and </information>. ';
/** The sentence that ParallelSearch adds to Search-R1's prompt. */
const DECOMPOSE =
  'If the original query is complex or involves multiple parts, you are encouraged to decompose it into smaller ' +
  'sub-questions, separated by ##. For example: <search> sub-question 1 ## sub-question 2 </search>. ';
const AS_OFTEN = 'You can search as many times as you want. ';
const FINISH =
  'If you find no further external knowledge needed, you can directly provide the answer inside <answer> and </answer>, ' +
  'without detailed illustrations. For example, <answer> Beijing </answer>. ';

const FULL: Record<PromptName, string> = {
  r1:
    'Answer the given question. You must first conduct reasoning inside <think> and </think>, and then provide the answer ' +
    'inside <answer> and </answer>, without detailed illustrations. For example, <answer> Beijing </answer>. ',
  'search-r1': `Answer the given question. ${THINK}${SEARCH}${AS_OFTEN}${FINISH}`,
  parallel: `Answer the given question. ${THINK}${SEARCH}${DECOMPOSE}${AS_OFTEN}${FINISH}`,
  drill: 'Practice. ',
};

const SHORT: Record<PromptName, string> = {
  r1: 'Answer directly. ',
  'search-r1': 'Answer with search. ',
  parallel: 'Answer with search, split parts with ##. ',
  drill: 'Practice. ',
};

/** The question with a question mark at its end, as the authors' data script writes it. */
export function askedQuestion(question: string): string {
  const trimmed = question.trim();
  return trimmed.endsWith('?') ? trimmed : `${trimmed}?`;
}

/** The prompt for a question; ends with a line break. */
export function buildPrompt(name: PromptName, question: string, options: PromptOptions): string {
  const instruction = (options.form === 'full' ? FULL : SHORT)[name];
  if (instruction === undefined) {
    throw new RangeError(`Expected a prompt name of ${PROMPT_NAMES.join(', ')}, but got ${String(name)}.`);
  }
  return `${instruction}Question: ${askedQuestion(question)}\n`;
}
