/**
 * The same seed gives the same bytes on wasm, on any version of Node and with any number
 * of concurrent processes.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../lib/io/provenance.js';
import { isBuilt, runCommand, runProcess, words } from '../commands/command-line.js';
import { writeTinyWorld } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { slow } from '../full.js';
import { tinyTraining } from './tiny.js';

/** Hash of a training of two steps, on every tested version of Node. */
const EXPECTED = '42be3fd5d01d29147c5fa47c326160e1b4798364194da77c5cffb511a29dc1ec';

describe.skipIf(!isBuilt)('a training on wasm (needs dist/)', () => {
  const root = temporaryFolder();
  beforeAll(async () => {
    await writeTinyWorld(root);
    const config = tinyTraining({ model: 'model', settings: { steps: 2 } });
    writeFileSync(join(root, 'config.json'), JSON.stringify(config));
  });

  const train = async (out: string, processes: number, run = runProcess): Promise<string> => {
    const asked = words`train --config config.json --model model --data data --backend wasm`;
    const own = words`--processes ${String(processes)} --out ${out}`;
    const { code, stderr } = await run([...asked, ...own], root);
    expect(code, stderr).toBe(0);
    const bytes = ['adapter/adapter_model.safetensors', 'trajectories.jsonl'].map((name) =>
      readFileSync(join(root, out, name)),
    );
    return sha256(Buffer.concat(bytes));
  };

  it('gives the committed bytes', async () => {
    expect(await train('alone', 1, runCommand)).toBe(EXPECTED);
  });

  slow('and so do two at a time, one of them in two processes (needs test:full)', async () => {
    expect(await Promise.all([train('one', 1), train('two', 2)])).toEqual([EXPECTED, EXPECTED]);
  });
});
