import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { experimentCommand, runExperiments } from '../../lib/commands/experiment.js';
import type { Experiment } from '../../lib/experiments/experiment.js';
import { EXPERIMENTS } from '../../lib/experiments/experiments.js';

let out: string;
beforeEach(() => void (out = mkdtempSync(join(tmpdir(), 'experiments-'))));
afterEach(() => rmSync(out, { recursive: true, force: true }));

/** Runs with an experiment `a` of 100 s and `b` of two hours. */
async function run(
  name: string,
  { force = false, signal = new AbortController().signal, onRun = () => {} } = {},
) {
  const ran: string[] = [];
  const experiment = (title: string, seconds: number): Experiment => ({
    title,
    config: () => ({ title }),
    estimateSeconds: () => seconds,
    ...(seconds > 1000 ? { plan: () => 'much to do' } : {}),
    run: async (context) => {
      ran.push(title);
      onRun();
      context.signal.throwIfAborted();
      context.onProgress(0.5, 'half');
      return { provenance: {} };
    },
  });
  const experiments = { a: experiment('first', 100), b: experiment('second', 7200) };
  const lines: string[] = [];
  const updates: [number, string | undefined][] = [];
  const exitCode = await runExperiments(name, {
    ...{ out, force, signal, experiments, backend: 'auto' },
    say: (line) => lines.push(line),
    startProgress: () => ({ update: (done, note) => updates.push([done, note]), stop: () => undefined }),
  });
  return { exitCode, ran, lines, updates };
}

describe('experiment', () => {
  it('says the plan, runs it and shows progress over all', async () => {
    const { exitCode, ran, lines, updates } = await run('all');
    expect([exitCode, ran]).toEqual([0, ['first', 'second']]);
    expect(lines.slice(0, 2)).toEqual(['a: first: about 2 min', 'b: second: much to do, about 2.0 h']);
    expect(lines[2]).toBe(`a: ${join(out, 'a', 'results.json')}`);
    expect(updates).toEqual([
      [50, 'a: half'],
      [100, 'a'],
      [3700, 'b: half'],
      [7300, 'b'],
    ]);
  });

  it('runs only the one named, skips what is there, and repeats it when forced', async () => {
    expect((await run('b')).ran).toEqual(['second']);
    const all = await run('all');
    expect(all.ran).toEqual(['first']);
    expect(all.lines[1]).toMatch(/^b: second: is there \(hash [0-9a-f]{12}\)$/);
    expect((await run('b', { force: true })).ran).toEqual(['second']);
  });

  it('ends with 130 when stopped', async () => {
    const controller = new AbortController();
    const stopped = await run('all', {
      signal: controller.signal,
      onRun: () => controller.abort(new Error('stopped')),
    });
    expect(stopped).toMatchObject({ exitCode: 130, ran: ['first'] });
    expect(stopped.lines.at(-1)).toBe('Stopped. The same command goes on from here.');
  });

  it('lists every experiment in its help and refuses others', async () => {
    const help = { text: '' };
    const command = experimentCommand()
      .exitOverride()
      .configureOutput({ writeOut: (text) => void (help.text += text), writeErr: () => undefined });
    expect(() => command.parse(['--help'], { from: 'user' })).toThrow();
    for (const [name, { title }] of Object.entries(EXPERIMENTS)) {
      expect(help.text).toContain(`  ${name} `);
      expect(help.text).toContain(title);
    }
    expect(help.text).toContain('--force');
    await expect(command.parseAsync(['nothing'], { from: 'user' })).rejects.toThrow(/latency/);
  });
});
