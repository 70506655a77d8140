/** The layers of lib/: the rules name every folder and catch violations. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { temporaryFolder } from '../folder.js';
import { slow } from '../full.js';

const CONFIG = packagePath('.dependency-cruiser.mjs');
const TOOL = packagePath('node_modules', 'dependency-cruiser', 'bin', 'dependency-cruise.mjs');
const folder = temporaryFolder();

/** Violations in a lib/ of files, each given by its imports. */
async function findViolations(files: Record<string, readonly string[]>): Promise<string[]> {
  const root = mkdtempSync(path.join(folder, 'project-'));
  writeFileSync(path.join(root, 'tsconfig.json'), '{"compilerOptions": {"module": "NodeNext"}}');
  for (const [name, imports] of Object.entries(files)) {
    const file = path.join(root, 'lib', name);
    mkdirSync(path.dirname(file), { recursive: true });
    const lines = imports.map((from) => `import type { A } from '${from}';\n`);
    writeFileSync(file, `${lines.join('')}export type B = number;\n`);
  }
  const args = [TOOL, 'lib', '--config', CONFIG, '--output-type', 'json'];
  const stdout = await new Promise<string>((resolve) =>
    execFile(process.execPath, args, { cwd: root }, (_, text) => resolve(text)),
  );
  const { summary } = JSON.parse(stdout) as {
    summary: { violations: { rule: { name: string }; from: string }[] };
  };
  return summary.violations.map(({ rule, from }) => `${from}: ${rule.name}`).sort();
}

slow(
  'rejects imports from above or from a sibling, cycles, and Node in browser code (needs test:full)',
  async () => {
    const violations = await findViolations({
      'text/tags.ts': ['node:fs'],
      'rewards/upwards.ts': ['../training/grpo.js'],
      'training/grpo.ts': ['./loss.js', '../evaluation/metrics.js'],
      'training/loss.ts': ['./grpo.js'],
      'evaluation/metrics.ts': ['../io/files.js'],
      'io/files.ts': ['node:crypto'],
    });
    expect(violations).toEqual([
      'lib/rewards/upwards.ts: not-above-rewards',
      'lib/text/tags.ts: browser-needs-no-node',
      'lib/training/grpo.ts: no-circles',
      'lib/training/grpo.ts: training-by-itself',
    ]);
  },
);

it('lists every folder and file of lib/', async () => {
  const { LAYERS } = (await import(CONFIG)) as { LAYERS: string[][] };
  expect(readdirSync(packagePath('lib')).sort()).toEqual(LAYERS.flat().sort());
});
