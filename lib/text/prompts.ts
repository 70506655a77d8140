/**
 * The prompts (Table 1): full forms for real language models, and short forms for the
 * small policy, which learns their meaning in supervised training.
 */
import { createRegistry } from '../registry.js';

export interface Prompt {
  readonly name: string;
  /** Text before the question. */
  readonly full: string;
  readonly short: string;
}

/** `chat` is the full form as a user message in the model's chat template. */
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
/** What ParallelSearch adds to Search-R1's prompt. */
const DECOMPOSE =
  'If the original query is complex or involves multiple parts, you are encouraged to decompose it into smaller ' +
  'sub-questions, separated by ##. For example: <search> sub-question 1 ## sub-question 2 </search>. ';
const AS_OFTEN = 'You can search as many times as you want. ';
const FINISH =
  'If you find no further external knowledge needed, you can directly provide the answer inside <answer> and </answer>, ' +
  'without detailed illustrations. For example, <answer> Beijing </answer>. ';

/** By name; methods may add their own. */
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
  // For practice in supervised training.
  { name: 'drill', full: 'Practice. ', short: 'Practice. ' },
]);

/**
 * The prompt of a question, with a question mark at the end as in the authors' data
 * script.
 * @throws RangeError for an unknown name
 */
export const buildPrompt = (name: string, question: string, { form }: PromptOptions): string =>
  `${PROMPTS.get(name)[form === 'short' ? 'short' : 'full']}Question: ${question.trim().replace(/\??$/, '?')}\n`;
