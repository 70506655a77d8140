import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  describeDuration,
  interruptible,
  parseCount,
  parsePort,
  parseSeconds,
  parseWeight,
  shellWord,
} from '../../../lib/commands/common/cli-utils.js';
import { temporaryFolder } from '../../folder.js';
import { isBuilt, refusal } from '../command-line.js';
import { trainCommand } from '../../../lib/commands/train.js';

describe('numbers on the command line', () => {
  it.each([
    [parseCount, ['1', '12'], ['0', '-1', '2.5', '', 'six'], 'an integer >= 1'],
    [parseWeight, ['0', '0.35'], ['-0.1', ' ', 'x'], 'a number >= 0'],
    [parsePort, ['1', '65535'], ['0', '65536', '80.5', ''], 'a port from 1 to 65535'],
    [
      parseSeconds,
      ['0.5', '2000000'],
      ['0', '2000001', '', 'x'],
      'seconds above 0 and up to 2000000',
    ],
  ])('%# are parsed or rejected', (parse, good, bad, expected) => {
    for (const text of good) expect(parse(text)).toBe(Number(text));
    for (const text of bad) expect(() => parse(text)).toThrow(expected);
  });

  it('may be a list in any order, with spaces', () => {
    const command = trainCommand().action(() => undefined);
    command.exitOverride().configureOutput({ writeErr: () => undefined });
    command.parse(['--keep-steps', '10, 3'], { from: 'user' });
    expect(command.opts<{ keepSteps: number[] }>().keepSteps).toEqual([10, 3]);
    expect(() => command.parse(['--keep-steps', '3,,6'], { from: 'user' })).toThrow(/>= 1/);
  });
});

it.skipIf(process.platform === 'win32')(
  'quotes paths so that the shell takes them as they are',
  () => {
    for (const name of ['plain/a-1.b', 'with space', '$HOME', `it's "x" & y`, '*'])
      expect(execFileSync('sh', ['-c', `printf %s ${shellWord(name)}`], { encoding: 'utf8' })).toBe(
        name,
      );
  },
);

it('formats durations in suitable units', () => {
  expect([30, 700, 8000].map(describeDuration)).toEqual(['30 s', '12 min', '2.2 h']);
});

describe('interruptible', () => {
  let logged: string;
  beforeEach(() => {
    logged = '';
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => (logged += String(text)) !== '');
  });

  it('returns 0 or throws the error of the work, without leftover listeners', async () => {
    const before = process.listenerCount('SIGINT');
    expect(await interruptible(async () => undefined)).toBe(0);
    await expect(interruptible(() => Promise.reject(new Error('broken')))).rejects.toThrow(
      'broken',
    );
    expect([logged, process.listenerCount('SIGINT')]).toEqual(['', before]);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'returns 130 after %s and suggests resuming',
    async (name) => {
      const exitCode = await interruptible(async (signal) => {
        process.emit(name);
        signal.throwIfAborted();
      });
      expect([exitCode, logged]).toEqual([
        130,
        '\nStopping.\nStopped. The same command resumes.\n',
      ]);
    },
  );

  it('returns 130 even if the work finished normally', async () => {
    expect(await interruptible(async () => void process.emit('SIGINT'))).toBe(130);
  });

  it.each([
    ['stops when the terminal of its messages closes', true, 130],
    ['goes on when a terminal closes that is not that of its messages', false, 0],
  ])('%s', async (_, isTTY, exitCode) => {
    process.stderr.isTTY = isTTY;
    const before = process.listenerCount('SIGHUP');
    const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as () => never);
    const hangUpTwice = async (): Promise<void> =>
      void (process.emit('SIGHUP'), process.emit('SIGHUP'));
    expect(await interruptible(hangUpTwice)).toBe(exitCode);
    expect(exit).not.toHaveBeenCalled();
    expect(process.listenerCount('SIGHUP')).toBe(before);
    process.stderr.isTTY = false;
  });
});

it.skipIf(!isBuilt || process.platform === 'win32')(
  'exits at the second Ctrl-C, even while opening a pipe without a reader',
  async () => {
    const pipe = join(temporaryFolder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const program = `
      import { open } from 'node:fs/promises';
      import { interruptible } from '${import.meta.resolve('../../../dist/commands/common/cli-utils.js')}';
      process.once('exit', (code) => console.log(code));
      await interruptible(() => (console.log('ready'), open('${pipe}', 'w')));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
    child.stdout.once('data', () => child.kill('SIGINT'));
    child.stderr.once('data', () => child.kill('SIGINT'));
    const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect([child.signalCode, output]).toEqual(['SIGINT', 'ready\n130\n']);
  },
);

it.skipIf(!isBuilt).each(['data', 'compare', 'view', 'export'])(
  'leaves signals to the system in %s, whose work is synchronous',
  (command) => {
    const program = `
      import { createProgram } from '${import.meta.resolve('../../../dist/commands/program.js')}';
      await createProgram('${command}');
      console.log(process.eventNames().filter((name) => /^SIG/.test(name)).length);`;
    const args = ['--input-type=module', '-e', program];
    expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe('0\n');
  },
);

it.each([
  ['ask Who? --data', /--data <folder>/],
  ['evaluate --out', /--out/],
  ['train --dry-run --config', /--config <file>/],
  ['train --dry-run --reward', /--reward <file>/],
  ['score', /<files>/],
  ['compare runs/first', /<runs>/],
  ['view', /<files>/],
  ['data check', /<folder>/],
])('rejects an empty text as the last value of %s', async (args, name) => {
  const said = await refusal([...args.split(' '), '']);
  expect(said).toMatch(/^Expected a value for .*, but got an empty text.*\n$/);
  expect(said).toMatch(name);
});
