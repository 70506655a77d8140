/** One process at a time in a folder that is written to. */
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
  /** See {@link startOf}. */
  started: z.string().optional(),
});
type Holder = z.infer<typeof holderSchema>;

/**
 * A step of training keeps its process from saying that it is there: so long one on
 * another machine may be silent.
 */
const STALE_MS = 15 * 60_000;
/** The least that the library takes, for a lock whose process is known to have ended. */
const ENDED_STALE_MS = 5_000;
const RETRY_MS = 1000;
/** Enough that such a lock, however fresh, is old enough at the last. */
const MOST_RETRIES = 7;

async function readHolder(file: string): Promise<Holder | undefined> {
  return holderSchema.safeParse(await readJson(file).catch(() => null)).data;
}

/**
 * When a process began, as Linux counts it, which tells it from a later one that was
 * given the same id. Undefined where that is not known.
 */
async function startOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The program's name, in parentheses, may hold spaces and parentheses. After it come
  // the state and, as 22nd of all, the start.
  const [state, ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' ? 'ended' : fields[18];
}

/**
 * Whether a lock's process runs; undefined where it is on another machine. One without a
 * name was killed before it wrote that.
 */
async function isAlive(holder: Holder | undefined): Promise<boolean | undefined> {
  if (!holder) return false;
  const { pid, host, started } = holder;
  if (host !== hostname()) return undefined;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const now = started && (await startOf(pid));
  return !now || now === started;
}

/**
 * Takes the lock, that of a process that has ended, too, and says so. Returns what
 * releases it.
 */
async function takeLock(
  folder: string,
  lockfilePath: string,
  log: (line: string) => void,
): Promise<() => Promise<void>> {
  for (let retry = 0; ; retry++) {
    // Anew each time: it may be another's by now.
    const holder = await readHolder(`${lockfilePath}.json`);
    const wasLocked = existsSync(lockfilePath);
    const alive = await isAlive(holder);
    const name = holder ? `process ${holder.pid} on ${holder.host}` : 'another process';
    const refuse = (cause?: unknown): never => {
      const orStranger =
        alive && !holder?.started
          ? ` If it is another program by now, remove ${lockfilePath}.`
          : '';
      throw new Error(
        `Expected no other process in ${shortPath(folder)}, but ${name} works there. Wait for it, stop it, or choose another folder.${orStranger}`,
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
          throw new Error(`Expected to keep ${lockfilePath}, but it was taken away: ${message}.`);
        },
      });
      if (wasLocked)
        log(`Took over the lock of ${name}, which gives no sign of life, in ${folder}.`);
      return release;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error;
      if (alive !== false || retry >= MOST_RETRIES) refuse(error);
    }
    await sleep(RETRY_MS);
  }
}

/**
 * Works in a folder, made where it is missing, while no other process does, and first
 * removes what a kill has left half written. The lock of a process that has ended is
 * taken over.
 * @param log is told of that
 * @throws Error naming the process that works there
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
    const holder: Holder = { pid, host: hostname(), started: await startOf(pid) };
    await writeFile(holderFile, JSON.stringify(holder));
    await removePartial(folder);
    return await work();
  } finally {
    // The next holder's name takes its place in any case, and the lock must not stay.
    await rm(holderFile, { force: true }).catch(() => undefined);
    await release();
  }
}
