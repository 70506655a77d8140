import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openRetriever, setUp } from '../../lib/commands/common/setup.js';
import { runTrain, trainCommand } from '../../lib/commands/train.js';
import { readJson } from '../../lib/io/files.js';
import { CHECKPOINTS } from '../../lib/io/paths.js';
import { readPeftConfig } from '../../lib/policy/folders/policy-folders.js';
import { modelNames } from '../../lib/training/models.js';
import { temporaryFolder } from '../folder.js';
import { cases } from '../full.js';
import { tinyTraining } from '../training/tiny.js';
import { words } from './command-line.js';
import { linesOf, outputs, writeTinyWorld } from './tiny-world.js';

const root = temporaryFolder();
const printed = outputs();
const config = join(root, 'config.json');
const { model, data } = await writeTinyWorld(root);
const settings = { steps: 5, questionsPerStep: 2, groupSize: 2 };
const rollout = { maxSearchTurns: 1 };
writeFileSync(
  config,
  JSON.stringify(tinyTraining({ model: 'overruled', titleWeight: 0, rollout, settings })),
);

/** Trains into a folder with command-line options. */
async function train(folder: string, ...more: string[]): Promise<string> {
  const out = join(root, folder);
  const own = words`--config ${config} --model ${model} --data ${data} --backend wasm --out ${out}`;
  await trainCommand().parseAsync([...own, ...more], { from: 'user' });
  return out;
}

