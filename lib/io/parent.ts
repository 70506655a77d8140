/** Processes that end with the one that started them. */
import { Worker } from 'node:worker_threads';

/**
 * What a process gets into its environment that is to end with this one; it may start
 * when this one has ended already.
 */
export const asParent = (): Record<string, string> => ({
  PARALLELSEARCH_PARENT: String(process.pid),
});

/**
 * Looks from a thread of its own, since a step of training or an endless cell keeps a
 * process from hearing anything.
 */
export const WATCH_PARENT = `
const parent = Number(process.env.PARALLELSEARCH_PARENT ?? process.ppid);
setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 500);
`;

/**
 * Ends this process soon after its parent, even where that was killed. (On Windows a
 * parent's end shows by its channel alone.)
 */
export function endWithParent(): void {
  new Worker(WATCH_PARENT, { eval: true }).unref();
}
