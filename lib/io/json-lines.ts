/**
 * Files of one JSON value a line, read as a stream: bad lines are named and the others go
 * on.
 */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';

/** What reading one line gave: a value, or a complaint that names file and line. */
export type LineOutcome<T> = { value: T } | { complaint: string };

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** The longest line that is read, in characters: a longer one is no JSON lines. */
export const MAX_LINE_LENGTH = 50_000_000;

/**
 * The lines of a stream, cut at line feeds only: JSON text may hold U+2028. A line that
 * is too long has no text.
 */
export async function* readLines(
  stream: Readable,
): AsyncGenerator<{ text: string; length: number }> {
  stream.setEncoding('utf8');
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<string>) {
    for (const [i, part] of chunk.split('\n').entries()) {
      if (i > 0) {
        yield { text: parts.join(''), length };
        [parts, length] = [[], 0];
      }
      length += part.length;
      if (length > MAX_LINE_LENGTH) parts = [];
      else parts.push(part);
    }
  }
  yield { text: parts.join(''), length };
}

/**
 * Parses every line of a file (`-` is standard input) that is not blank. A line that
 * `parse` refuses and a file that can't be read become complaints, and so does a line of
 * more than {@link MAX_LINE_LENGTH} characters.
 */
export async function* streamJsonLines<T>(
  file: string,
  parse: (value: unknown) => T,
  stdin: Readable = process.stdin,
): AsyncGenerator<LineOutcome<T>> {
  const name = file === '-' ? '<stdin>' : file;
  let number = 0;
  try {
    for await (const line of readLines(file === '-' ? stdin : createReadStream(file))) {
      number++;
      // This drops a byte order mark, too.
      const text = line.text.trim();
      if (line.length > MAX_LINE_LENGTH)
        yield {
          complaint: `${name}:${number}: Expected a line of at most ${MAX_LINE_LENGTH} characters, but got one of ${line.length}. Write one JSON object a line.`,
        };
      if (text === '') continue;
      try {
        yield { value: parse(JSON.parse(text)) };
      } catch (error) {
        yield { complaint: `${name}:${number}: ${messageOf(error)}` };
      }
    }
  } catch (error) {
    yield { complaint: `${name}: ${messageOf(error)}` };
  }
}
