import type { Channel } from '../../lib/io/processes.js';

/** Both ends of a channel in this process; messages are copied, as between processes. */
export function connect(): [Channel, Channel] {
  const ends = [0, 1].map(() => ({
    messages: [] as unknown[],
    waiting: [] as ((message: unknown) => void)[],
  }));
  const channel = (here: number): Channel => ({
    send: (message) => {
      const { messages, waiting } = ends[1 - here];
      const copy: unknown = structuredClone(message);
      const next = waiting.shift();
      if (next) next(copy);
      else messages.push(copy);
    },
    receive: () => {
      const { messages, waiting } = ends[here];
      if (messages.length > 0) return Promise.resolve(messages.shift());
      return new Promise((resolve) => waiting.push(resolve));
    },
    close: () => undefined,
  });
  return [channel(0), channel(1)];
}
