/** Locks a folder or a file for one process at a time. */
import { existsSync } from 'node:fs';
import { readFile, readlink, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { makeFolder, readJson, removePartial } from './files.js';
import { shortPath } from './paths.js';

const holderSchema = z.object({
  pid: z.int().min(1),
  host: z.string(),
  /** Where process ids are unique; see {@link namespaceHere}. */
  namespace: z.string().optional(),
  /** See {@link startTime}. */
  started: z.string().optional(),
});
type Holder = z.infer<typeof holderSchema>;

/** For a holder on another machine: a training step blocks its updates for minutes. */
const STALE_MS = 15 * 60_000;
/** For a holder that has ended; the library's minimum. */
const ENDED_STALE_MS = 5_000;
const RETRY_MS = 1000;
/** Enough for the lock of a process that has just ended to become stale. */
const MAX_RETRIES = 7;

/** A process's start time on Linux, which tells it from a later one with its id. */
async function startTime(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // Fields follow the name in parentheses, which may contain spaces and parentheses.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' ? 'ended' : fields[18];
}

/** This boot and, in a container, its namespace of process ids; undefined off Linux. */
async function namespaceHere(): Promise<string | undefined> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => undefined);
  const pids = await readlink('/proc/self/ns/pid').catch(() => '');
  return boot && `${boot.trim()} ${pids}`;
}

/** Undefined if the process is not visible: on another machine, or in a container. */
async function isAlive(holder: Holder | undefined): Promise<boolean | undefined> {
  if (!holder) return false; // killed before it wrote its name
  const { pid, host, namespace, started } = holder;
  const isElsewhere =
    namespace === undefined ? host !== hostname() : namespace !== (await namespaceHere());
  if (isElsewhere) return undefined;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const current = started && (await startTime(pid));
  return !current || current === started;
}

/** A lock dated in the future, by a wrong clock, would never become stale. */
async function bringToPresent(lockfilePath: string): Promise<void> {
  const time = (await stat(lockfilePath).catch(() => undefined))?.mtime;
  if (time && time > new Date()) await utimes(lockfilePath, new Date(), new Date());
}

interface Held {
  release: () => Promise<void>;
  /** Aborts if the lock was removed or taken over. */
  lost: AbortSignal;
}

/** @param shown what is locked, for messages */
interface Place {
  lockfilePath: string;
  shown: string;
  log: (line: string) => void;
}

/** Acquires the lock, even from a process that has ended. */
async function takeLock({ lockfilePath, shown, log }: Place): Promise<Held> {
  // Imported late: it listens for signals, which then wait until synchronous work ends.
  const { lock } = await import('proper-lockfile');
  for (let retry = 0; ; retry++) {
    // Read again in each try, because another process may have taken the lock.
    const json = await readJson(`${lockfilePath}.json`).catch(() => undefined);
    const holder = holderSchema.safeParse(json).data;
    const wasLocked = existsSync(lockfilePath);
    const alive = await isAlive(holder);
    const name = holder ? `process ${holder.pid} on ${holder.host}` : 'another process';
    const refuse = (cause?: unknown): never => {
      const doubt =
        alive === undefined ? 'has ended' : holder?.started ? undefined : 'is another program';
      const hint = doubt ? ` If that ${doubt}, remove ${lockfilePath}.` : '';
      throw new Error(
        `Expected no other process to use ${shown}, but it is locked by ${name}. Wait, stop it, or choose another output.${hint}`,
        { cause },
      );
    };
    if (wasLocked && alive) refuse();
    if (alive === false) await bringToPresent(lockfilePath);
    const lost = new AbortController();
    try {
      // With its own path, because a folder may have several locks.
      const release = await lock(lockfilePath, {
        lockfilePath,
        realpath: false,
        stale: alive === false ? ENDED_STALE_MS : STALE_MS,
        update: ENDED_STALE_MS / 2,
        onCompromised: () =>
          lost.abort(
            new Error(
              `Lost the lock ${shortPath(lockfilePath)}: it was removed, or taken over by another process.`,
            ),
          ),
      });
      if (wasLocked) log(`Took over the stale lock of ${name} on ${shown}.`);
      return { release, lost: lost.signal };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error;
      if (alive !== false || retry >= MAX_RETRIES) refuse(error);
    }
    await sleep(RETRY_MS);
  }
}

type LockedWork<T> = (lost: AbortSignal) => Promise<T>;

async function withLock<T>(place: Place, work: LockedWork<T>): Promise<T> {
  const { lockfilePath } = place;
  const holderFile = `${lockfilePath}.json`;
  const { release, lost } = await takeLock(place);
  try {
    const { pid } = process;
    const holder: Holder = {
      pid,
      host: hostname(),
      namespace: await namespaceHere(),
      started: await startTime(pid),
    };
    await writeFile(holderFile, JSON.stringify(holder));
    return await work(lost);
  } catch (cause) {
    // Anything that failed then, failed because of that.
    if (!existsSync(dirname(lockfilePath)))
      throw new Error(`Expected ${place.shown} to stay, but it was removed. Run again.`, { cause });
    throw cause;
  } finally {
    if (!lost.aborted) {
      await rm(holderFile).catch(() => undefined); // must not keep the lock
      await release().catch(() => undefined);
    }
  }
}

/**
 * Runs `work` while no other process works in the folder. Creates the folder, removes
 * partial files left by a kill, and takes over the lock of a process that has ended.
 * @throws Error naming the process that holds the lock, or a folder that was removed
 */
export async function withFolderLock<T>(
  folder: string,
  work: LockedWork<T>,
  log: (line: string) => void = console.error,
): Promise<T> {
  await makeFolder(folder);
  const place = { lockfilePath: join(folder, 'run.lock'), shown: shortPath(folder), log };
  return withLock(place, async (lost) => {
    await removePartial(folder);
    return work(lost);
  });
}

/** The same for files, which need not exist, such as a journal. */
export async function withFileLocks<T>(
  [file, ...others]: readonly string[],
  work: LockedWork<T>,
): Promise<T> {
  if (file === undefined) return work(AbortSignal.any([]));
  await makeFolder(dirname(file));
  const place = { lockfilePath: `${file}.lock`, shown: shortPath(file), log: console.error };
  return withLock(place, (lost) =>
    withFileLocks(others, (otherLost) => work(AbortSignal.any([lost, otherLost]))),
  );
}
