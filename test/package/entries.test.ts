/** The three entry points: their names and sizes, and that Node and tslab find them. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, it, vi } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { codeCells, joinLines } from '../../lib/notebook/nbformat.js';
import { runNotebook } from '../../lib/notebook/runner.js';
import { temporaryFolder } from '../folder.js';
import { slow } from '../full.js';
import { code, writeCells } from '../notebook/notebooks.js';

// A kernel starts in two seconds on an idle machine, much slower on a busy one.
vi.setConfig({ testTimeout: 180_000 });

/** Package names, and paths from the notebooks' folder. */
const ENTRIES = [
  ['parallelsearch', '../dist/index.js'],
  ['parallelsearch/report', '../dist/report/index.js'],
  ['parallelsearch/experiments', '../dist/experiments/index.js'],
];
const MAX_NAMES = 120;
const isBuilt = existsSync(packagePath('dist', 'index.js'));
const folder = temporaryFolder();

/** Names that a module exports, including types. */
function exportedNames(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  return source.statements.flatMap((statement) => {
    const clause = ts.isExportDeclaration(statement) ? statement.exportClause : undefined;
    if (!clause || !ts.isNamedExports(clause))
      throw new Error(`Expected named exports in ${file} only.`);
    return clause.elements.map(({ name }) => name.text);
  });
}

it(`the main entry has at most ${MAX_NAMES} names, all different from the others'`, () => {
  const files = ['index.ts', 'report/index.ts', 'experiments/index.ts'];
  const names = files.map((file) => exportedNames(packagePath('lib', file)));
  expect(names[0].length).toBeLessThanOrEqual(MAX_NAMES);
  const all = names.flat();
  expect(all.filter((name, i) => all.indexOf(name) !== i)).toEqual([]);
});

/** Files loaded by importing a file of `lib/`, and packages by name. */
function loadedFiles(entry: string): Set<string> {
  const loaded = new Set([packagePath('lib', entry)]);
  const imports = /^(?:import|export) (?!type )(?:[^'";]*? from )?'([^']+)';/gm;
  for (const file of loaded) {
    if (!path.isAbsolute(file)) continue;
    const pathOf = (name: string) => path.resolve(path.dirname(file), name.replace(/js$/, 'ts'));
    for (const [, name] of readFileSync(file, 'utf8').matchAll(imports))
      loaded.add(name.startsWith('.') ? pathOf(name) : name);
  }
  return loaded;
}

it.each(['ask.ts', 'evaluate/command.ts'])(
  '%s does not load TensorFlow.js before it needs a local policy',
  (file) => {
    const packages = [...loadedFiles(`commands/${file}`)].filter((file) => !path.isAbsolute(file));
    expect(packages.filter((file) => file.includes('tfjs'))).toEqual([]);
  },
);

describe.skipIf(!isBuilt)('the entries (needs dist/)', () => {
  it('can be imported by name in Node', () => {
    const names = JSON.stringify(ENTRIES.map(([name]) => name));
    const print = `(modules) => console.log(modules.every((some) => Object.keys(some).length > 0))`;
    const args = ['-e', `Promise.all(${names}.map((name) => import(name))).then(${print})`];
    expect(execFileSync(process.execPath, args, { cwd: packagePath() }).toString()).toBe('true\n');
  });

  it('can be imported by name in the repository’s notebooks', () => {
    const found = createRequire(packagePath('notebooks', 'own.ipynb'));
    for (const [name, file] of ENTRIES)
      expect(found.resolve(name)).toBe(packagePath(file.replace('../', '')));
  });

  slow('are found by tslab as the same module by name and by path (needs test:full)', async () => {
    for (const name of ['node_modules', 'notebooks']) mkdirSync(path.join(folder, name));
    symlinkSync(packagePath(), path.join(folder, 'node_modules', 'parallelsearch'), 'junction');
    symlinkSync(packagePath('dist'), path.join(folder, 'dist'), 'junction');
    const cells = ENTRIES.map(([name, file], i) =>
      code(`import * as a${i} from '${name}';
import * as b${i} from '${file}';
const [key${i}] = Object.keys(a${i}) as (keyof typeof a${i})[];
console.log(Object.keys(a${i}).length > 0, a${i}[key${i}] === b${i}[key${i}]);`),
    );
    const file = writeCells(path.join(folder, 'notebooks', 'entries.ipynb'), ...cells);
    const { notebook } = await runNotebook(file, { log: () => undefined });
    const shown = codeCells(notebook).map(({ outputs: [output] }) =>
      output?.output_type === 'stream' ? joinLines(output.text) : '',
    );
    expect(shown).toEqual(ENTRIES.map(() => 'true true\n'));
  });
});
