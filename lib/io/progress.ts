import { SingleBar } from 'cli-progress';

/**
 * Progress of something long: a bar on a terminal, a plain line every ten seconds
 * elsewhere. Goes to stderr.
 */
export interface Progress {
  /** @param note a few words beside the bar, such as the newest reward */
  update(done: number, note?: string): void;
  stop(): void;
}

const PLAIN_INTERVAL_MS = 10_000;

function formatSeconds(seconds: number): string {
  if (!Number.isFinite(seconds)) return '?';
  const minutes = Math.floor(seconds / 60);
  return minutes > 0 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Math.round(seconds)} s`;
}

/**
 * Milliseconds that an estimate looks back: what was recalled at a go, when a run goes
 * on, must not count for long.
 */
const ESTIMATE_WINDOW_MS = 120_000;

/**
 * Lines; what is left is estimated from the pace of the last two minutes, or since the
 * last line where that is longer ago.
 */
function startPlain(title: string, total: number, first: number): Progress {
  const seen = [{ time: performance.now(), done: first }];
  let [done, note] = [first, ''];
  const print = (): void => {
    const now = performance.now();
    while (seen.length > 1 && now - seen[1].time >= ESTIMATE_WINDOW_MS) seen.shift();
    // Less than was thought: a run has gone back to its checkpoint.
    const pace = Math.max(0, done - seen[0].done) / ((now - seen[0].time) / 1000);
    seen.push({ time: now, done });
    const left = formatSeconds((total - done) / pace);
    process.stderr.write(`${title}: ${done}/${total}, ${left} left${note && `, ${note}`}\n`);
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

const BREATH_MS = 1000;

/**
 * Called again and again within work that waits for nothing, as wasm's does, it lets
 * timers and Ctrl-C through once a second.
 */
export function createBreather(): () => Promise<void> | void {
  let last = performance.now();
  return () => {
    if (performance.now() - last < BREATH_MS) return;
    last = performance.now();
    return new Promise((resume) => void setImmediate(resume));
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

/** @param first what was done before, when a run goes on */
export function startProgress(title: string, total: number, first = 0): Progress {
  return process.stderr.isTTY ? startBar(title, total, first) : startPlain(title, total, first);
}
