/**
 * Chat messages in OpenAI's form, the tool `search`, and how a model's message reads in
 * the tags of a transcript. One search turn is all tool calls of one message.
 */
import { z } from 'zod';
import { tryParseJson } from '../io/json.js';
import { nextAction, oneLine, formatBlock, formatSearch } from './tags.js';

export interface ToolCall {
  id: string;
  type: 'function';
  /** `arguments` is JSON that the model wrote, valid or not. */
  function: { name: string; arguments: string };
}

export interface AssistantMessage {
  role: 'assistant';
  content: string | null;
  /** The reasoning that some servers return apart from the content. */
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

/** A function that a model may call; `parameters` is a JSON schema. */
export interface Tool {
  type: 'function';
  function: { name: string; description: string; parameters: Record<string, unknown> };
}

/** The search engine as a tool: several queries per call, or one as in Search-R1. */
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

/** Some models write the list as JSON in a string. */
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

/** A query as a transcript can hold it: one line, without tags and separators. */
const cleanQuery = (query: string): string => oneLine(query.replace(/#{2,}/g, ' '));

/** The queries of a call of `search`; null if the call or its arguments are invalid. */
export function readToolCall({ function: { name, arguments: json } }: ToolCall): string[] | null {
  if (name !== 'search') return null;
  return argumentsSchema.safeParse(tryParseJson(json)).data ?? null;
}

/** Reasoning as a block; tags inside are escaped. */
const formatThought = (thought: string): string =>
  formatBlock('think', thought.replace(/<\/?think>/g, '').replace(/<(\/?[a-z]+)>/g, '($1)'));

/**
 * A message of a model that calls tools, in the tags of a transcript: reasoning, then the
 * distinct queries of all its calls (only the first without `splitQueries`), or the
 * answer. A message without calls is the answer. Invalid calls are printed as they are,
 * which is no action.
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
    const [, thought = '', answer] = /^\s*(?:<think>(.*?)<\/think>)?(.*)$/s.exec(content)!;
    const text = answer.replace(/<(\/?[a-z]+)>/g, '($1)').trim();
    if (text === '') return formatThought(reasoning + thought);
    return `${formatThought(reasoning + thought)}\n${formatBlock('answer', text)}`;
  }
  const start = content.lastIndexOf(`<${action.kind}>`, action.end);
  const thought = `${reasoning}\n${content.slice(0, start)}`;
  return `${formatThought(thought)}\n${content.slice(start, action.end)}`;
}

/**
 * A message of a model that writes the paper's tags, up to the end of its action. The
 * caller restores a stop text that the server cut off.
 */
export function formatTagMessage({
  content,
  reasoning_content: reasoning,
}: AssistantMessage): string {
  const text = content ?? '';
  const action = text.slice(0, nextAction(text).end);
  return reasoning ? `${formatThought(reasoning)}\n${action.trimStart()}` : action;
}
