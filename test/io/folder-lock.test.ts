import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { withFileLocks, withFolderLock } from '../../lib/io/folder-lock.js';
import { words } from '../commands/command-line.js';
import { folderForEach } from '../folder.js';
import { slow } from '../full.js';

const inFolder = folderForEach();

/**
 * Leaves a lock last updated `age` seconds ago; without an owner, as after an early kill.
 */
function leaveLock(
  age: number,
  holder?: { pid: number; host?: string; namespace?: string; started?: string },
  folder = inFolder(),
): void {
  fs.mkdirSync(join(folder, 'run.lock'), { recursive: true });
  if (holder)
    fs.writeFileSync(
      join(folder, 'run.lock.json'),
      JSON.stringify({ host: hostname(), ...holder }),
    );
  const time = Date.now() / 1000 - age;
  fs.utimesSync(join(folder, 'run.lock'), time, time);
}

const readHolder = (...folder: string[]) =>
  JSON.parse(fs.readFileSync(inFolder(...folder, 'run.lock.json'), 'utf8')) as {
    started: string;
    namespace: string;
  };

/** The id of a process that has ended. */
const endedPid = (): number => spawnSync(process.execPath, ['-e', '']).pid;

const lines: string[] = [];
const work = (folder = inFolder()): Promise<string[]> =>
  withFolderLock(
    folder,
    async () => fs.readdirSync(folder),
    (line) => lines.splice(0, lines.length, line),
  );

