/**
 * Keeps long work interruptible. In a notebook, Interrupt sends SIGINT: tslab ends the
 * cell but leaves its work running, so the library listens for the signal itself.
 */

const isNotebook = '__tslab__' in globalThis;
let interrupt = new AbortController();

if (isNotebook)
  process.on('SIGINT', () => {
    interrupt.abort(new DOMException('Interrupted.', 'AbortError'));
    interrupt = new AbortController();
  });

/** The caller's signal; in a notebook, one that Interrupt aborts, too. */
export function interruptSignal(signal?: AbortSignal): AbortSignal | undefined {
  if (!isNotebook) return signal;
  return signal ? AbortSignal.any([signal, interrupt.signal]) : interrupt.signal;
}

export type Breather = () => Promise<void> | void;

/** Shared by all breathers; otherwise a sequence of short tasks would never yield. */
let last = performance.now();

/**
 * For long synchronous work: yields to timers, Ctrl-C and Interrupt every `everyMs`.
 * @param signal whose reason it throws once aborted
 */
export function createBreather(signal?: AbortSignal, everyMs = 250): Breather {
  return () => {
    signal?.throwIfAborted();
    if (performance.now() - last < everyMs) return;
    return new Promise<void>((resume) => void setTimeout(resume)).then(() => {
      last = performance.now();
      signal?.throwIfAborted();
    });
  };
}
