/** Processes that end with the one that started them. */
import { Worker } from 'node:worker_threads';

/** Looks from a thread of its own, since a step of training or an endless cell keeps a process from hearing anything. */
export const WATCH_PARENT = `
const parent = process.ppid;
setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 500);
`;

/** Ends this process soon after its parent, even where that was killed. (On Windows a parent's end shows by its channel alone.) */
export function endWithParent(): void {
  new Worker(WATCH_PARENT, { eval: true }).unref();
}
