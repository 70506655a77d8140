/** Fuzz tests for readers of external files. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases, isFull } from '../full.js';

export interface Reader {
  inputs: fc.Arbitrary<Buffer>;
  /** @throws Error that explains what was expected */
  read: (bytes: Buffer) => unknown;
}

/** Inputs per test file, shared by its readers. */
const NUM_INPUTS = cases(500, 50_000);
/**
 * A reader that takes longer hangs. CPU time is measured, so that other processes do not
 * slow a reader down.
 */
const LONGEST_WORK_MS = 5_000;
const LONGEST_WAIT_MS = 60_000;

export const parsed = (bytes: Buffer): unknown => JSON.parse(bytes.toString());

/** Node's errors for overlong texts or arrays, which look like a reader's own. */
const TOO_LARGE =
  /^Invalid (typed )?array|^Array buffer|^Invalid string|Cannot create a string longer/;

/** Whether a reader threw the error deliberately. */
function isMeant(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof ReferenceError)
    return false;
  return /expected|could not|invalid|JSON/i.test(error.message) && !TOO_LARGE.test(error.message);
}

async function acceptsOrExplains(read: Reader['read'], bytes: Buffer): Promise<void> {
  const start = process.cpuUsage();
  try {
    await read(bytes);
  } catch (error) {
    if (!isMeant(error)) throw error;
  }
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1000).toBeLessThan(LONGEST_WORK_MS);
}

/**
 * One test per reader: it accepts an input or explains what it expected, and never hangs.
 */
export function tryReaders(readers: Readonly<Record<string, Reader>>): void {
  const numRuns = Math.ceil(NUM_INPUTS / Object.keys(readers).length);
  describe.each(Object.entries(readers))('the reader of %s', (name, { inputs, read }) => {
    const file = fileURLToPath(new URL(`../fixtures/fuzz/${name}.json`, import.meta.url));
    const earlier = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as string[]) : [];

    it(
      'accepts an input or explains what it expected',
      async () => {
        const examples = earlier.map((base64): [Buffer] => [Buffer.from(base64, 'base64')]);
        const options = { numRuns, examples, ...(isFull ? {} : { seed: 1 }) };
        const property = fc.asyncProperty(inputs, (bytes) => acceptsOrExplains(read, bytes));
        const result = await fc.check(property, { ...options, timeout: LONGEST_WAIT_MS });
        if (result.failed && isFull) {
          const worst = result.counterexample![0].toString('base64');
          writeFileSync(file, `${JSON.stringify([...new Set([...earlier, worst])], null, 2)}\n`);
        }
        if (result.failed)
          throw new Error(
            `seed ${result.seed}: ${result.counterexample![0].toString().slice(0, 2000)}`,
            { cause: result.errorInstance },
          );
      },
      isFull ? 3_600_000 : 120_000,
    );
  });
}
