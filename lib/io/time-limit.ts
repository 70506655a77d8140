/**
 * A time limit for work that third-party files determine, such as their regular
 * expressions.
 */
import { createContext, Script } from 'node:vm';

/** How long it may take, and how much more for each character of a text. */
const LIMIT_MS = { base: 10_000, perCharacter: 0.1 };
const work = { run: (): void => undefined };
const context = createContext(work);
const script = new Script('run()');

/**
 * The result of synchronous work on a text of `length` characters. Costs 0.1 ms a call.
 * @param what the file that decides how long it takes
 * @throws Error naming the file when the work takes too long
 */
export function withTimeLimit<T>(what: string, length: number, compute: () => T): T {
  let result: T;
  work.run = () => void (result = compute());
  const timeout = Math.ceil(LIMIT_MS.base + LIMIT_MS.perCharacter * length);
  try {
    script.runInContext(context, { timeout });
    return result!;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw cause;
    throw new Error(
      `Expected ${what} to read a text within ${timeout / 1000} s, but it did not end. Use another tokenizer or chat template.`,
      { cause },
    );
  }
}
