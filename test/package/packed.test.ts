/** The package that `npm pack` makes, and its use in an empty project. */
import { execFileSync, spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import ts from 'typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { words } from '../commands/command-line.js';
import { temporaryFolder } from '../folder.js';
import { isFull } from '../full.js';

const MB = 1e6;
const MOST = { tarballBytes: 22 * MB, installedBytes: 160 * MB, packages: 150 };

interface Packed {
  filename: string;
  size: number;
  files: { path: string }[];
}
interface Manifest {
  version: string;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
}
const manifest = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as Manifest;

// The package's weights, not the tests' stand-ins.
const { PARALLELSEARCH_CHECKPOINTS: _, ...env } = process.env;

const npm = (args: readonly string[], cwd: string): string =>
  execFileSync('npm', [...args, '--loglevel=error'], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * MB,
    shell: process.platform === 'win32',
  });
const pack = (...args: string[]): Packed =>
  (JSON.parse(npm(['pack', '--json', '--ignore-scripts', ...args], packagePath())) as Packed[])[0];

describe('npm pack', () => {
  let packed: Packed;
  beforeAll(() => void (packed = pack('--dry-run')));

  it(`stays under ${MOST.tarballBytes / MB} MB`, () => {
    expect(packed.size).toBeLessThan(MOST.tarballBytes);
  });
  it('has the target of every link of its pages', () => {
    const paths = packed.files.map((file) => file.path);
    for (const page of paths.filter((file) => /^(README|docs\/.*)\.md$/.test(file))) {
      const links = readFileSync(packagePath(page), 'utf8').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g);
      for (const [, target] of links)
        expect(paths, `${page}: ${target}`).toContain(path.posix.join(path.dirname(page), target));
    }
  });
  it('has no source map, as it has no sources', () => {
    expect(packed.files.filter(({ path: file }) => file.endsWith('.map'))).toEqual([]);
  });
  it('contains the data and only the first models and runs', () => {
    const paths = packed.files.map((file) => file.path);
    for (const file of [
      'small-world/passages.jsonl',
      'small-world/questions.jsonl',
      'encoder/encoder.json',
    ])
      expect(paths).toContain(`data/${file}`);
    const folders = paths.flatMap(
      (file) => /^data\/checkpoints\/([^/]+)\/.*safetensors$/.exec(file)?.[1] ?? [],
    );
    expect([...new Set(folders)].sort()).toEqual(
      ['base-1', 'instruct-1'].flatMap((model) => [
        model,
        `${model}-parallelsearch-seed1`,
        `${model}-search-r1-seed1`,
      ]),
    );
  });
});

