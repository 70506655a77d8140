/** One process at a time in a folder that is written to. */
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { lock } from 'proper-lockfile';
import { z } from 'zod';
import { readJson, removePartial } from './files.js';
import { shortPath } from './paths.js';

const holderSchema = z.object({ pid: z.int().min(1), host: z.string() });
type Holder = z.infer<typeof holderSchema>;

/** A step of training keeps its process from saying that it is there. */
const STALE_MS = 15 * 60_000;
/** The least that the library takes, for a lock whose process is known to have ended. */
const ENDED_STALE_MS = 5_000;

async function readHolder(file: string): Promise<Holder | undefined> {
  return holderSchema.safeParse(await readJson(file).catch(() => null)).data;
}

/** Whether the process ran on this machine and has ended. */
function hasEnded({ pid, host }: Holder): boolean {
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/**
 * Works in a folder, made where it is missing, while no other process does, and first removes what a kill has left half written.
 * The lock of a process that has ended is taken over.
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
  const holder = await readHolder(holderFile);
  const wasLocked = existsSync(lockfilePath);
  const name = holder ? `process ${holder.pid} on ${holder.host}` : 'another process';
  const isOver = wasLocked && holder !== undefined && hasEnded(holder);
  const release = await lock(folder, {
    lockfilePath,
    stale: isOver ? ENDED_STALE_MS : STALE_MS,
    update: ENDED_STALE_MS / 2,
    // A lock of which the last sign is younger than that is waited for.
    ...(isOver ? { retries: { retries: 7, minTimeout: 1000, maxTimeout: 1000 } } : {}),
    onCompromised: ({ message }) => {
      throw new Error(`Expected to keep ${lockfilePath}, but it was taken away: ${message}.`);
    },
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ELOCKED') throw error;
    throw new Error(
      `Expected no other process in ${shortPath(folder)}, but ${name} works there. Wait for it, stop it, or choose another folder.`,
      { cause: error },
    );
  });
  try {
    if (wasLocked) log(`Took over the lock of ${name}, which gives no sign of life, in ${folder}.`);
    await writeFile(holderFile, JSON.stringify({ pid: process.pid, host: hostname() } satisfies Holder));
    await removePartial(folder);
    return await work();
  } finally {
    // The next holder's name takes its place in any case, and the lock must not stay.
    await rm(holderFile, { force: true }).catch(() => undefined);
    await release();
  }
}
