/** Marks that chat templates write around messages, in prompts and in recorded texts. */
import { anyOf } from './regex.js';

/** End tokens and padding. */
const END_TOKENS = [
  /<\|\w+\|>/,
  /<｜[^<>｜]+｜>/,
  /\[\|endofturn\|\]/,
  /<\/s>/,
  /<eos>/,
  /<end_of_turn>/,
  /<turn\|>/,
  /<unk>/,
  /<pad>/,
  /\[PAD\]/,
];

/** Tokens before the first turn, including left padding. */
const BEGIN_TOKENS = [...END_TOKENS, /<s>/, /<bos>/, /\[gMASK\]<sop>/];

/** The start of a prompt; with skip_special_tokens, only the roles are left. */
const FIRST_TURN = [
  /<｜begin▁of▁sentence｜>/,
  /<\|im_start\|>/,
  /<\|start_header_id\|>/,
  /\[(?:SYSTEM_PROMPT|INST)\]/,
  /<start_of_turn>/,
  /<\|turn>/,
  /<\|(?:user|system)\|>/,
  /\[\|(?:user|system)\|\]/,
  /<\|start(?:_of_role)?\|>/,
  /<｜User｜>/,
  /(?:user|system)\n/,
];

export const PROMPT_START = new RegExp(`^\\s*(?:${anyOf(BEGIN_TOKENS)}\\s*)*${anyOf(FIRST_TURN)}`);

/** A thought that the template opens and ends at once, if the reply has another. */
const EMPTY_THOUGHT = /(?:<think>\s*)?<\/think>\s*(?=<think>)/;

const REPLY_TURN = [
  /<\|im_start\|>assistant(?:\n|<\|im_sep\|>)/,
  /<\|start_header_id\|>assistant<\|end_header_id\|>\n*/,
  /\[\/INST\]/,
  /(?:<start_of_turn>|<\|turn>)model\n/,
  /<\|assistant\|>\n?/,
  /\[\|assistant\|\]\n?/,
  /<\|start\|>assistant(?:<\|channel\|>\w+<\|message\|>|\n)?/,
  /<\|start_of_role\|>assistant<\|end_of_role\|>/,
  /<｜Assistant｜>/,
  /(?<=\n)(?:assistant|model)\n/,
];

export const REPLY_START = new RegExp(`${anyOf(REPLY_TURN)}(?:${EMPTY_THOUGHT.source})?`, 'g');

/** Any marks between messages, from `lastIndex` on; matches without any, too. */
export const TURN_MARKS = new RegExp(
  `${anyOf([
    /\s/,
    ...BEGIN_TOKENS,
    /<[|｜][^|｜>]*[|｜]>/,
    /\[\|\w+\|\]/,
    /<start_of_turn>/,
    /<\|turn>/,
    /\[\/?INST\]/,
    EMPTY_THOUGHT,
    /\b(?:system|user|assistant|model|tool|ipython)\b:?/,
  ])}*`,
  'y',
);

const LAST_END_TOKEN = new RegExp(`\\s*${anyOf(END_TOKENS)}\\s*$`);
/** Longer than any end token; scanning the whole text would take quadratic time. */
const END_TOKEN_WINDOW = 64;

/** Cuts the end tokens that some servers, and decoders of logs, leave after a text. */
export function withoutEndTokens(text: string): string {
  let end = text.length;
  const find = (): RegExpExecArray | null =>
    LAST_END_TOKEN.exec(text.slice(Math.max(0, end - END_TOKEN_WINDOW), end));
  for (let match; (match = find()); ) end -= match[0].length;
  return text.slice(0, end);
}