describe('dependencies', () => {
  const packageOf = (name: string): string => /^(@[^/]+\/)?[^/]+/.exec(name)![0];
  const sources = readdirSync(packagePath('lib'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .map((file) => readFileSync(packagePath('lib', file), 'utf8'));
  const imported = new Set(
    sources
      .flatMap(
        (text) =>
          ts.preProcessFile(text.replace(/\/\*\* @ts-ignore .*\*\/\n.*/g, '')).importedFiles,
      )
      .map(({ fileName }) => fileName)
      .filter((name) => !/^[.#]/.test(name) && !isBuiltin(name))
      .map(packageOf),
  );

  it('are exactly what lib/ imports, apart from optional peers', () => {
    const optional = Object.keys(manifest.peerDependencies);
    const others = [...imported].filter((name) => !(name in manifest.dependencies));
    expect(others.filter((name) => !optional.includes(name) && name !== 'typescript')).toEqual([]);
    expect(Object.keys(manifest.dependencies).filter((name) => !imported.has(name))).toEqual([]);
  });
});

/** Bytes of a folder's files, without links. */
const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + lstatSync(path.join(entry.parentPath, entry.name)).size, 0);

/** Why the registry is unreachable, or null. */
function registryFailure(): string | null {
  const { status, stderr } = spawnSync('npm', ['view', 'zod', 'version'], {
    encoding: 'utf8',
    timeout: 60_000,
    shell: process.platform === 'win32',
  });
  return status === 0
    ? null
    : `the npm registry, which does not answer: ${stderr.trim().split('\n').at(-1)}`;
}

const skipped = isFull ? registryFailure() : 'test:full';

describe.skipIf(skipped !== null)(`in an empty project (needs ${skipped})`, () => {
  const project = path.join(temporaryFolder(), 'empty');
  const inProject = (...parts: string[]): string => path.join(project, ...parts);
  /** Exit code and all output of a program in the project. */
  const run = (program: string, ...args: string[]): { code: number | null; output: string } => {
    const { status, stdout, stderr } = spawnSync(program, args, {
      cwd: project,
      env,
      encoding: 'utf8',
      timeout: 300_000,
      shell: process.platform === 'win32',
    });
    return { code: status, output: `${stdout}${stderr}` };
  };
  const cli = (...args: string[]) =>
    run(process.execPath, inProject('node_modules/parallelsearch/dist/cli.js'), ...args);

  beforeAll(() => {
    mkdirSync(project);
    writeFileSync(
      inProject('package.json'),
      '{"name": "empty", "private": true, "type": "module"}',
    );
    const { filename } = pack('--pack-destination', path.dirname(project));
    npm(
      ['install', '--no-audit', '--no-fund', path.join(path.dirname(project), filename)],
      project,
    );
  }, 600_000);

  it('installs few and small packages without a build', () => {
    const { packages } = JSON.parse(
      readFileSync(inProject('node_modules/.package-lock.json'), 'utf8'),
    ) as { packages: Record<string, { resolved?: string; hasInstallScript?: boolean }> };
    const installed = Object.entries(packages);
    const elsewhere = installed.filter(
      ([name, { resolved = '' }]) =>
        name !== 'node_modules/parallelsearch' && /^(git|file)|cdn\./.test(resolved),
    );
    const megabytes = bytesIn(inProject('node_modules')) / MB;
    console.log(`${installed.length} packages, ${megabytes.toFixed(1)} MB`);
    expect(installed.length).toBeLessThan(MOST.packages);
    expect(megabytes).toBeLessThan(MOST.installedBytes / MB);
    expect(elsewhere).toEqual([]);
    expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  });

  it('runs commands', () => {
    expect(run('npx', 'parallelsearch', '--help')).toMatchObject({
      code: 0,
      output: expect.stringContaining('doctor') as string,
    });
    const asked = cli('ask', 'In which city was Rita Cole born?', '--backend', 'wasm');
    expect(asked).toMatchObject({ code: 0, output: expect.stringContaining('Answer: ') as string });
    const evaluated = cli(
      ...words`evaluate --split dev --limit 2 --backend wasm --trajectories some.jsonl`,
    );
    expect(evaluated).toMatchObject({ code: 0, output: expect.stringContaining(' EM ') as string });
    expect(cli('score', 'some.jsonl').code).toBe(0);
    expect(cli('view', 'some.jsonl', '--out', 'some.html').code).toBe(0);
    expect(cli('playground').output).toContain(inProject('reports', 'playground.html'));
    expect(readdirSync(project)).toEqual(expect.arrayContaining(['some.html', 'reports']));
    expect(cli('doctor', '--json').output).toContain('"ok": true');
    mkdirSync(inProject('own'));
    writeFileSync(
      inProject('own', 'corpus.jsonl'),
      '{"id": "1", "contents": "Red River\\nBy Howard Hawks."}\n',
    );
    const question =
      '{"id": "q", "question": "Who made Red River?", "golden_answers": ["Howard Hawks"]}\n';
    writeFileSync(inProject('own', 'questions.jsonl'), question);
    const checked = cli('data', 'check', 'own');
    expect(checked.code, checked.output).toBe(0);
    const trained = cli('train', '--steps', '1', '--out', 'run', '--backend', 'wasm');
    expect(trained.code, trained.output).toBe(0);
    expect(readdirSync(inProject('run'))).toContain('adapter');
  }, 900_000);

  it('starts a project whose npm install, npm start and npm test pass', () => {
    expect(cli('init', 'own-search')).toMatchObject({ code: 0 });
    const own = inProject('own-search');
    npm(['install', '--no-audit', '--no-fund'], own);
    const [version] = /\d+\.\d+/.exec(manifest.devDependencies.typescript)!;
    expect(npm(['exec', '-c', 'tsc --version'], own)).toContain(`Version ${version}`);
    npm(['start'], own);
    expect(readdirSync(own)).toContain('report.html');
    expect(npm(['test'], own)).toContain('# pass 1\n');
  }, 1_800_000);

  it('says what is missing and how to get it', () => {
    const told = (...args: string[]): string => {
      const { code, output } = cli(...args);
      expect(code).toBe(1);
      return output;
    };
    expect(told('reproduce')).toContain('Expected a clone of the repository');
    expect(told('ask', 'Who?', '--model', 'base-2')).toContain('PARALLELSEARCH_CHECKPOINTS');
    expect(told('ask', 'Who?', '--retriever', 'hnsw')).toContain('npm install hnswlib-node@');
    expect(told('ask', 'Who?', '--backend', 'native')).toContain(
      'npm install @tensorflow/tfjs-node-gpu@',
    );
    const notebook = inProject('node_modules/parallelsearch/notebooks/00-first-steps.ipynb');
    expect(told('notebook', 'run', notebook)).toContain('npm install tslab@');
  }, 300_000);

  it.each(['5.8', '7.0'])(
    'compiles strictly with tsc %s and runs the docs’ program',
    (version) => {
      const compilers = [`typescript@${version}`, '@types/node@20'];
      npm(['install', '--no-audit', '--no-fund', '--save-dev', ...compilers], project);
      expect(run('npx', 'tsc', '--version').output).toContain(`Version ${version}`);
      const program = readFileSync(packagePath('docs', 'library.md'), 'utf8')
        .split('```ts\n')
        .map((block) => block.split('```')[0])
        .find((block) => block.includes('rollOut('))!;
      const also = `
import { createFrame, table, type Table } from 'parallelsearch/report';
import { EXPERIMENTS } from 'parallelsearch/experiments';
const rows = [{ method: 'parallelsearch', benchmark: 'nq', metric: 'em', value: 1, low: 0, high: 1 }];
const shown: Table = table(rows, { caption: 'One row.', rows: ['method'], columns: ['benchmark'] });
console.log(shown.cells.rows.length, EXPERIMENTS.length);
try { createFrame(rows); } catch (error) { console.log((error as Error).message); }
`;
      writeFileSync(inProject('program.ts'), program + also);
      const strict = ['--strict', '--skipLibCheck', 'false', '--target', 'es2022', 'program.ts'];
      for (const [kind, resolution, out] of [
        ['esnext', 'bundler', ['--noEmit']],
        ['nodenext', 'nodenext', []],
      ] as const) {
        const modules = ['--module', kind, '--moduleResolution', resolution, '--types', 'node'];
        const { code, output } = run('npx', 'tsc', ...strict, ...modules, ...out);
        expect(code, output).toBe(0);
      }
      const { code, output } = run(process.execPath, 'program.js');
      expect(code, output).toBe(0);
      expect(output).toMatch(/<search>.*→ /s);
      expect(output).toContain('npm install danfojs-node@');
    },
    600_000,
  );
});
