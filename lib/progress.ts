import { SingleBar } from 'cli-progress';

/** Progress of something long: a bar on a terminal, a plain line every ten seconds elsewhere. Goes to stderr. */
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

function startPlain(title: string, total: number, first: number): Progress {
  const start = performance.now();
  let last = start;
  return {
    update: (done, note = '') => {
      const now = performance.now();
      if (now - last < PLAIN_INTERVAL_MS && done < total) return;
      last = now;
      const left = ((now - start) / 1000 / Math.max(1, done - first)) * (total - done);
      process.stderr.write(`${title}: ${done}/${total}, ${formatSeconds(left)} left${note && `, ${note}`}\n`);
    },
    stop: () => undefined,
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
