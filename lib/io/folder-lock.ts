/** One process at a time in a folder. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lock } from 'proper-lockfile';
import { z } from 'zod';
import { readJson, removePartial } from './files.js';
import { shortPath } from './paths.js';

const holderSchema = z.object({
  pid: z.int().min(1),
  host: z.string(),
  /** See {@link startTime}. */
  started: z.string().optional(),
});
type Holder = z.infer<typeof holderSchema>;

/** On another machine: a training step blocks the updates of the lock for minutes. */
const STALE_MS = 15 * 60_000;
/** If the process has ended; the library's minimum. */
const ENDED_STALE_MS = 5_000;
const RETRY_MS = 1000;
/** Enough for a fresh lock of an ended process to become stale. */
const MAX_RETRIES = 7;

/**
 * A process's start time on Linux, which tells it from a later process with the same id.
 */
async function startTime(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // Fields after the name in parentheses, which may itself contain spaces and
  // parentheses.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' ? 'ended' : fields[18];
}

/** Undefined for a process on another machine. */
async function isAlive(holder: Holder | undefined): Promise<boolean | undefined> {
  if (!holder) return false; // Killed before it wrote its name.
  const { pid, host, started } = holder;
  if (host !== hostname()) return undefined;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const current = started && (await startTime(pid));
  return !current || current === started;
}

/**
 * Takes the lock, also from a process that has ended. Returns a function that releases
 * it.
 */
async function takeLock(
  folder: string,
  lockfilePath: string,
  log: (line: string) => void,
): Promise<() => Promise<void>> {
  for (let retry = 0; ; retry++) {
    // Read again in each try: another process may have taken the lock.
    const json = await readJson(`${lockfilePath}.json`).catch(() => null);
    const holder = holderSchema.safeParse(json).data;
    const wasLocked = existsSync(lockfilePath);
    const alive = await isAlive(holder);
    const name = holder ? `process ${holder.pid} on ${holder.host}` : 'another process';
    const refuse = (cause?: unknown): never => {
      const hint =
        alive && !holder?.started ? ` If that is another program, remove ${lockfilePath}.` : '';
      throw new Error(
        `Expected no other process in ${shortPath(folder)}, but it is locked by ${name}. Wait, stop it, or use another folder.${hint}`,
        { cause },
      );
    };
    if (wasLocked && alive) refuse();
    try {
      const release = await lock(folder, {
        lockfilePath,
        stale: alive === false ? ENDED_STALE_MS : STALE_MS,
        update: ENDED_STALE_MS / 2,
        onCompromised: ({ message }) => {
          throw new Error(`Lost the lock ${lockfilePath}: ${message}.`);
        },
      });
      if (wasLocked) log(`Took over the stale lock of ${name} in ${folder}.`);
      return release;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error;
      if (alive !== false || retry >= MAX_RETRIES) refuse(error);
    }
    await sleep(RETRY_MS);
  }
}

/**
 * Runs `work` while no other process works in the folder. Creates the folder, removes
 * partial files that a kill left, and takes over the lock of a process that has ended.
 * @throws Error naming the process that holds the lock
 */
export async function withFolderLock<T>(
  folder: string,
  work: () => Promise<T>,
  log: (line: string) => void = console.error,
): Promise<T> {
  await mkdir(folder, { recursive: true });
  const lockfilePath = join(folder, 'run.lock');
  const holderFile = `${lockfilePath}.json`;
  const release = await takeLock(folder, lockfilePath, log);
  try {
    const { pid } = process;
    const holder: Holder = { pid, host: hostname(), started: await startTime(pid) };
    await writeFile(holderFile, JSON.stringify(holder));
    await removePartial(folder);
    return await work();
  } finally {
    await rm(holderFile, { force: true }).catch(() => undefined); // Must not keep the lock.
    await release();
  }
}
