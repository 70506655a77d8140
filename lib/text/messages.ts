/**
 * Chat messages in OpenAI's format, the `search` tool, and the conversion of a model's
 * messages to a tagged transcript. All tool calls of one message are one search turn.
 */
import { z } from 'zod';
import { tryParseJson } from '../io/json.js';
import { anyOf } from './regex.js';
import { nextAction, oneLine, openTag, formatBlock, formatSearch } from './tags.js';
import { withoutEndTokens } from './template-marks.js';

export interface ToolCall {
  id: string;
  type: 'function';
  /** `arguments` is JSON written by the model, and may be invalid. */
  function: { name: string; arguments: string };
}

export interface AssistantMessage {
  role: 'assistant';
  content: string | null;
  /** Reasoning, which some servers return separately from the content. */
  reasoning_content?: string;
  tool_calls?: ToolCall[];
}

export type Message =
  | { role: 'system' | 'user'; content: string }
  | AssistantMessage
  | { role: 'tool'; tool_call_id: string; content: string };

export interface TextMessage {
  role: 'user' | 'assistant';
  content: string;
}

/** A function the model may call; `parameters` is a JSON schema. */
export interface Tool {
  type: 'function';
  function: { name: string; description: string; parameters: Record<string, unknown> };
}

/** The search engine as a tool. Takes a list of queries, or one query as in Search-R1. */
export function searchTool({ splitQueries }: { splitQueries: boolean }): Tool {
  const query = { type: 'string', description: 'a search query' };
  const [name, schema] = splitQueries
    ? ['queries', { type: 'array', items: query, minItems: 1 }]
    : ['query', query];
  return {
    type: 'function',
    function: {
      name: 'search',
      description: splitQueries
        ? 'Searches for several independent queries at once and returns the best passages for each.'
        : 'Searches for a query and returns the best passages.',
      parameters: {
        type: 'object',
        properties: { [name]: schema },
        required: [name],
        additionalProperties: false,
      },
    },
  };
}

/** Some models write the list as a string of JSON. */
const readList = (text: string): string[] =>
  z.array(z.string()).safeParse(tryParseJson(text)).data ?? [text];

const oneOrMore = z
  .union([z.string().transform(readList), z.array(z.string())])
  .transform((queries) => queries.map(cleanQuery).filter((query) => query !== ''))
  .refine((queries) => queries.length > 0, 'Expected at least one query.');
const argumentsSchema = z.union([
  z.object({ queries: oneOrMore }).transform(({ queries }) => queries),
  z.object({ query: oneOrMore }).transform(({ query }) => query),
]);

/** Makes a query safe for a transcript: one line, no tags, no separators. */
const cleanQuery = (query: string): string => oneLine(query.replace(/#{2,}/g, ' '));

/** The arguments of a call, which some servers encode twice; undefined if invalid. */
export function parseArguments(json: string): unknown {
  const value = tryParseJson(json);
  return typeof value === 'string' ? tryParseJson(value) : value;
}

/** The queries of a `search` call; null if the call or its arguments are invalid. */
export function readToolCall({ function: { name, arguments: json } }: ToolCall): string[] | null {
  if (name !== 'search') return null;
  return argumentsSchema.safeParse(parseArguments(json)).data ?? null;
}

const CALL_STARTS = [
  /<\|channel\|>/,
  /<(?:minimax:)?tool_call/,
  /<\|tool_call/,
  /<\|python_tag\|>/,
  /<function[=_]/,
  /<invoke /,
  /\[TOOL_CALLS\]/,
  /<｜tool▁call/,
  /<｜DSML｜/,
  /\[?search\(quer/,
  /\[?\s*\{[^{}]*"name"\s*:\s*"search"/,
];
/**
 * A tool call that the server left in the text, as without a parser for it; models may
 * announce it in an earlier line.
 */
const TEXT_CALL = new RegExp(`^[ \\t]*${anyOf(CALL_STARTS)}`, 'm');

/** Tags around thoughts of Magistral, Seed-OSS, EXAONE Deep and others. */
const OTHER_THINK_TAGS = /\[(\/?)THINK\]|<(\/?)(?:seed:think|thinking|thought)>/g;

/**
 * Writes thoughts in the paper's tags, and opens one that a chat template has opened in
 * the prompt, as DeepSeek-R1's does.
 */
export function openThought(written: string): string {
  const text = written.replace(OTHER_THINK_TAGS, (_, a = '', b = '') => `<${a}${b}think>`);
  return /^(?:(?!<think>)[^])*?<\/think>/.test(text) ? `<think>${text.trimStart()}` : text;
}

/**
 * Ends a finished text: cuts end tokens that the server left, and restores the stop
 * string of an open block, if the API or end token removed it.
 */
export function closeTag(written: string, stop: readonly string[]): string {
  const text = withoutEndTokens(written);
  const cut = `</${openTag(text)}>`;
  return stop.includes(cut) ? text + cut : text;
}

/** A thought, which may lack its end, and the text after it. */
const THOUGHT = /^\s*(?:<think>(.*?)(?:<\/think>|$))?(.*)$/s;

/** Splits an answer without the paper's tags. */
function splitThought(content: string): { thought: string; text: string } {
  const [, thought = '', text] = THOUGHT.exec(openThought(content))!;
  return { thought, text };
}

/** Whether a text is a tool call that the server did not parse. */
export const isTextCall = (content: string): boolean => TEXT_CALL.test(splitThought(content).text);

/** Formats reasoning as a block, with the tags inside escaped. */
const formatThought = (thought: string): string =>
  formatBlock('think', thought.replace(/<\/?think>/g, '').replace(/<(\/?[a-z]+)>/g, '($1)'));

/**
 * Converts a tool-calling model's message to tags: its reasoning, then either the
 * distinct queries of all its calls (only the first without `splitQueries`) or, without
 * calls, the answer. Invalid calls, and calls that the server left in the text, are kept
 * as text, which makes the action invalid.
 */
export function formatToolMessage(
  message: AssistantMessage,
  { splitQueries }: { splitQueries: boolean },
): string {
  const content = message.content ?? '';
  const reasoning = message.reasoning_content ?? '';
  const calls = message.tool_calls ?? [];
  if (calls.length > 0) {
    const all = new Set(calls.flatMap((call) => readToolCall(call) ?? []));
    const queries = [...all].slice(0, splitQueries ? Infinity : 1);
    const action = queries.length > 0 ? formatSearch(queries) : JSON.stringify(calls);
    return `${formatThought(`${reasoning}\n${content}`)}\n${action}`;
  }
  const action = nextAction(content);
  if (action.kind === 'invalid') {
    const { thought, text: answer } = splitThought(content);
    const text = answer.replace(/<(\/?[a-z]+)>/g, '($1)').trim();
    const block = formatThought(reasoning + thought);
    if (text === '') return block;
    return `${block}\n${isTextCall(content) ? text : formatBlock('answer', text)}`;
  }
  const start = content.lastIndexOf(`<${action.kind}>`, action.end);
  const thought = `${reasoning}\n${content.slice(0, start)}`;
  return `${formatThought(thought)}\n${content.slice(start, action.end)}`;
}

/**
 * Returns the text of a model that writes the paper's tags, up to the end of its action.
 * The caller restores a stop string that the server removed.
 */
export function formatTagMessage({
  content,
  reasoning_content: reasoning,
}: AssistantMessage): string {
  const text = openThought(content ?? '');
  const action = text.slice(0, nextAction(text).end);
  return reasoning ? `${formatThought(reasoning)}\n${action.trimStart()}` : action;
}
