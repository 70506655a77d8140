/** The package made by `npm pack`, and its use in an empty project. */
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

/** Options of every process. */
const TEXT = { encoding: 'utf8', shell: process.platform === 'win32' } as const;
const npm = (args: readonly string[], cwd: string): string =>
  execFileSync('npm', [...args, '--loglevel=error'], {
    ...TEXT,
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * MB,
  });
const INSTALL = ['install', '--no-audit', '--no-fund'];
const pack = (...args: string[]): Packed =>
  (JSON.parse(npm(['pack', '--json', '--ignore-scripts', ...args], packagePath())) as Packed[])[0];

describe('npm pack', () => {
  let packed: Packed;
  beforeAll(() => void (packed = pack('--dry-run')));

  it(`stays under ${MOST.tarballBytes / MB} MB`, () => {
    expect(packed.size).toBeLessThan(MOST.tarballBytes);
  });
  it('contains the target of every link in its pages', () => {
    const paths = packed.files.map((file) => file.path);
    for (const page of paths.filter((file) => /^(README|docs\/.*)\.md$/.test(file))) {
      const links = readFileSync(packagePath(page), 'utf8').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g);
      for (const [, target] of links)
        expect(paths, `${page}: ${target}`).toContain(path.posix.join(path.dirname(page), target));
    }
  });
  it('contains no source maps, because it has no sources', () => {
    expect(packed.files.filter(({ path: file }) => file.endsWith('.map'))).toEqual([]);
  });
  it('contains the data, but only the first models and runs', () => {
    const paths = packed.files.map((file) => file.path);
    for (const file of words`small-world/passages.jsonl small-world/questions.jsonl encoder/encoder.json`)
      expect(paths).toContain(`data/${file}`);
    const weights = /^data\/checkpoints\/([^/]+)\/.*safetensors$/;
    const folders = paths.flatMap((file) => weights.exec(file)?.[1] ?? []);
    const runs = ['', '-parallelsearch-seed1', '-search-r1-seed1'];
    expect([...new Set(folders)].sort()).toEqual(
      ['base-1', 'instruct-1'].flatMap((model) => runs.map((run) => `${model}${run}`)),
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
      .map((text) => text.replace(/\/\*\* @ts-ignore .*\*\/\n.*/g, ''))
      .flatMap((text) => ts.preProcessFile(text).importedFiles)
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
  const options = { ...TEXT, timeout: 60_000 };
  const { status, stderr } = spawnSync('npm', ['view', 'zod', 'version'], options);
  const said = stderr.trim().split('\n').at(-1);
  return status === 0 ? null : `the npm registry, which does not answer: ${said}`;
}

const skipped = isFull ? registryFailure() : 'test:full';

describe.skipIf(skipped !== null)(`in an empty project (needs ${skipped})`, () => {
  const project = path.join(temporaryFolder(), 'empty');
  const inProject = (...parts: string[]): string => path.join(project, ...parts);
  const write = (name: string, text: string): void => {
    mkdirSync(path.dirname(inProject(name)), { recursive: true });
    writeFileSync(inProject(name), text);
  };
  /** Exit code and all output of a program in the project. */
  const run = (program: string, ...args: string[]): { code: number | null; output: string } => {
    const options = { ...TEXT, cwd: project, env, timeout: 300_000 };
    const { status, stdout, stderr } = spawnSync(program, args, options);
    return { code: status, output: `${stdout}${stderr}` };
  };
  const cli = (...args: string[]) =>
    run(process.execPath, inProject('node_modules/parallelsearch/dist/cli.js'), ...args);

  beforeAll(() => {
    write('package.json', '{"name": "empty", "private": true, "type": "module"}');
    const { filename } = pack('--pack-destination', path.dirname(project));
    npm([...INSTALL, path.join(path.dirname(project), filename)], project);
  }, 600_000);

  it('installs few and small packages without a build', () => {
    type Installed = Record<string, { resolved?: string; hasInstallScript?: boolean }>;
    const text = readFileSync(inProject('node_modules/.package-lock.json'), 'utf8');
    const installed = Object.entries((JSON.parse(text) as { packages: Installed }).packages);
    const others = installed.filter(([name]) => name !== 'node_modules/parallelsearch');
    const elsewhere = others.filter(([, p]) => /^(git|file)|cdn\./.test(p.resolved ?? ''));
    const megabytes = bytesIn(inProject('node_modules')) / MB;
    console.log(`${installed.length} packages, ${megabytes.toFixed(1)} MB`);
    expect(installed.length).toBeLessThan(MOST.packages);
    expect(megabytes).toBeLessThan(MOST.installedBytes / MB);
    expect(elsewhere).toEqual([]);
    expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  });

  it('runs commands', () => {
    const said = (text: string): object => ({
      code: 0,
      output: expect.stringContaining(text) as string,
    });
    expect(run('npx', 'parallelsearch', '--help')).toEqual(said('doctor'));
    const asked = cli('ask', 'In which city was Rita Cole born?', '--backend', 'wasm');
    expect(asked).toEqual(said('Answer: '));
    const evaluate = words`evaluate --split dev --limit 2 --backend wasm --trajectories some.jsonl`;
    expect(cli(...evaluate)).toEqual(said(' EM '));
    expect(cli('score', 'some.jsonl').code).toBe(0);
    expect(cli('view', 'some.jsonl', '--out', 'some.html').code).toBe(0);
    expect(cli('playground').output).toContain(inProject('reports', 'playground.html'));
    expect(readdirSync(project)).toEqual(expect.arrayContaining(['some.html', 'reports']));
    expect(cli('doctor', '--json').output).toContain('"ok": true');
    write('own/corpus.jsonl', '{"id": "1", "contents": "Red River\\nBy Howard Hawks."}\n');
    const asking =
      '{"id": "q", "question": "Who made Red River?", "golden_answers": ["Howard Hawks"]}';
    write('own/questions.jsonl', `${asking}\n`);
    const checked = cli('data', 'check', 'own');
    expect(checked.code, checked.output).toBe(0);
    const trained = cli('train', '--steps', '1', '--out', 'run', '--backend', 'wasm');
    expect(trained.code, trained.output).toBe(0);
    expect(readdirSync(inProject('run'))).toContain('adapter');
  }, 900_000);

  it('starts a project whose npm install, npm start and npm test pass', () => {
    expect(cli('init', 'own-search')).toMatchObject({ code: 0 });
    const own = inProject('own-search');
    npm(INSTALL, own);
    const [version] = /\d+\.\d+/.exec(manifest.devDependencies.typescript)!;
    expect(npm(['exec', '-c', 'tsc --version'], own)).toContain(`Version ${version}`);
    npm(['start'], own);
    expect(readdirSync(own)).toContain('report.html');
    expect(npm(['test'], own)).toContain('# pass 1\n');
  }, 1_800_000);

  it('reports what is missing with a remedy', () => {
    const told = (...args: string[]): string => {
      const { code, output } = cli(...args);
      expect(code).toBe(1);
      return output;
    };
    expect(told('export', 'reports', 'main-results', '--out', 'x')).toContain('A clone of');
    expect(told('reproduce')).toContain('Expected a clone of the repository');
    expect(told('ask', 'Who?', '--model', 'base-2')).toContain('PARALLELSEARCH_CHECKPOINTS');
    expect(told('ask', 'Who?', '--retriever', 'hnsw')).toContain('npm install hnswlib-node@');
    const native = 'npm install @tensorflow/tfjs-node-gpu@';
    expect(told('ask', 'Who?', '--backend', 'native')).toContain(native);
    expect(told('ask', 'Who?', '--backend', 'webgpu')).toMatch(/npm install webgpu@[\d.]+"/);
    const notebook = inProject('node_modules/parallelsearch/notebooks/00-first-steps.ipynb');
    expect(told('notebook', 'run', notebook)).toContain('npm install tslab@');
  }, 300_000);

  it.each(['5.8', '7.0'])(
    'compiles strictly with tsc %s and runs the docs’ program',
    (version) => {
      const compilers = [`typescript@${version}`, '@types/node@20'];
      npm([...INSTALL, '--save-dev', ...compilers], project);
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
      write('program.ts', program + also);
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
