/**
 * Policies of the small world on other data: rejected, or replaced by a language model.
 */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { askCommand } from '../../lib/commands/ask.js';
import { openRetriever, policyFolders, setUp } from '../../lib/commands/common/setup.js';
import { runEvaluate } from '../../lib/commands/evaluate/command.js';
import { playgroundCommand } from '../../lib/commands/playground.js';
import { runSweep } from '../../lib/commands/sweep.js';
import { runTrain } from '../../lib/commands/train.js';
import { CHECKPOINTS } from '../../lib/io/paths.js';
import { listFolders } from '../../lib/policy/folders/policy-folders.js';
import { temporaryFolder } from '../folder.js';
import { isBuilt, runCommand, words } from './command-line.js';
import { captured, writeOwnData } from './tiny-world.js';

// The base of a trained model is not made here.
vi.mock(import('../../lib/policy/folders/model-folder.js'), async (original) => ({
  ...(await original()),
  prepareTrainedModel: async (name: string) => {
    return { model: `${name}/base`, adapter: `${name}/adapter` };
  },
}));

const root = temporaryFolder();
const data = join(root, 'own');
writeOwnData(data, { type: 'comparison' });

const MODEL = 'instruct-1';
const ADAPTER = join(CHECKPOINTS, 'instruct-1-parallelsearch-seed1');
const spec = { seed: 1, checkpoints: CHECKPOINTS, backend: 'wasm', data } as const;
const REFUSED =
  /instruct-1 only knows .* small world: use --model smollm2-parallelsearch or --policy/;

describe('a policy of the small world on other data', () => {
  it('is not asked or evaluated, not even a copy', async () => {
    const ask = (...args: string[]): Promise<unknown> =>
      askCommand().parseAsync(['Who?', '--data', data, ...args], { from: 'user' });
    await expect(ask('--model', MODEL)).rejects.toThrow(REFUSED);
    await expect(ask('--adapter', ADAPTER)).rejects.toThrow(REFUSED);
    await expect(runEvaluate({ ...spec, model: MODEL, batchSize: 1 })).rejects.toThrow(REFUSED);
    const copy = join(root, 'copy');
    cpSync(join(CHECKPOINTS, MODEL), copy, { recursive: true });
    await expect(policyFolders({ ...spec, model: copy })).rejects.toThrow('copy only knows');
  });

  it('is not trained, not even by a sweep', async () => {
    const another =
      /small world: use `export hf .*--model smollm2-parallelsearch` and --model models/;
    await expect(runTrain({ data, out: join(root, 'run'), backend: 'wasm' })).rejects.toThrow(
      another,
    );
    const config = join(root, 'sweep.json');
    writeFileSync(config, JSON.stringify({ sweep: { seed: [1, 2] } }));
    captured('stderr');
    await expect(
      runSweep(config, { data, out: join(root, 'sweep'), backend: 'wasm' }),
    ).rejects.toThrow(another);
  });

  it('is not packed into a playground', async () => {
    const playground = playgroundCommand().parseAsync(['--data', data, '--out-dir', root], {
      from: 'user',
    });
    await expect(playground).rejects.toThrow(/small world: use `ask .*smollm2-parallelsearch/);
  });

  it("is used if forced, or if the data are the small world's", async () => {
    const folders = { model: join(CHECKPOINTS, MODEL), adapter: ADAPTER };
    expect(await policyFolders({ ...spec, model: MODEL, force: true })).toEqual(folders);
    expect(await policyFolders({ ...spec, data: undefined })).toEqual(folders);
  });

  it.each([
    ['exact', data, /compares spellings/],
    ['exact', undefined, /^$/],
    ['bm25', data, /^$/],
  ])('warns of an unsuitable encoder: %s', async (name, folder, warning) => {
    const logged = captured('stderr');
    await openRetriever({ data: folder }, { name, options: {} });
    expect(logged()).toMatch(warning);
  });

  it.skipIf(!isBuilt).each([
    ['exact', /compares spellings/],
    ['bm25', /^(?!.*spellings)/s],
  ])('warns of an unsuitable encoder in data check: %s (needs dist/)', async (name, warning) => {
    const { stderr } = await runCommand(['data', 'check', data, '--retriever', name]);
    expect(stderr).toMatch(warning);
  });

  it.skipIf(!isBuilt)(
    'ends the command with one sentence and exit code 1 (needs dist/)',
    async () => {
      const { code, stdout, stderr } = await runCommand(
        words`ask Who? --data ${data} --model ${MODEL}`,
      );
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(REFUSED);
      expect(stderr.trim().split('\n')).toHaveLength(1);
      const check = await runCommand(['data', 'check', data]);
      expect(check.stdout).toMatch(
        /--model smollm2-parallelsearch .* --policy .* only know the small world/,
      );
    },
  );
});

describe('without a model, other data use a trained language model', () => {
  const names = async (more: object): Promise<string[]> =>
    listFolders(await policyFolders({ ...spec, ...more }));

  it('of the given method', async () => {
    expect(await names({})).toEqual([
      'smollm2-parallelsearch/base',
      'smollm2-parallelsearch/adapter',
    ]);
    expect(await names({ method: 'search-r1' })).toEqual([
      'smollm2-search-r1/base',
      'smollm2-search-r1/adapter',
    ]);
  });

  it('without its adapter for an untrained method', async () => {
    const model = 'smollm2-search-r1';
    expect(await names({ model, method: 'untrained:parallel' })).toEqual([`${model}/base`]);
  });

  it('by names that an unknown name lists, or a command that makes the model', async () => {
    await expect(names({ model: 'smollm2-parallel' })).rejects.toThrow(
      /Expected one of smollm2-parallelsearch, smollm2-search-r1, base-1, .*but got smollm2-parallel\.$/,
    );
    for (const model of ['smollm2-135m-instruct', 'absent/smollm2-135m-instruct'])
      await expect(names({ model })).rejects.toThrow(
        /Use `npx parallelsearch model smollm2-135m-instruct`/,
      );
  });

  it('never with another adapter', async () => {
    const model = 'smollm2-search-r1';
    await expect(names({ model, adapter: ADAPTER })).rejects.toThrow('Leave out --model');
  });
});

it('a model with an adapter is not trained', async () => {
  const training = runTrain({ model: 'smollm2-parallelsearch', data, backend: 'wasm' });
  await expect(training).rejects.toThrow('export hf models/smollm2-parallelsearch');
});

it('a committed policy is asked as it was trained', async () => {
  captured('stderr');
  const { rollout, policy } = await setUp({ ...spec, data: undefined, topK: 2 });
  policy.dispose?.();
  expect(rollout).toMatchObject({ promptForm: 'short', maxNewTokens: 160, topK: 2 });
});

it.each([
  ['missing model', {}],
  ['completions API', { policy: 'http://127.0.0.1:9/v1' }],
])('rejects tool calls of a %s before opening it', async (_, more) => {
  const refused = setUp({ ...spec, model: 'none', ...more, promptForm: 'tools' });
  await expect(refused).rejects.toThrow(/can't call tools.*--prompt-form chat/);
});
