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

/** Estimates the time left from the items of the last two minutes, or the last one. */
function createEstimate(total: number, first: number): (done: number) => string {
  const seen = [{ time: performance.now(), done: first }];
  return (done) => {
    const now = performance.now();
    if (done !== seen[seen.length - 1].done) seen.push({ time: now, done });
    while (seen.length > 1 && now - seen[1].time >= ESTIMATE_WINDOW_MS && seen[1].done !== done)
      seen.shift();
    const last = seen[seen.length - 1];
    // Negative after a rollback to a checkpoint.
    const pace = Math.max(0, last.done - seen[0].done) / (last.time - seen[0].time);
    // A slow item takes no time from those after it.
    const left = Math.max((total - done) / pace - (now - last.time), (total - done - 1) / pace);
    return formatSeconds(left / 1000);
  };
}

function startPlain(title: string, total: number, first: number): Progress {
  const estimate = createEstimate(total, first);
  let done = first;
  let note = '';
  let printed = { time: performance.now(), line: '' };
  const print = (): void => {
    const now = performance.now();
    const left = estimate(done);
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

const BAR_WIDTH = 40;
const REDRAW_MS = 100;

/** Redraws its line only, so that Ctrl-C leaves no hidden cursor or other mode behind. */
function startBar(title: string, total: number, first: number): Progress {
  const estimate = createEstimate(total, first);
  let state = { done: first, note: '' };
  let drawnAt = -Infinity;
  const draw = (): void => {
    drawnAt = performance.now();
    const { done, note } = state;
    const bar = '='.repeat(Math.round(BAR_WIDTH * (done / total || 0))).padEnd(BAR_WIDTH, '-');
    const line = `${title} ${bar} ${done}/${total}, ${estimate(done)} left${note && `, ${note}`}`;
    process.stderr.write(`\r${line.slice(0, (process.stderr.columns || 80) - 1)}\x1b[K`);
  };
  draw();
  return {
    update: (done, note = '') => {
      state = { done, note };
      if (performance.now() - drawnAt >= REDRAW_MS) draw();
    },
    stop: () => {
      draw();
      process.stderr.write('\n');
    },
  };
}

/** @param first items done before resuming */
export function startProgress(title: string, total: number, first = 0): Progress {
  return process.stderr.isTTY ? startBar(title, total, first) : startPlain(title, total, first);
}
