/** The prompts of Table 1, and the short forms that the small policy is trained on. */
import { createRegistry } from '../registry.js';
import { joinQueries, QUERY_SEPARATOR } from './tags.js';
import type { Tokenizer } from './tokenizer/tokenizer.js';

export interface Prompt {
  readonly name: string;
  readonly full: string;
  readonly short: string;
  /** For models that call the `search` tool. Default: the full form. */
  readonly tools?: string;
}

/**
 * `chat` is the full form as a user message in the model's chat template. `tools` is for
 * models that call a tool instead of writing tags.
 */
export const PROMPT_FORMS = ['short', 'full', 'chat', 'tools'] as const;
export type PromptForm = (typeof PROMPT_FORMS)[number];
/** The forms for models that write tags instead of calling tools. */
export const TAG_FORMS = PROMPT_FORMS.filter((form) => form !== 'tools');

interface PromptOptions {
  form: PromptForm;
  /** Replaces `##` in the prompt. */
  separator?: string;
}

const THINK =
  'You must conduct reasoning inside <think> and </think> first every time you get new information. ';
const SEARCH =
  'After reasoning, if you find you lack some knowledge, you can call a search engine by <search> query </search> and it ' +
  'will return the top searched results between <information> and </information>. ';
/** ParallelSearch's addition to the prompt of Search-R1. */
const DECOMPOSE =
  'If the original query is complex or involves multiple parts, you are encouraged to decompose it into smaller ' +
  'sub-questions, separated by ##. For example: <search> sub-question 1 ## sub-question 2 </search>. ';
/** RAG-R1's version of {@link SEARCH}. */
const SEARCH_EACH =
  'After reasoning, if you find you lack some knowledge, you can call a search engine by <search> query_1 ## query_2 </search> ' +
  'and it will return the top searched results for each query between <information> and </information>. ';
const UP_TO_THREE =
  'You can search as many times as you want, using up to three queries each time. ';
const SPLIT_PARTS = 'Answer with search, split parts with ##. ';
const AS_OFTEN = 'You can search as many times as you want. ';
const FINISH =
  'If you find no further external knowledge needed, you can directly provide the answer inside <answer> and </answer>, ' +
  'without detailed illustrations. For example, <answer> Beijing </answer>. ';

const USE_TOOL =
  'Answer the given question. If you lack some knowledge, call the tool `search`; it returns the best passages. ';
/** {@link DECOMPOSE} for models that call a tool. */
const DECOMPOSE_CALL =
  'If the question is complex or involves multiple parts, decompose it into smaller sub-questions and search for all that do ' +
  'not depend on each other at once, in one call. ';

/** The prompts by name; methods may add their own. */
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
    tools: `${USE_TOOL}${AS_OFTEN}${FINISH}`,
  },
  {
    name: 'parallel', // may decompose a search
    full: `Answer the given question. ${THINK}${SEARCH}${DECOMPOSE}${AS_OFTEN}${FINISH}`,
    short: SPLIT_PARTS,
    tools: `${USE_TOOL}${DECOMPOSE_CALL}${AS_OFTEN}${FINISH}`,
  },
  {
    name: 'rag-r1', // several queries in a search, at most three
    full: `Answer the given question. ${THINK}${SEARCH_EACH}${UP_TO_THREE}${FINISH}`,
    // The same as `parallel`: the small policy has already learned what it means.
    short: SPLIT_PARTS,
    tools: `${USE_TOOL}${UP_TO_THREE}${FINISH}`,
  },
  // For exercises in supervised training.
  { name: 'drill', full: 'Practice. ', short: 'Practice. ' },
]);

/**
 * Builds the prompt of a question, which gets a question mark at the end if it has none,
 * as in the authors' data script.
 * @throws RangeError for an unknown name
 */
export const buildPrompt = (name: string, question: string, options: PromptOptions): string =>
  `${instructions(PROMPTS.get(name), options)}Question: ${question.trim().replace(/\??$/, '?')}\n`;

/**
 * Encodes a prompt; the form `chat` applies the chat template.
 * @throws Error if the tokenizer has none
 */
export function encodePrompt(
  text: string,
  { form, tokenizer }: { form: PromptForm; tokenizer: Tokenizer },
): { text: string; tokenIds: number[] } {
  if (form !== 'chat') return { text, tokenIds: tokenizer.encode(text) };
  if (tokenizer.encodeChat) return tokenizer.encodeChat(text);
  throw new Error(
    'Expected the model to have a chat template, but it has none. Use --prompt-form full.',
  );
}

function instructions(
  { short, full, tools = full }: Prompt,
  { form, separator = QUERY_SEPARATOR }: PromptOptions,
): string {
  const text = { short, full, chat: full, tools }[form];
  const examples = text.split(joinQueries(['', '']));
  return examples
    .map((part) => part.replaceAll(QUERY_SEPARATOR, () => separator))
    .join(joinQueries(['', ''], separator));
}
