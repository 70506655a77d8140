import fc from 'fast-check';
import { afterEach, vi } from 'vitest';
import { cases } from './full.js';

fc.configureGlobal({ numRuns: cases(25, 200) });

/** Mocks and settings of a test end with it. */
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  process.exitCode = undefined;
});

/**
 * Output of tested code goes to vitest's console, which knows the test: the reporter only
 * shows it if that test fails.
 */
const consoles = { stdout: console.log, stderr: console.error };

for (const name of ['stdout', 'stderr'] as const) {
  const print = consoles[name].bind(console);
  process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    print(text.replace(/\n$/, ''));
    const done = rest.at(-1);
    if (typeof done === 'function') (done as () => void)();
    return true;
  };
}
