/** Files of one JSON value a line, read as a stream: bad lines are named and the others go on. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';

/** What reading one line gave: a value, or a complaint that names file and line. */
export type LineOutcome<T> = { value: T } | { complaint: string };

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The lines of a stream, cut at line feeds only: JSON text may hold U+2028. */
async function* readLines(stream: Readable): AsyncGenerator<string> {
  stream.setEncoding('utf8');
  let rest = '';
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
  yield rest;
}

/**
 * Parses every line of a file (`-` is standard input) that is not blank. A line that `parse` refuses and a file that
 * can't be read become complaints.
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
      const text = line.trim();
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
