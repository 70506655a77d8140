import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { folderForEach } from '../folder.js';
import { slow } from '../full.js';

// A tiny project whose tools each write a line to calls.txt: no network, no real build.
const BOOTSTRAP = fileURLToPath(new URL('../../scripts/bootstrap.mjs', import.meta.url));
const CALLED =
  "require('node:fs').appendFileSync('calls.txt', [NAME, ...process.argv.slice(2)].join(' ') + '\\n');";
const tool = (name: string, code = '') => CALLED.replace('NAME', `'${name}'`) + code;
const esm = (code: string) =>
  `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url); ${code}`;
const lock = (version: string) => {
  const [a, b] = [{ version }, { version, optional: true }];
  return JSON.stringify({ packages: { '': {}, 'node_modules/a': a, 'node_modules/b': b } });
};
const CLI = `${tool('cli')}if (process.argv[3] === '--wait') {
  process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000); console.log('waiting');
} else process.exit(process.argv[3] === '--fail' ? 3 : 0);`;
const BUILD = `const fs = require('node:fs'); fs.mkdirSync('dist', { recursive: true });
if (process.argv[3] === 'tsconfig.build.json') for (const file of fs.readdirSync('lib'))
  fs.copyFileSync('lib/' + file, 'dist/' + file.replace('.ts', '.js'));`;
const FAILING = `require('node:fs').appendFileSync('calls.txt', 'full=' + process.env.PARALLELSEARCH_TEST_FULL + '\\n');
process.exit(1);`;

const BUILDING = [
  'tsc -p tsconfig.build.json',
  expect.stringMatching(
    /^rolldown .*register_all_gradients.* --file dist.tensor.tfjs-gradients.cjs/,
  ) as string,
];

const inProject = folderForEach();

function write(path: string, text: string): void {
  mkdirSync(dirname(inProject(path)), { recursive: true });
  writeFileSync(inProject(path), text);
}

function takeCalls(): string[] {
  const path = inProject('calls.txt');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  rmSync(path);
  return lines;
}

function spawnBootstrap(args: string[]): ChildProcess {
  const own = { npm_execpath: inProject('npm-cli.js'), PARALLELSEARCH_TEST_FULL: '' };
  const options = { cwd: inProject(), env: { ...process.env, ...own } };
  return spawn(process.execPath, ['scripts/bootstrap.mjs', ...args], options);
}

/**
 * Exit code, stdout, and all output, in which stdout and stderr are interleaved randomly.
 */
async function finish(child: ChildProcess) {
  let [output, stdout] = ['', ''];
  child.stdout!.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output, stdout };
}

const bootstrap = (...args: string[]) => finish(spawnBootstrap(args));

beforeEach(() => {
  mkdirSync(inProject('scripts'));
  copyFileSync(BOOTSTRAP, inProject('scripts/bootstrap.mjs'));
  write('package.json', '{"engines": {"node": ">=20.19"}}');
  for (const file of ['tsconfig.json', 'tsconfig.build.json']) write(file, '{}');
  write('package-lock.json', lock('1.0.0'));
  write('node_modules/.package-lock.json', lock('1.0.0'));
  write('npm-cli.js', tool('npm'));
  write('node_modules/typescript7/bin/tsc', tool('tsc', BUILD));
  write('node_modules/rolldown/bin/cli.mjs', esm(tool('rolldown')));
  write('node_modules/oxlint/bin/oxlint', tool('oxlint'));
  write('node_modules/dependency-cruiser/bin/dependency-cruise.mjs', esm(tool('depcruise')));
  write('node_modules/oxfmt/bin/oxfmt', tool('oxfmt'));
  write('node_modules/vitest/vitest.mjs', esm(tool('vitest', FAILING)));
  write('lib/cli.ts', CLI);
});

describe('start', () => {
  it('builds, then passes arguments and exit code through', async () => {
    expect((await bootstrap('start', '--backend', 'wasm')).code).toBe(0);
    expect(takeCalls()).toEqual([...BUILDING, 'cli reproduce --backend wasm']);
    expect((await bootstrap('start', '--fail')).code).toBe(3);
  });
  slow('rebuilds only after a change and deletes stale outputs (needs test:full)', async () => {
    write('lib/gone.ts', '');
    await bootstrap('start');
    expect(existsSync(inProject('dist/gone.js'))).toBe(true);
    takeCalls();
    await bootstrap('start');
    expect(takeCalls()).toEqual(['cli reproduce']);
    rmSync(inProject('lib/gone.ts'));
    await bootstrap('start');
    expect(takeCalls()).toEqual([...BUILDING, 'cli reproduce']);
    expect(existsSync(inProject('dist/gone.js'))).toBe(false);
    expect(existsSync(inProject('dist/cli.js'))).toBe(true);
  });
  slow('stops at a failed build and rebuilds next time (needs test:full)', async () => {
    write('node_modules/typescript7/bin/tsc', tool('tsc', `${BUILD} process.exit(2);`));
    expect((await bootstrap('start')).code).toBe(2);
    expect((await bootstrap('start')).code).toBe(2);
    expect(takeCalls()).toEqual(['tsc -p tsconfig.build.json', 'tsc -p tsconfig.build.json']);
  });
  it('forwards a signal and returns the exit code', async () => {
    const child = spawnBootstrap(['start', '--wait']);
    child.stdout!.on(
      'data',
      (chunk: Buffer) => chunk.toString().includes('waiting') && child.kill('SIGTERM'),
    );
    expect((await finish(child)).code).toBe(7);
  });
});

