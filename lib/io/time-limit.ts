/** A time limit for work that depends on foreign files, such as their expressions. */
import { createContext, Script } from 'node:vm';

/** The limit, and an allowance for each character of a text. */
const LIMIT_MS = { base: 10_000, perCharacter: 0.1 };
const work = { run: (): void => undefined };
const context = createContext(work);
const script = new Script('run()');

/**
 * Runs synchronous work with a time limit, which costs 0.1 ms per call.
 * @param fail makes the error for work that takes too long
 */
export function limitTime<T>(timeoutMs: number, fail: () => Error, compute: () => T): T {
  let result: T;
  work.run = () => void (result = compute());
  try {
    script.runInContext(context, { timeout: timeoutMs });
    return result!;
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? fail() : error;
  }
}

/** Limits work on `length` characters. @throws Error naming the file, `what` */
export function withTimeLimit<T>(what: string, length: number, compute: () => T): T {
  const timeout = Math.ceil(LIMIT_MS.base + LIMIT_MS.perCharacter * length);
  const fail = (): Error =>
    new Error(
      `Expected ${what} to read a text within ${timeout / 1000} s, but it did not end. Use another tokenizer or chat template.`,
    );
  return limitTime(timeout, fail, compute);
}
