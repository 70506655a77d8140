/**
 * The prompts (Table 1). The full forms say what the paper's prompts say, for real
 * language models; the short forms say it in a few tokens, for the small policy, which
 * learns their meaning in the supervised warm-up.
 */
import { createRegistry } from '../registry.js';

export interface Prompt {
  readonly name: string;
  /** What stands before the question. */
  readonly full: string;
  readonly short: string;
}

/**
 * How a prompt is put: `short` for the small policies, `full` in the paper's words,
 * `chat` the same as a user's message in the model's chat template.
 */
export const PROMPT_FORMS = ['short', 'full', 'chat'] as const;
export type PromptForm = (typeof PROMPT_FORMS)[number];

export interface PromptOptions {
  form: PromptForm;
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

/** The prompts by name; a method may bring one of its own. */
export const PROMPTS = createRegistry<Prompt>('prompt', [
  {
    name: 'r1', // answers without search
    full:
      'Answer the given question. You must first conduct reasoning inside <think> and </think>, and then provide the answer ' +
      'inside <answer> and </answer>, without detailed illustrations. For example, <answer> Beijing </answer>. ',
    short: 'Answer directly. ',
  },
  {
    name: 'search-r1',
    full: `Answer the given question. ${THINK}${SEARCH}${AS_OFTEN}${FINISH}`,
    short: 'Answer with search. ',
  },
  {
    name: 'parallel', // may decompose a search
    full: `Answer the given question. ${THINK}${SEARCH}${DECOMPOSE}${AS_OFTEN}${FINISH}`,
    short: 'Answer with search, split parts with ##. ',
  },
  // Practice in the warm-up.
  { name: 'drill', full: 'Practice. ', short: 'Practice. ' },
]);

/**
 * The prompt for a question, which gets a question mark where it has none, as the
 * authors' data script writes it; ends with a line break. @throws RangeError for an
 * unknown name
 */
export const buildPrompt = (name: string, question: string, { form }: PromptOptions): string =>
  `${PROMPTS.get(name)[form === 'short' ? 'short' : 'full']}Question: ${question.trim().replace(/\??$/, '?')}\n`;
