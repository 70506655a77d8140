import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { result } from '../experiments/synthetic.js';
import { temporaryFolder } from '../folder.js';
import { RUN, writeStep } from '../training/synthetic-run.js';
import { isBuilt, refusal, runCommand } from './command-line.js';

const root = temporaryFolder();

describe.skipIf(!isBuilt)('compare (needs dist/)', () => {
  it('writes one page that works offline, with the given names', async () => {
    for (const name of ['a', 'b']) for (const step of [0, 1]) writeStep(join(root, name), step);
    const { code, stdout, stderr } = await runCommand(
      ['compare', 'a', 'longer=b', '-o', 'both.html'],
      root,
    );
    expect([code, stderr]).toEqual([0, '2 runs compared: both.html\n']);
    expect(stdout).toMatch(/^metric +over +a +longer +longer − a \[95 %\]\n/);
    expect(stdout).toMatch(/^Reward +last 2 steps +\d\.\d{3} +\d\.\d{3} +\S+ \[\S+, \S+\]$/m);
    const html = readFileSync(join(root, 'both.html'), 'utf8');
    expect(html).toContain('<h1>Compared: a and longer</h1>');
    expect(html).toContain("default-src 'none'");
    expect(html).not.toMatch(/(src|href)="(https?:|\/\/|(?!data:|#)[\w./]+\.(js|css|png))/);
  });

  it('prints one row per run for several runs, and JSON lines', async () => {
    writeStep(join(root, 'c'), 0);
    const runs = ['compare', 'a', 'longer=b', 'c', '-o', 'three.html'];
    const table = await runCommand(runs, root);
    expect(table.stdout.match(/^(a|longer|c) +last \d steps /gm)).toHaveLength(3);
    const { stdout } = await runCommand([...runs, '--json'], root);
    const rows = stdout.trimEnd().split('\n');
    expect(rows.map((row) => JSON.parse(row) as object)).toContainEqual(
      expect.objectContaining({ source: 'training', metric: 'reward', run: 'longer', n: 2 }),
    );
  });

  it('names the last steps of both runs if their numbers differ', async () => {
    for (const runs of ['a', 'c'].map((one, i, all) => [one, all[1 - i]])) {
      const { stdout } = await runCommand(['compare', ...runs, '-o', 'pair.html'], root);
      const numbers = runs.map((run) => (run === 'a' ? 2 : 1)).join(' or ');
      expect(stdout).toMatch(new RegExp(`^Reward +last ${numbers} steps `, 'm'));
    }
  });

  it('reports that transcripts have no figures', async () => {
    const line = { id: 'q', golden_answers: ['x'], response: '<answer>x</answer>' };
    writeFileSync(join(root, 't.jsonl'), JSON.stringify(line));
    const { code, stderr } = await runCommand(['compare', 't.jsonl', '-o', 't.html'], root);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^No figures of t: .*`score`/)]);
  });

  it('shows runs of both sources, and names those without figures', async () => {
    writeFileSync(join(root, 'z.jsonl'), JSON.stringify(result({ questionId: 'q1' })));
    const { stdout, stderr } = await runCommand(
      ['compare', 'a', 'longer=b', 'z.jsonl', 't.jsonl', '-o', 'four.html'],
      root,
    );
    expect(stdout.match(/^(a|longer|z) +(last 2 steps|1 question) /gm)).toHaveLength(3);
    expect(stderr).toContain('No figures of t: ');
    expect(stderr).toContain('4 runs compared: four.html');
    // Answers have no rewards that could differ.
    writeFileSync(join(root, 'a/run.json'), JSON.stringify(RUN));
    const { stderr: told } = await runCommand(['compare', 'a', 'z.jsonl', '-o', 'two.html'], root);
    expect(told).toContain('2 runs compared: two.html\n');
    expect(told).not.toContain('Reward settings');
  });

  it('counts answers to questions that not all runs answered', async () => {
    const write = (name: string, ...ids: string[]): void =>
      writeFileSync(
        join(root, name),
        ids.map((questionId) => JSON.stringify(result({ questionId }))).join('\n'),
      );
    write('five.jsonl', 'q1', 'q2', 'q3', 'q4', 'q5');
    write('two.jsonl', 'q5', 'q6');
    write('one.jsonl', 'q5');
    const { stderr } = await runCommand(['compare', 'five.jsonl', 'two.jsonl', 'one.jsonl'], root);
    expect(stderr).toMatch(/^Left out answers .*: 4 of five and 1 of two\.$/m);
  });

  it('warns of intervals from few questions', async () => {
    const stderr = async (numQuestions: number): Promise<string> => {
      const lines = Array.from({ length: numQuestions }, (_, i) =>
        JSON.stringify(result({ questionId: `q${i}` })),
      );
      writeFileSync(join(root, 'few.jsonl'), lines.join('\n'));
      return (await runCommand(['compare', 'few.jsonl'], root)).stderr;
    };
    expect(await stderr(9)).toMatch(/^Intervals from 9 questions are too narrow/m);
    expect(await stderr(10)).not.toContain('narrow');
  });

  it('rejects different questions with the same id, and negative counts', async () => {
    const write = (name: string, fields: object): void =>
      writeFileSync(join(root, name), JSON.stringify({ ...result(), ...fields }));
    write('bridge.jsonl', { type: 'bridge' });
    write('comparison.jsonl', { type: 'comparison' });
    write('untyped.jsonl', { type: 'unknown' });
    write('negative.jsonl', { turns: -1 });
    write('ada.jsonl', { question: 'When was Ada Stone born?' });
    write('bo.jsonl', { question: 'When was Bo Reed born?' });
    const inRoot = (name: string): string => join(root, `${name}.jsonl`);
    for (const [one, other, reason] of [
      ['bridge', 'comparison', 'type of q0 is "comparison" in comparison and "bridge" in another'],
      ['ada', 'bo', 'question of q0 is "When was Bo Reed born?" in bo and "When was Ada'],
    ])
      expect(await refusal(['compare', inRoot(one), inRoot(other)])).toContain(reason);
    const { code } = await runCommand(['compare', 'bridge.jsonl', 'untyped.jsonl'], root);
    expect(code).toBe(0);
    expect(await refusal(['compare', join(root, 'negative.jsonl')])).toContain('turns');
  });

  it('reports that answers share no question', async () => {
    const write = (name: string, questionId: string): void =>
      writeFileSync(join(root, name), JSON.stringify(result({ questionId })));
    write('x.jsonl', 'q1');
    write('y.jsonl', 'q2');
    const { stderr } = await runCommand(['compare', 'x.jsonl', 'y.jsonl'], root);
    expect(stderr).toMatch(/^No figures of answers: x and y share no question\./);
  });
});
