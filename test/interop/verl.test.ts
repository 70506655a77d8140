/**
 * An export against verl, without a GPU, with the Python of PARALLELSEARCH_VERL_PYTHON.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { auditRow } from '../../lib/interop/audit.js';
import { copyCheckpoint, findCheckpoint, importRollouts } from '../../lib/interop/import.js';
import { readTokenRows } from '../../lib/interop/token-rows.js';
import { writeVerl, readVerlRollouts } from '../../lib/interop/verl.js';
import { readTokenizer } from '../../lib/policy/folders/limited-tokenizer.js';
import { parseTrajectory } from '../../lib/rollout/recorded.js';
import { readSafetensors } from '../../lib/tensor/weight-files.js';
import { linesOf } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { CLEAN, MODEL, trainingExport } from './exports.js';
import { PATIENCE_MS, runPython, verlPython } from './python.js';

const skipped = '(needs PARALLELSEARCH_VERL_PYTHON)';
const root = temporaryFolder();
const ALGORITHMS = [
  ['parallelsearch', 'grpo, 14 settings'],
  ['parallelsearch:ppo', 'gae, 15 settings'],
  ['search-r1', 'grpo, 14 settings'],
  ['search-r1:ppo', 'gae, 15 settings'],
] as const;

describe.skipIf(!verlPython)(`verl ${skipped}`, { timeout: PATIENCE_MS }, () => {
  it.each(ALGORITHMS)(
    'accepts the configuration, rows, reward and agent loop of %s',
    async (method, settings) => {
      const folder = path.join(root, method.replace(':', '-'));
      const { questions } = trainingExport();
      const numbers = await writeVerl(folder, trainingExport({ method }));
      expect(numbers).toEqual({ train: questions.length / 2, val: questions.length / 2 });
      const output = await runPython(verlPython!, ['check.py'], folder);
      expect(output).toContain(`configuration: ${settings} of the paper, accepted by verl\n`);
      for (const split of ['train', 'val'])
        expect(output).toContain(`dataset: ${questions.length / 2} rows of ${split}\n`);
      expect(output).toContain(
        "calls the reward, components ['decomposition', 'format', 'outcome', 'score', 'search_count']",
      );
      expect(output).toContain(
        'agent loop: 4 rollouts of policy information policy notice policy; mask, log-probs and rewards',
      );
      expect(output).toContain('All of it fits the installed verl.');
      expect(existsSync(path.join(folder, 'agent_loops.check.yaml'))).toBe(false);
    },
  );

  it('reads the configuration and overrides from the launch script', async () => {
    const folder = path.join(root, "it's a launch");
    await writeVerl(folder, trainingExport());
    const output = await runPython('sh', ['launch.sh', '--cfg', 'job', 'trainer.nnodes=3'], folder);
    expect(output).toContain(`root: ${folder}\n`);
    expect(output).toContain('  nnodes: 3\n');
    expect(output).toMatch(/reward_kwargs:\n +lambda_d: 0\.15\n/);
  });
});

describe.skipIf(process.platform === 'win32')('the launch script', () => {
  /** The text of a quoted value in Hydra's override grammar. */
  const readQuoted = (value: string): string => {
    const [, inner] = /^'((?:\\\\)*|[^]*?[^\\](?:\\\\)*)'$/.exec(value)!;
    // An unescaped quote would end the value.
    expect(inner.replace(/\\[^]/g, '')).not.toContain("'");
    return inner
      .replace(/(\\*)'/g, (_, escapes: string) => `${'\\'.repeat((escapes.length - 1) / 2)}'`)
      .replace(/\\+$/, (escapes) => escapes.slice(escapes.length / 2));
  };
  /** How OmegaConf reads a text: an escaped interpolation is text. */
  const resolve = (text: string): string => {
    expect(text).not.toMatch(/(?<!\\)\$\{/);
    return text.replaceAll('\\${', '${');
  };

  it.each(['plain', "it's a=b, (c) [d] {e}", 'Århus ~#"', '${HOME}', "back\\'slash", 'end\\'])(
    "quotes the folder in Hydra's grammar: %s",
    async (name) => {
      const folder = path.join(root, 'named', name);
      await writeVerl(folder, trainingExport({ model: 'my/${model}' }));
      const python = path.join(root, 'print-arguments');
      writeFileSync(python, '#!/bin/sh\nfor a in "$@"; do printf \'%s\\0\' "$a"; done\n', {
        mode: 0o755,
      });
      const script = path.join(folder, 'launch.sh');
      const args = execFileSync('sh', [script, 'trainer.nnodes=3'], {
        env: { ...process.env, PYTHON: python },
        encoding: 'utf8',
      }).split('\0');
      expect(args).toContain('trainer.nnodes=3');
      expect(args).toContain(path.join(folder, 'config'));
      const override = args.find((arg) => arg.startsWith('root='))!;
      expect(resolve(readQuoted(override.slice('root='.length)))).toBe(folder);
      const config = readFileSync(path.join(folder, 'config', 'train.yaml'), 'utf8');
      const [, model] = /^ +path: (".*")$/m.exec(config)!;
      expect(resolve(JSON.parse(model) as string)).toBe('my/${model}');
    },
  );
});

describe.skipIf(!verlPython)(`output of verl ${skipped}`, { timeout: PATIENCE_MS }, () => {
  const folder = path.join(root, 'trained');
  const questions = trainingExport().questions;
  beforeAll(async () => {
    await writeVerl(folder, trainingExport({ recordTokens: true }));
    const script = path.resolve(import.meta.dirname, 'verl_run.py');
    await runPython(verlPython!, [script, folder, MODEL], folder);
  }, PATIENCE_MS);

  it('is imported as rollouts with equal rewards', async () => {
    const run = path.join(root, 'run');
    const options = { folder: run, questions, method: 'parallelsearch', trainer: 'verl' };
    const imported = await importRollouts(readVerlRollouts(path.join(folder, 'rollouts')), options);
    const none = { numDifferent: 0, numUnscored: 0, numAmbiguous: 0, numUnknown: 0 };
    expect(imported).toEqual({ numSteps: 1, numRollouts: 4, ...none });
    const runs = linesOf(path.join(run, 'trajectories.jsonl')).map(parseTrajectory);
    for (const { segments, finish, questionType, rewards } of runs) {
      const kinds = segments.map(({ kind }) => kind).join(' ');
      expect(kinds).toBe('prompt policy information policy notice policy');
      expect(finish).toBe('answer');
      // A notice breaks the format.
      expect(rewards).toMatchObject({
        outcome: 1,
        format: -0.1,
        decomposition: questionType === 'parallelizable' ? 3 * 0.15 : 0,
      });
    }
  });

  it('has token ids that pass the audit', async () => {
    const tokens = path.join(folder, 'rollouts', 'tokens');
    const rows = readdirSync(tokens).flatMap((name) => linesOf(path.join(tokens, name)));
    expect(rows).toHaveLength(4);
    const tokenizer = await readTokenizer(MODEL);
    for (const row of rows.flatMap(readTokenRows)) {
      expect(row.format).toBe('verl');
      expect(auditRow(row, { tokenizer, template: null })).toMatchObject(CLEAN);
    }
  });

  it('is imported as merged weights', async () => {
    expect(() => findCheckpoint(path.join(folder, 'checkpoints'))).toThrow(
      'verl.model_merger merge',
    );
    const merged = findCheckpoint(path.join(folder, 'merged'))!;
    const model = path.join(root, 'model');
    await copyCheckpoint(merged, model);
    const [before, after] = await Promise.all(
      [MODEL, model].map((one) => readSafetensors(path.join(one, 'model.safetensors'))),
    );
    expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
    // verl saves bfloat16, with 8 bits of precision.
    const [were, are] = [before, after].map(
      (weights) => weights.get('model.layers.0.mlp.up_proj.weight')!.values,
    );
    for (const [i, value] of were.entries())
      if (i % 97 === 0) expect(Math.abs(are[i] - value)).toBeLessThanOrEqual(Math.abs(value) / 256);
    const vocabSize = (one: string): unknown =>
      (JSON.parse(readFileSync(path.join(one, 'config.json'), 'utf8')) as { vocab_size: number })
        .vocab_size;
    expect(vocabSize(model)).toBe(vocabSize(MODEL));
  });
});
