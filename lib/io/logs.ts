/** Logs: files with a line of JSON per step, which can be read while being written. */
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { parsePlainJson, tryParseJson } from './json.js';
import { naming } from './system-errors.js';

export const fileSize = async (file: string): Promise<number> =>
  existsSync(file) ? (await stat(file)).size : 0;

/** Whether the last line of a log is complete, with or without a line feed. */
export const isComplete = (line: string): boolean => (tryParseJson(line) ?? null) !== null;

/** @throws Error naming the line, and why it is not an object */
export function parseLogLine(file: string, line: string): unknown {
  let cause: unknown;
  try {
    const value = parsePlainJson(line);
    if (typeof value === 'object' && value !== null) return value;
  } catch (error) {
    cause = error;
  }
  const reason = cause instanceof Error ? `: ${cause.message}` : '. Remove that line.';
  throw new Error(
    `Expected the lines of ${file} to be JSON objects, but got ${line.slice(0, 60)}${reason}`,
    { cause },
  );
}

/** The complete lines in the last `maxBytes` of a log; empty if it does not exist. */
export async function readLog<Line>(file: string, maxBytes = Infinity): Promise<Line[]> {
  if (!existsSync(file)) return [];
  const start = Math.max(0, (await fileSize(file)) - maxBytes);
  const lines = (await text(createReadStream(file, { start })).catch(naming(file))).split('\n');
  if (!isComplete(lines.at(-1)!)) lines.pop();
  const complete = lines.slice(start === 0 ? 0 : 1).filter((line) => line.trim() !== '');
  return complete.map((line) => parseLogLine(file, line) as Line);
}