describe('install', () => {
  it('runs npm ci if nothing is installed', async () => {
    rmSync(inProject('node_modules/.package-lock.json'));
    expect((await bootstrap('build')).code).toBe(0);
    expect(takeCalls()[0]).toBe('npm ci --include=dev --loglevel=error --no-audit --no-fund');
  });
  it('accepts installed packages without the optional ones', async () => {
    const installed = { packages: { 'node_modules/a': { version: '1.0.0' } } };
    write('node_modules/.package-lock.json', JSON.stringify(installed));
    await bootstrap('build');
    expect(takeCalls()).toEqual(BUILDING);
  });
  slow('runs npm ci if a version differs from the lock file (needs test:full)', async () => {
    write('package-lock.json', lock('1.0.1'));
    await bootstrap('build');
    expect(takeCalls()[0]).toMatch(/^npm ci/);
  });
  slow('returns the exit code of a failed npm ci (needs test:full)', async () => {
    rmSync(inProject('node_modules/.package-lock.json'));
    write('npm-cli.js', tool('npm', 'process.exit(9);'));
    expect((await bootstrap('start')).code).toBe(9);
    expect(takeCalls()).toHaveLength(1);
  });
  slow('rejects an old Node (needs test:full)', async () => {
    const [major, minor] = process.versions.node.split('.');
    for (const newer of [`${major}.${Number(minor) + 1}`, `1${major}.0`]) {
      write('package.json', `{"engines": {"node": ">=${newer}"}}`);
      const { code, output } = await bootstrap('start');
      expect(code).toBe(1);
      expect(output).toContain(process.version);
    }
    expect(takeCalls()).toEqual([]);
  });
});

describe('test', () => {
  it('runs every check and returns the first failed exit code', async () => {
    write('node_modules/oxlint/bin/oxlint', tool('oxlint', 'process.exit(4);'));
    const { code, output } = await bootstrap('test');
    const names = takeCalls().map((call) => call.split(' ')[0]);
    expect(names.slice(0, 2)).toEqual(['tsc', 'rolldown']);
    // Side by side.
    expect(names.slice(2, 6).toSorted()).toEqual(['depcruise', 'oxfmt', 'oxlint', 'tsc']);
    expect(names.slice(6)).toEqual(['vitest', 'full=']);
    expect(code).toBe(4);
    expect(output).toContain('failed: lint, tests\n');
  });
  slow('prints the output of each check in one piece (needs test:full)', async () => {
    const print = "console.log('one'); setTimeout(() => console.error('two'), 500);";
    write('node_modules/oxlint/bin/oxlint', tool('oxlint', print));
    const { stdout } = await bootstrap('test');
    expect(stdout).toMatch(/^\[lint\] oxlint\none\ntwo\n\[lint\] ok/m);
  });
  it('stops all checks on SIGTERM', async () => {
    const waiting = (name: string): string => `process.on('SIGTERM', () => process.exit(7));
      setInterval(() => {}, 1000); require('node:fs').writeFileSync('${name}.started', '');`;
    write('node_modules/oxlint/bin/oxlint', waiting('oxlint'));
    write('node_modules/oxfmt/bin/oxfmt', waiting('oxfmt'));
    const child = spawnBootstrap(['test']);
    const finished = finish(child);
    const isStarted = (name: string): boolean => existsSync(inProject(`${name}.started`));
    await vi.waitUntil(() => ['oxlint', 'oxfmt'].every(isStarted), { timeout: 30_000 });
    child.kill('SIGTERM');
    expect((await finished).code).toBe(143);
    expect(takeCalls().map((call) => call.split(' ')[0])).not.toContain('vitest');
  });
  it('passes filters to vitest without the checks, and --full through the environment', async () => {
    expect((await bootstrap('test', 'rewards', '--full')).code).toBe(1);
    const [, , vitest, full, ...others] = takeCalls();
    expect(vitest).toMatch(/^vitest run --reporter=.* rewards$/);
    expect(full).toBe('full=1');
    expect(others).toEqual([]);
  });
});
