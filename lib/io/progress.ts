import { SingleBar } from 'cli-progress';

/**
 * Progress on stderr: a bar on a terminal, otherwise a line every ten seconds, or every
 * minute while nothing happens.
 */
export interface Progress {
  /** @param note a short text, such as the latest reward */
  update(done: number, note?: string): void;
  stop(): void;
}

const PLAIN_INTERVAL_MS = 10_000;
const UNCHANGED_INTERVAL_MS = 60_000;

function formatSeconds(seconds: number): string {
  if (!Number.isFinite(seconds)) return '?';
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** Window of the estimate; items restored on resuming must leave it soon. */
const ESTIMATE_WINDOW_MS = 120_000;

/** Estimates the time left from the last two minutes, or from a slower last item. */
function startPlain(title: string, total: number, first: number): Progress {
  const seen = [{ time: performance.now(), done: first }];
  let done = first;
  let note = '';
  let printed = { time: performance.now(), line: '' };
  const print = (): void => {
    const now = performance.now();
    if (done !== seen[seen.length - 1].done) seen.push({ time: now, done });
    while (seen.length > 1 && now - seen[1].time >= ESTIMATE_WINDOW_MS && seen[1].done !== done)
      seen.shift();
    // Negative after a rollback to a checkpoint.
    const pace = Math.max(0, done - seen[0].done) / ((now - seen[0].time) / 1000);
    const left = formatSeconds((total - done) / pace);
    const words = note && `, ${note}`;
    const line = `${done}/${total}${words}`;
    if (line === printed.line && now - printed.time < UNCHANGED_INTERVAL_MS) return;
    printed = { time: now, line };
    process.stderr.write(`${title}: ${done}/${total}, ${left} left${words}\n`);
  };
  const timer = setInterval(print, PLAIN_INTERVAL_MS).unref();
  return {
    update: (newest, words = '') => {
      const wasDone = done >= total;
      [done, note] = [newest, words];
      if (done < total || wasDone) return;
      clearInterval(timer);
      print();
    },
    stop: () => clearInterval(timer),
  };
}

function startBar(title: string, total: number, first: number): Progress {
  const bar = new SingleBar({
    format: `${title} {bar} {value}/{total}, {eta_formatted} left {note}`,
    stream: process.stderr,
    hideCursor: true,
    etaBuffer: 30,
  });
  bar.start(total, first, { note: '' });
  return { update: (done, note = '') => bar.update(done, { note }), stop: () => bar.stop() };
}

/** @param first items done before resuming */
export function startProgress(title: string, total: number, first = 0): Progress {
  return process.stderr.isTTY ? startBar(title, total, first) : startPlain(title, total, first);
}
