import { SingleBar } from 'cli-progress';

/** Progress on stderr: a bar on a terminal, otherwise a line every ten seconds. */
export interface Progress {
  /** @param note a few words, such as the latest reward */
  update(done: number, note?: string): void;
  stop(): void;
}

const PLAIN_INTERVAL_MS = 10_000;

function formatSeconds(seconds: number): string {
  if (!Number.isFinite(seconds)) return '?';
  const minutes = Math.floor(seconds / 60);
  return minutes > 0 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Math.round(seconds)} s`;
}

/** Window of the estimate; items restored at once on resuming must soon leave it. */
const ESTIMATE_WINDOW_MS = 120_000;

/** The time left is estimated from the last two minutes. */
function startPlain(title: string, total: number, first: number): Progress {
  const seen = [{ time: performance.now(), done: first }];
  let done = first;
  let note = '';
  const print = (): void => {
    const now = performance.now();
    while (seen.length > 1 && now - seen[1].time >= ESTIMATE_WINDOW_MS) seen.shift();
    // A rollback to a checkpoint makes it negative.
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
