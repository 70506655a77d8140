/** JSON with integers of any size, and descriptions of invalid values. */
import { z } from 'zod';

const STRINGS = /"(?:[^"\\]|\\.)*"/g;

/** Code that walks deeper values would overflow the stack. */
const MAX_DEPTH = 1000;

/** Returns a JSON value. @throws Error if it is nested too deeply */
export function requireShallow<T>(value: T): T {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} levels deep.`);
    level = level.flatMap((inner) =>
      typeof inner === 'object' && inner !== null ? (Object.values(inner) as unknown[]) : [],
    );
  }
  return value;
}

/** `JSON.parse` for {@link requireShallow} values; names what only Python writes. */
export function parsePlainJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const [number] = /-?\b(?:NaN|Infinity)\b/.exec(text.replace(STRINGS, '""')) ?? [];
    if (number === undefined) throw error;
    throw new Error(`it has ${number}, which only Python's JSON has. Write null instead.`, {
      cause: error,
    });
  }
  return text.length > MAX_DEPTH ? requireShallow(value) : value;
}

const KEYS = /("(?:[^"\\]|\\.)*")(?:\s*(:))?|[{}]/g;

/** {@link parsePlainJson} that rejects a key an object has twice: one would be lost. */
export function parseUniqueJson(text: string): unknown {
  const value = parsePlainJson(text);
  const objects: Set<string>[] = [];
  for (const [token, name, colon] of text.matchAll(KEYS)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    else if (colon) {
      const keys = objects.at(-1)!;
      if (keys.has(name)) throw new Error(`it has ${name} twice. Keep one.`);
      keys.add(name);
    }
  }
  return value;
}

/** `JSON.parse`; undefined for a text that is not JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const HAS_LONG_NUMBER = /\d{16}/;

/** {@link parsePlainJson}; integers beyond 2^53 become strings that begin with `mark`. */
export function parseJson(text: string, mark = ''): unknown {
  if (!HAS_LONG_NUMBER.test(text)) return parsePlainJson(text);
  const exact = text.replace(TOKENS, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${mark}${token}"` : token,
  );
  return parsePlainJson(exact);
}

const MARK = '\uE000integer:';
const MARKED = /"\uE000integer:(-?\d+)"/g;

/** `JSON.parse` with integers of any size, for {@link printExactJson}. */
export const parseExactJson = (text: string): unknown => parseJson(text, MARK);

export const printExactJson = (value: unknown, indent: number): string =>
  JSON.stringify(value, null, indent).replace(MARKED, '$1');

/** Maximum number of faults in a message: third-party JSON may have a million. */
const MAX_FAULTS = 3;

export function describeFaults({ issues }: Pick<z.ZodError, 'issues'>): string {
  const text = z.prettifyError({ issues: issues.slice(0, MAX_FAULTS) });
  const numMore = issues.length - MAX_FAULTS;
  return numMore > 0 ? `${text}\n✖ and ${numMore} more` : text;
}

/** Validates a value. @throws Error with what was expected and the first faults */
export function parseAs<S extends z.ZodType>(
  schema: S,
  value: unknown,
  expected: string,
): z.output<S> {
  const { data, error, success } = schema.safeParse(value);
  if (success) return data;
  throw new Error(`Expected ${expected}, but ${describeFaults(error)}`);
}

/** A schema for a text that is JSON; gives its value. */
export const jsonText = (parse: (text: string) => unknown) =>
  z.string().transform((text, context): unknown => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue(`Expected JSON, but ${(error as Error).message}`);
      return z.NEVER;
    }
  });

/** What an error says, in words if it is of a schema. */
export const describeError = (error: unknown): string =>
  error instanceof z.ZodError ? describeFaults(error) : (error as Error).message;

/** Like `z.array`, but stops at the first invalid item: a million take seconds. */
export const boundedArray = <T extends z.ZodType>(item: T) =>
  z.array(z.unknown()).transform((values, context): z.output<T>[] => {
    const items: z.output<T>[] = [];
    for (const [i, value] of values.entries()) {
      const { data, error, success } = item.safeParse(value);
      if (!success) {
        const [{ message, path }] = error.issues;
        context.addIssue({ code: 'custom', message, path: [i, ...path] });
        return z.NEVER;
      }
      items.push(data);
    }
    return items;
  });
