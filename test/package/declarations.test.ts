/** Compiling against the entries needs only this package's dependencies. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { isFull } from '../full.js';

const ENTRIES = ['index.d.ts', 'report/index.d.ts', 'experiments/index.d.ts'];
const isBuilt = existsSync(packagePath('dist', 'index.d.ts'));
const { dependencies } = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
};

/** Packages that declarations import, except those under a `@ts-ignore`. */
function importedPackages(entries: readonly string[]): string[] {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(file, 'utf8').replace(/\/\*\* @ts-ignore .*\*\/\n.*/g, '');
    for (const { fileName } of ts.preProcessFile(text).importedFiles)
      if (fileName.startsWith('.'))
        visit(path.join(path.dirname(file), fileName.replace(/\.js$/, '.d.ts')));
      else packages.add(fileName);
  };
  entries.forEach(visit);
  return [...packages];
}

it.skipIf(!isBuilt)('only import types of dependencies (needs dist/)', () => {
  const packages = importedPackages(ENTRIES.map((entry) => packagePath('dist', entry)));
  expect(packages).toContain('zod');
  expect(packages.filter((name) => !(name in dependencies))).toEqual([]);
  expect(packages.filter((name) => name.startsWith('@tensorflow/'))).toEqual([]);
});

// The report entry reaches danfojs-node if it is installed, as here.
it.skipIf(!isBuilt).each(isFull ? ['typescript7', 'typescript'] : ['typescript7'])(
  'pass %s with the DOM library, without skipLibCheck (needs dist/)',
  (compiler) => {
    const options = '--strict --noEmit --skipLibCheck false --target es2022 --module nodenext';
    const tsc = [packagePath(`node_modules/${compiler}/bin/tsc`), packagePath('dist/index.d.ts')];
    const types = ['--types', 'node', '--typeRoots', packagePath('node_modules/@types')];
    const args = [...tsc, ...types, ...options.split(' ')];
    const { status, stdout } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      cwd: tmpdir(),
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  },
);
