import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeParquet } from '../../lib/io/parquet.js';
import { formatTrajectory } from '../../lib/rollout/trajectory.js';
import { isBuilt, runCommand } from './command-line.js';
import { linesOf, writeTinyWorld } from './tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { QUESTIONS } from '../training/tiny.js';
import {
  CHATML,
  RESULTS,
  rollOutTiny,
  tokens,
  type Tokens,
  traceRow,
  trlRow,
} from '../interop/audited-rows.js';

const root = temporaryFolder();

describe.skipIf(!isBuilt)('audit FILE (needs dist/)', () => {
  it('reports the first incorrect row and turn with a remedy, and exits with 1', async () => {
    const folder = path.join(root, 'chatml');
    cpSync(CHATML, folder, { recursive: true });
    writeFileSync(path.join(folder, 'config.json'), '{}');
    const [clean, broken] = [await tokens(), await tokens([RESULTS[0], RESULTS[1].slice(1)])];
    const write = (name: string, ...rows: Tokens[]): void =>
      writeFileSync(
        path.join(root, name),
        rows.map((row) => `${JSON.stringify(trlRow(row))}\n`).join(''),
      );
    write('clean.jsonl', clean, clean);
    write('broken.jsonl', clean, broken, broken);

    const passed = await runCommand(['audit', 'clean.jsonl', '--model', 'chatml'], root);
    expect(passed.code).toBe(0);
    expect(passed.stdout).toMatch(/2 rollouts \(trl\), 6 turns.*\n[^]*separators +ok in 2/);

    const failed = await runCommand(['audit', 'broken.jsonl', '--model', 'chatml'], root);
    expect(failed.code).toBe(1);
    expect(failed.stdout).toMatch(
      /separators +BROKEN in 2 of 3\. First: broken\.jsonl, row 2, turn 2: [^]*Append what the chat template/,
    );

    const json = await runCommand(['audit', 'broken.jsonl', '--model', 'chatml', '--json'], root);
    expect(json.code).toBe(1);
    const report = JSON.parse(json.stdout) as { numRows: number; checks: object[] };
    expect(report).toMatchObject({ numRows: 3, formats: ['trl'] });
    expect(report.checks).toContainEqual(
      expect.objectContaining({
        check: 'separators',
        numChecked: 3,
        numBroken: 2,
        first: expect.objectContaining({ row: 2, turn: 2 }) as object,
      }),
    );

    // As logged by the exported train.py.
    const logged = [clean, broken].map((row) => ({
      prompt: 'p',
      tokens: JSON.stringify(trlRow(row)),
    }));
    const columns = { prompt: 'text', tokens: 'text' } as const;
    await writeParquet(path.join(root, 'completions_1.parquet'), logged, columns);
    const parquet = await runCommand(
      ['audit', 'completions_1.parquet', 'clean.jsonl', '--model', 'chatml'],
      root,
    );
    expect(parquet.stdout).toMatch(
      /4 rollouts.*\n[^]*1 of 4\. First: completions_1.parquet, row 2/,
    );

    mkdirSync(path.join(root, 'traces'));
    const line = `${JSON.stringify(traceRow(clean))}\n`;
    writeFileSync(path.join(root, 'traces', 'traces.jsonl'), line);
    const inFolder = await runCommand(['audit', 'traces'], root);
    expect(inFolder.stdout).toMatch(/1 rollouts \(verifiers\)/);
    expect((await runCommand(['audit', 'chatml'], root)).stderr).toContain('traces.jsonl');

    // verl's line, and a chat policy's, whose server returns no ids.
    const chat = { segments: [{ kind: 'policy', text: 'a', tokenIds: [] }] };
    for (const row of [{ input: 'a', output: 'b' }, chat]) {
      writeFileSync(path.join(root, 'texts.jsonl'), `${JSON.stringify(row)}\n`);
      const texts = await runCommand(['audit', 'texts.jsonl'], root);
      expect(texts).toMatchObject({ code: 1 });
      expect(texts.stderr).toMatch(/texts\.jsonl:1: Expected token ids/);
    }
    const without = await runCommand(['audit', 'broken.jsonl'], root);
    expect(without).toMatchObject({ code: 0 });
    expect(without.stdout).toMatch(/separators +not checked: needs --model/);
  });

  it('--score finds equal log-probs for the same weights, and different ones at another temperature', async () => {
    const { model: folder } = await writeTinyWorld(path.join(root));
    const { trajectories } = await rollOutTiny();
    const file = path.join(root, 'trajectories.jsonl');
    writeFileSync(file, trajectories.map(formatTrajectory).join(''));
    expect(linesOf(file)).toHaveLength(QUESTIONS.length);
    const score = async (...args: string[]): Promise<Record<string, number>> => {
      const { stdout, code } = await runCommand(
        ['audit', file, '--model', folder, '--score', '--json', '--backend', 'wasm', ...args],
        root,
      );
      expect(code).toBe(0);
      return (JSON.parse(stdout) as { sampling: Record<string, number> }).sampling;
    };
    const same = await score();
    // Recorded with four decimals.
    expect(same['sampling/sampling_logp_difference/max']).toBeLessThan(2e-4);
    expect(same['sampling/effective_sample_size']).toBeGreaterThan(0.9999);
    const warmer = await score('--temperature', '2', '--importance-sampling-mode', 'token_mask');
    expect(warmer['sampling/sampling_logp_difference/max']).toBeGreaterThan(0.1);
    expect(warmer['sampling/effective_sample_size']).toBeLessThan(0.95);
    expect(warmer['sampling/ratio_p99']).toBeGreaterThan(1.2);
  });
});
