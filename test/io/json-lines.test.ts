import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { MAX_LINE_LENGTH, streamJsonLines, type LineOutcome } from '../../lib/io/json-lines.js';

async function outcomesOf(chunks: Iterable<string | Buffer>): Promise<LineOutcome<unknown>[]> {
  const outcomes: LineOutcome<unknown>[] = [];
  const stdin = Readable.from(chunks, { objectMode: false });
  for await (const outcome of streamJsonLines('-', (value) => value, stdin)) outcomes.push(outcome);
  return outcomes;
}

describe('streamJsonLines', () => {
  it('joins lines that come in pieces, characters cut in two among them', async () => {
    const bytes = Buffer.from('{"a": "é"}\n\n[1]\r\n"\u2028"');
    const pieces = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
    expect(await outcomesOf(pieces)).toEqual([
      { value: { a: 'é' } },
      { value: [1] },
      { value: '\u2028' },
    ]);
  });

  it('refuses a line that is too long by its number, and goes on after it', async () => {
    function* chunks(): Generator<string> {
      yield '1\n';
      for (let length = 0; length <= MAX_LINE_LENGTH; length += 10_000) yield ' '.repeat(10_000);
      yield '\n2\n';
    }
    expect(await outcomesOf(chunks())).toEqual([
      { value: 1 },
      {
        complaint: `<stdin>:2: Expected a line of at most ${MAX_LINE_LENGTH} characters, but got one of ${MAX_LINE_LENGTH + 10_000}. Write one JSON object a line.`,
      },
      { value: 2 },
    ]);
  });

  it('names the line that is no JSON, and reads the others', async () => {
    expect(await outcomesOf(['1\n{\n2'])).toEqual([
      { value: 1 },
      { complaint: expect.stringMatching(/^<stdin>:2: /) as string },
      { value: 2 },
    ]);
  });
});