describe('withFolderLock', () => {
  it('excludes others during the work and leaves no files', async () => {
    await withFolderLock(inFolder('new'), async () => {
      const second = withFolderLock(inFolder('new'), async () => 'both');
      await expect(second).rejects.toThrow(`locked by process ${process.pid} on ${hostname()}`);
      expect(readHolder('new')).toMatchObject({ pid: process.pid });
    });
    expect(fs.readdirSync(inFolder('new'))).toEqual([]);
    const failing = withFolderLock(inFolder('new'), () => Promise.reject(new Error('failed')));
    await expect(failing).rejects.toThrow('failed');
    expect(fs.readdirSync(inFolder('new'))).toEqual([]);
    lines.length = 0;
    await work();
    expect(lines).toEqual([]);
  });

  it('takes over the lock of an ended process', async () => {
    const pid = endedPid();
    leaveLock(10, { pid });
    await work();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`process ${pid} on ${hostname()}`);
    expect(fs.existsSync(inFolder('run.lock'))).toBe(false);
  });

  it('keeps the lock of a running process, even if stale', async () => {
    leaveLock(16 * 60, { pid: process.pid });
    const told = new RegExp(`process ${process.pid} on .*remove .*run.lock`);
    await expect(work()).rejects.toThrow(told);
  });

  it("keeps the lock of another user's process", async () => {
    leaveLock(10, { pid: endedPid() });
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    });
    await expect(work()).rejects.toThrow('locked by process');
    kill.mockRestore();
  });

  it('keeps the lock of a process on another machine until it is stale', async () => {
    leaveLock(60, { pid: endedPid(), host: 'elsewhere' });
    await expect(work()).rejects.toThrow(/on elsewhere.*If that has ended, remove/);
    const time = Date.now() / 1000 - 16 * 60;
    fs.utimesSync(inFolder('run.lock'), time, time);
    await work();
    expect(lines[0]).toContain('on elsewhere');
  });

  it('keeps the lock of a container on this machine, whose processes are invisible', async () => {
    // The clocks may differ: a new time would take the lock from a live process.
    leaveLock(-3600, { pid: endedPid(), namespace: 'other-boot pid:[1]' });
    const { mtimeMs } = fs.statSync(inFolder('run.lock'));
    await expect(work()).rejects.toThrow(/If that has ended, remove/);
    expect(fs.statSync(inFolder('run.lock')).mtimeMs).toBe(mtimeMs);
  }, 5_000); // Waiting would not help.

  it('passes on other errors', async () => {
    const locked = withFileLocks([inFolder('a'.repeat(252))], async () => 'no');
    await expect(locked).rejects.toThrow('ENAMETOOLONG');
  });

  it('aborts the work when the lock is removed, and leaves the lock to the next process', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const lost = withFolderLock(inFolder(), async (signal) => {
      fs.rmdirSync(inFolder('run.lock'));
      vi.advanceTimersByTime(2_500);
      await once(signal, 'abort');
      leaveLock(0, { pid: 1 });
      signal.throwIfAborted();
    });
    await expect(lost).rejects.toThrow(/Lost the lock .*run\.lock/);
    expect(fs.readdirSync(inFolder())).toEqual(['run.lock', 'run.lock.json']);
  });

  it('reports that the folder was removed', async () => {
    const removed = withFolderLock(inFolder('gone'), async () => {
      fs.rmSync(inFolder('gone'), { recursive: true });
      fs.writeFileSync(inFolder('gone', 'a'), '');
    });
    await expect(removed).rejects.toThrow(/gone to stay, but it was removed/);
  });

  it('locks files of a folder separately', async () => {
    const lock = <T>(name: string, then: () => Promise<T>) => withFileLocks([inFolder(name)], then);
    const both = await lock('a', async () => {
      const names = await lock('b', async () => fs.readdirSync(inFolder()).sort().join(' '));
      expect(names).toBe('a.lock a.lock.json b.lock b.lock.json');
      await expect(lock('a', async () => 'both')).rejects.toThrow('locked by process');
      return 'worked';
    });
    expect(both).toBe('worked');
    expect(fs.readdirSync(inFolder())).toEqual([]);
  });

  slow.each(['a', 'b'])(
    'aborts the work when the lock of one of two files is removed: %s (needs test:full)',
    async (name) => {
      const lost = withFileLocks([inFolder('a'), inFolder('b')], async (signal) => {
        fs.rmdirSync(inFolder(`${name}.lock`));
        await once(signal, 'abort');
        signal.throwIfAborted();
      });
      await expect(lost).rejects.toThrow(`${name}.lock`);
    },
  );

  it('takes over a lock without an owner', async () => {
    leaveLock(10);
    await work();
    expect(lines[0]).toContain('another process');
  });

  it.skipIf(!fs.existsSync('/proc/self/stat'))(
    'takes over the lock of a process whose id was reused',
    async () => {
      leaveLock(10, { pid: process.pid, started: '1' });
      await work();
      expect(lines[0]).toContain(`process ${process.pid} on`);
      await withFolderLock(inFolder(), async () => {
        expect(readHolder().started).toMatch(/^\d+$/);
        expect(readHolder().namespace).toMatch(/^[\da-f-]{36} pid:\[\d+\]$/);
        fs.utimesSync(inFolder('run.lock'), 0, 0);
        await expect(work()).rejects.toThrow(/locked by.*another output\.$/);
      });
    },
  );

  slow(
    "waits for a fresh lock: takes over an ended process's, gives up on a renewed one (needs test:full)",
    async () => {
      // Each waits for seconds, so they run concurrently.
      const pid = endedPid();
      const [ended, future, renewed] = ['ended', 'future', 'renewed'].map((name) => inFolder(name));
      leaveLock(0, { pid }, ended);
      leaveLock(-3600, { pid }, future);
      leaveLock(0, undefined, renewed);
      const renew = (): void => fs.utimesSync(join(renewed, 'run.lock'), new Date(), new Date());
      const timer = setInterval(renew, 200);
      const givesUp = expect(work(renewed).finally(() => clearInterval(timer))).rejects.toThrow(
        /locked by another process/,
      );
      const taken = await Promise.all([ended, future].map((folder) => work(folder)));
      expect(taken).toEqual(Array(2).fill(['run.lock', 'run.lock.json']));
      await givesUp;
      expect(lines[0]).toContain(`process ${pid} on`);
    },
    30_000,
  );

  it.skipIf(!fs.existsSync('/proc/self/stat'))(
    'recognises a process by its start time',
    async () => {
      const program = "process.title = 'a) b (c'; setInterval(() => 0, 1e6)";
      const child = spawn(process.execPath, ['-e', program]);
      const pid = child.pid!;
      try {
        const stat = (): string => fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
        while (!stat().includes('a) b')) await sleep(20);
        const started = /^.*\) \w (?:-?\d+ ){18}(\d+) /.exec(stat())![1];
        leaveLock(10, { pid, started });
        await expect(work()).rejects.toThrow(`locked by process ${pid}`);
        leaveLock(10, { pid, started: '1' });
        await work();
        expect(lines[0]).toContain(`process ${pid} on`);
      } finally {
        child.kill();
      }
    },
  );

  it.skipIf(!fs.existsSync('/proc/self/stat'))(
    'takes over the lock of a zombie process',
    async () => {
      const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60']);
      try {
        const pid = Number(await new Promise((read) => parent.stdout.once('data', read)));
        const fields = (): string[] => fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
        while (fields()[2] !== 'Z') await sleep(20);
        leaveLock(10, { pid, started: fields()[21] });
        await work();
        expect(lines[0]).toContain(`process ${pid} on`);
      } finally {
        parent.kill();
      }
    },
  );

  it('removes only partial files', async () => {
    const kept = words`metrics.jsonl mine.partial notes2.partial notes.2.partial 2.partial`;
    for (const name of ['metrics.jsonl.123-4.partial', ...kept])
      fs.writeFileSync(inFolder(name), '');
    expect((await work()).sort()).toEqual([...kept, 'run.lock', 'run.lock.json'].sort());
  });
});