describe('train', () => {
  it('makes an adapter with settings from the command line', async () => {
    const run = await train('run', ...words`--seed 7 --steps 2 --lambda-s 0.5 --keep-steps 1`);
    expect(await readJson(join(run, 'adapter', 'train_config.json'))).toMatchObject({
      seed: 7,
      model,
      titleWeight: 0,
      rewards: { preset: 'paper', lambdaS: 0.5 },
      grpo: { steps: 2, questionsPerStep: 2 },
    });
    expect(linesOf(join(run, 'metrics.jsonl'))).toHaveLength(2);
    expect(['adapter-step-1', 'report.html'].map((name) => existsSync(join(run, name)))).toEqual([
      true,
      true,
    ]);
    expect(printed.stderr).toMatch(
      /\bparallelsearch from .*, seed 7, config \w+, into .*: 2 steps to do\n/,
    );
    expect(printed.stderr).toContain(`The adapter is in ${join(run, 'adapter')}`);
  });

  it("names the adapter's model with a path relative to the adapter", async () => {
    const adapter = join(await train('base', '--steps', '1'), 'adapter');
    const { base } = await readPeftConfig(adapter);
    expect([base, resolve(adapter, base!)]).toEqual(['../../model', model]);
  });

  it('repeats nothing if the run is finished, and rejects another run in its folder', async () => {
    const run = await train('again', '--steps', '1');
    await train('again', '--steps', '1');
    expect(linesOf(join(run, 'metrics.jsonl'))).toHaveLength(1);
    await expect(train('again', '--steps', '1', '--seed', '9')).rejects.toThrow(
      'Choose another folder',
    );
  });

  const files = [
    'config.json',
    'chat_template.jinja',
    'generation_config.json',
    'tokenizer.json',
    'tokenizer_config.json',
  ];
  it.each(files.slice(0, cases(2, 5)))(
    'does not resume if %s of the model has changed',
    async (name) => {
      await train('own', '--steps', '1');
      const file = join(model, name);
      const before = existsSync(file) ? readFileSync(file) : null;
      writeFileSync(file, before ? `${before.toString()}\n` : '{}');
      await expect(train('own', '--steps', '1')).rejects.toThrow('Choose another folder');
      if (before) writeFileSync(file, before);
      else rmSync(file);
    },
  );

  it('does not resume if a module that the reward imports has changed', async () => {
    const [file, module] = ['rewarding.mjs', 'scored.mjs'].map((name) => join(root, name));
    writeFileSync(
      file,
      `import { s } from './scored.mjs'; export default { name: 'own', weight: 0.5, score: () => s };`,
    );
    writeFileSync(module, 'export const s = 1;');
    const again = (): Promise<string> => train('imported', '--steps', '1', '--reward', file);
    await again();
    expect(printed.stderr).toMatch(/^Rewards: .*0\.5 × own$/m);
    await again();
    writeFileSync(module, 'export const s = 2;');
    await expect(again()).rejects.toThrow('Choose another folder');
  });

  it.each(['[]', 'null', '3', '"x"'])('rejects the configuration %s', async (json) => {
    const file = join(root, 'no-settings.json');
    writeFileSync(file, json);
    const options = { config: file, backend: 'wasm' } as const;
    const fault = `Expected settings such as {"method": "parallelsearch"} in ${file}, but got ${json}.`;
    await expect(runTrain({ ...options, dryRun: true })).rejects.toThrow(fault);
    await expect(setUp({ ...options, seed: 1, checkpoints: CHECKPOINTS })).rejects.toThrow(fault);
  });

  it('lists the known models and methods for unknown ones, and names missing files', async () => {
    const trainWith = (more: object): Promise<number> =>
      runTrain({ backend: 'wasm', out: root, ...more });
    await expect(trainWith({ model: 'inztruct' })).rejects.toThrow(
      `Expected one of ${modelNames().join(', ')}, or a folder in Hugging Face format, but got inztruct.`,
    );
    await expect(trainWith({ model: 'me/mine' })).rejects.toThrow(
      'hf download me/mine --local-dir models/mine',
    );
    await expect(trainWith({ model: import.meta.dirname })).rejects.toThrow('no config.json');
    const lost = { reward: ['none.mjs'], dryRun: true };
    await expect(trainWith(lost)).rejects.toThrow('none.mjs');
    await expect(trainWith({ method: 'mine' })).rejects.toThrow('Expected a method of lookup, r1,');
    await expect(trainWith({ retriever: 'bm52' })).rejects.toThrow(
      'Expected a retriever of bm25, exact, hnsw,',
    );
  });

  it('rejects different values of a setting, by --set or another option', async () => {
    const dryRun = (...set: string[]): Promise<number> =>
      runTrain({ backend: 'wasm', seed: 3, steps: 4, dryRun: true, set });
    await expect(dryRun('seed=2')).rejects.toThrow('one value of seed, but got 3 and 2');
    await expect(dryRun('grpo.steps=5')).rejects.toThrow('one value of grpo.steps');
    await expect(dryRun('grpo.epsilon=0.2', 'grpo.epsilon=0.3')).rejects.toThrow(
      'one value of grpo.epsilon, but got 0.2 and 0.3',
    );
    expect(await dryRun('seed=3', 'grpo.steps=4')).toBe(0);
    const asked = { backend: 'wasm', seed: 1, checkpoints: CHECKPOINTS } as const;
    await expect(setUp({ ...asked, topK: 3, set: ['rollout.topK=5'] })).rejects.toThrow(
      'one value of rollout.topK',
    );
  });

  it.each([
    ['bm25', { encoder: 'e5' }, 'dense retriever with --encoder, but got bm25'],
    ['http://127.0.0.1:9', { encoder: 'e5' }, 'dense retriever with --encoder'],
    ['exact', { analyzer: 'english' }, 'bm25 with --analyzer, but got exact'],
  ])('rejects options that retriever %s ignores: %j', async (name, more, reason) => {
    const opened = openRetriever({ data, ...more }, { name, options: {} });
    await expect(opened).rejects.toThrow(reason);
  });

  it('rejects --port without --watch', async () => {
    await expect(train('unwatched', '--port', '9000')).rejects.toThrow('Expected --watch');
  });

  it('rejects invalid values of options', async () => {
    const parse = (...args: string[]): Promise<unknown> =>
      trainCommand().exitOverride().parseAsync(args, { from: 'user' });
    await expect(parse('--steps', '0')).rejects.toThrow('an integer >= 1');
    await expect(parse('--lambda-d', '-1')).rejects.toThrow('a number >= 0');
    await expect(parse('--prompt-form', 'tools')).rejects.toThrow('choices are short, full, chat');
  });
});
