import { describe, expect, it } from 'vitest';
import { COMPUTED, experimentCommand, runExperiments } from '../../lib/commands/experiment.js';
import { defineComputation, type Experiment } from '../../lib/experiments/experiment.js';
import type { JobWorker } from '../../lib/experiments/running/jobs.js';
import type { BackendReport } from '../../lib/tensor/backend.js';
import { folderForEach } from '../folder.js';

const inFolder = folderForEach();

const backend = { name: 'wasm', detail: 'made up' } as BackendReport;

/**
 * Runs with an experiment `a` of one 100-second job and `b` of two hours, which is
 * planned once its training of 50 s is done.
 */
async function run(
  names: string,
  {
    force = false,
    train = true,
    missing = undefined as string | undefined,
    signal = new AbortController().signal,
    onJob = () => {},
  } = {},
) {
  const did: string[] = [];
  const experiment = (name: string, title: string, seconds: number, training = 0): Experiment => ({
    name,
    title,
    computation: defineComputation<string, string>({
      processes: 1,
      work: async () => name,
      missing: () => missing,
      jobs: async () => [{ key: `${name}/1`, hash: 'h', input: name, seconds }],
      prepare: {
        plan: async () =>
          training && !did.includes('training')
            ? { work: '2 runs to train', seconds: training }
            : null,
        run: async ({ onProgress }) => {
          did.push('training');
          onProgress(0.5);
        },
      },
    }),
  });
  const experiments = [
    experiment('a', 'first', 100),
    experiment('b', 'second', 7200, names === 'b' ? 0 : 50),
  ];
  const start = (): JobWorker => ({
    send: async ({ input }, onFraction) => {
      did.push(String(input));
      onJob();
      onFraction?.(0.5);
      return { value: input, seconds: 1, residentBytes: 1 };
    },
    stop: () => undefined,
  });
  const [lines, updates]: [string[], [number, string][]] = [[], []];
  const running = runExperiments(
    experiments.filter(({ name }) => names.includes(name)),
    {
      out: inFolder(),
      force,
      train,
      signal,
      backend,
      start,
      log: (line) => lines.push(line),
      onProgress: (share, note) => updates.push([share, note]),
    },
  );
  const error = await running.then(
    () => null,
    (reason: unknown) => (reason as Error).message,
  );
  return { error, did, lines, updates };
}

describe('experiment', () => {
  it('logs the plan, trains, runs, and shows overall progress', async () => {
    const { error, did, lines, updates } = await run('ab');
    expect([error, did]).toEqual([null, ['a', 'training', 'b']]);
    expect(lines).toEqual([
      'a: first: 1 of 1 jobs, about 2 min',
      'b: second: 2 runs to train, then its jobs, about 50 s',
    ]);
    // Of 150 estimated seconds.
    expect(updates.map(([share, note]) => `${Math.round(150 * share)} ${note}`)).toEqual([
      '50 a: a/1',
      '100 a: a/1',
      '125 b: training',
      '150 b: b/1',
      '150 b: b/1',
    ]);
  });

  it('runs only the given ones, skips finished ones, and repeats them with force', async () => {
    expect((await run('b')).did).toEqual(['b']);
    const again = await run('b');
    expect(again).toMatchObject({ did: [], lines: ['b: second: done'] });
    expect((await run('b', { force: true })).did).toEqual(['b']);
  });

  it('trains nothing with train: false', async () => {
    expect((await run('ab', { train: false })).did).toEqual(['a', 'b']);
  });

  it('skips experiments whose requirements this machine lacks, unless they are done', async () => {
    const missing = 'there is no model';
    expect(await run('ab', { missing })).toMatchObject({
      did: [],
      lines: [
        'a: first: 1 of 1 jobs, skipped: there is no model',
        'b: second: 2 runs to train, skipped: there is no model',
      ],
    });
    await run('a');
    expect(await run('a', { missing })).toMatchObject({ did: [], lines: ['a: first: done'] });
  });

  it('starts nothing new when stopped', async () => {
    const controller = new AbortController();
    const onJob = (): void => controller.abort(new Error('stopped'));
    expect(await run('ab', { signal: controller.signal, onJob })).toMatchObject({
      error: 'stopped',
      did: ['a'],
    });
  });

  it('lists every experiment in its help and rejects others', async () => {
    const help = { text: '' };
    const command = experimentCommand()
      .exitOverride()
      .configureOutput({ writeOut: (text) => void (help.text += text), writeErr: () => undefined });
    expect(() => command.parse(['--help'], { from: 'user' })).toThrow();
    for (const { name, title } of COMPUTED) {
      expect(help.text).toContain(`  ${name} `);
      expect(help.text).toContain(title);
    }
    expect(help.text).toContain('--force');
    await expect(command.parseAsync(['nothing'], { from: 'user' })).rejects.toThrow(/latency/);
  });
});
