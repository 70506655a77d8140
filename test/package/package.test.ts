import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

interface Manifest {
  type: string;
  license: string;
  version: string;
  main: string;
  types: string;
  bin: Record<string, string>;
  exports: Record<string, { types: string; default: string } | string>;
  typesVersions: { '*': Record<string, string[]> };
  engines: { node: string };
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  allowScripts: Record<string, boolean>;
}

interface LockedPackage extends Partial<Manifest> {
  resolved?: string;
  integrity?: string;
  link?: boolean;
  hasInstallScript?: boolean;
  os?: string[];
}

const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const read = (path: string) => readFileSync(root(path), 'utf8');
const manifest = JSON.parse(read('package.json')) as Manifest;
const lock = (JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> })
  .packages;
const locked = Object.entries(lock).filter(([path]) => path !== '');

describe('package.json', () => {
  it('names the same entries for Node and for tslab, which does not read exports', () => {
    const entries = Object.entries(manifest.exports).filter(
      ([, entry]) => typeof entry === 'object',
    );
    const forTslab = { '.': [`./${manifest.types}`], ...manifest.typesVersions['*'] };
    expect(entries).toEqual(
      Object.entries(forTslab).map(([name, [types]]) => [
        name === '.' ? name : `./${name}`,
        { types, default: types.replace('.d.ts', '.js') },
      ]),
    );
    expect(`./${manifest.main}`).toBe(forTslab['.'][0].replace('.d.ts', '.js'));
    expect(manifest.type).toBe('module');
  });
  it.skipIf(!existsSync(root('dist/index.js')))('points at files that the build makes', () => {
    const entries = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : [entry.types, entry.default, `${entry.default}.map`],
    );
    const files = [...entries, ...Object.values(manifest.bin)];
    expect(files.filter((file) => !existsSync(root(file)))).toEqual([]);
  });
  it.skipIf(!existsSync(root('dist/cli.js')))('starts its command line with Node', () => {
    expect(read(manifest.bin.parallelsearch).startsWith('#!/usr/bin/env node\n')).toBe(true);
    accessSync(root(manifest.bin.parallelsearch), constants.X_OK);
  });
  it('keeps what needs a download or a GPU out of the required dependencies', () => {
    // In package.json they would be installed with the package; a workspace has them for
    // a clone only.
    const native = JSON.parse(read('notebooks/package.json')) as Manifest;
    for (const name of ['@tensorflow/tfjs-node-gpu', 'hnswlib-node']) {
      expect(Object.keys(native.optionalDependencies)).toContain(name);
      expect(Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })).not.toContain(
        name,
      );
    }
    expect(Object.keys(manifest.dependencies)).not.toContain('@tensorflow/tfjs-node');
    expect(manifest.optionalDependencies).toBeUndefined();
  });
  it('compiles without the native parts, which may be missing in a clone, too: none gives its types', () => {
    const files = readdirSync(root('lib'), { recursive: true, encoding: 'utf8' }).filter((f) =>
      f.endsWith('.ts'),
    );
    const sources = files.map((file) => read(`lib/${file}`)).join('\n');
    const native = ['@tensorflow/tfjs-node-gpu', 'hnswlib-node'];
    const typed = native.filter((name) => new RegExp(`(from |import\\()'${name}'`).test(sources));
    expect(typed).toEqual([]);
  });
  it('builds with its own TypeScript, not with the one that tslab brings', () => {
    const [major, minor] = /(\d+)\.(\d+)/.exec(manifest.devDependencies.typescript)!.slice(1);
    const installed = createRequire(import.meta.url)('typescript/package.json') as {
      version: string;
    };
    expect(installed.version.startsWith(`${major}.${minor}.`)).toBe(true);
    for (const script of Object.values(manifest.scripts))
      expect(script).not.toMatch(/(^|&& )tsc\b/);
  });
});

describe('package-lock.json', () => {
  it('locks the dependencies of package.json', () => {
    for (const kind of [
      'dependencies',
      'devDependencies',
      'peerDependencies',
      'engines',
    ] as const) {
      expect(lock[''][kind]).toEqual(manifest[kind]);
    }
    expect(lock[''].version).toBe(manifest.version);
  });
  it('takes every package from the npm registry, with its checksum', () => {
    const elsewhere = locked.filter(
      ([, p]) => p.resolved && !p.link && !p.resolved.startsWith('https://registry.npmjs.org/'),
    );
    expect(elsewhere.map(([path]) => path)).toEqual([]);
    // The repository itself, and its workspace, are linked.
    const own = [
      'node_modules/parallelsearch',
      'node_modules/parallelsearch-notebooks',
      'notebooks',
    ];
    expect(locked.filter(([, p]) => p.link || !p.integrity).map(([path]) => path)).toEqual(own);
  });
  it('has a decision in allowScripts for every install script, and for no other', () => {
    // npm never runs the scripts of packages for another system; fsevents (macOS) is one.
    const isForLinux = ({ os }: LockedPackage) => os === undefined || os.includes('linux');
    const withScript = locked.filter(([, p]) => p.hasInstallScript && isForLinux(p));
    const names = withScript.map(([path]) =>
      path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    );
    expect([...new Set(names)].sort()).toEqual(Object.keys(manifest.allowScripts).sort());
  });
});

describe('continuous integration', () => {
  const workflow = read('.github/workflows/ci.yml');

  it('tests the oldest supported Node and the later long-term releases', () => {
    const nodes = /node: \[(.+)\]/.exec(workflow)![1].split(',').map(Number);
    expect(nodes).toEqual([20, 22, 24]);
    expect(Math.min(...nodes)).toBe(Number(/\d+/.exec(manifest.engines.node)![0]));
  });
  it('runs what a user runs, without an install of its own', () => {
    const commands = [...workflow.matchAll(/- run: (.+)/g)].map(([, command]) => command);
    const ours = commands.filter((command) => command.startsWith('npm'));
    const expected = [/^npm test$/, /^npm test -- test\//, /^npm start( |$)/];
    expect(ours).toEqual(expected.map((command): unknown => expect.stringMatching(command)));
    const folders = ours[1]
      .split(' ')
      .slice(3)
      .map((filter) => filter.split('/').slice(0, 2).join('/'));
    expect(folders.filter((folder) => !existsSync(root(folder)))).toEqual([]);
  });
  it('uploads the pages that npm start writes, and those of main as a site', () => {
    const uploads = [
      ...workflow.matchAll(/uses: (actions\/upload-[a-z-]+)@v\d+\n +with:\n((?: {10}.+\n?)+)/g),
    ];
    expect(uploads.map(([, action]) => action)).toEqual([
      'actions/upload-artifact',
      'actions/upload-pages-artifact',
    ]);
    for (const [, , inputs] of uploads) expect(inputs).toContain('path: reports/\n');
    expect(workflow).toMatch(
      /if: github\.ref == 'refs\/heads\/main'\n +uses: actions\/upload-pages-artifact/,
    );
  });
  it('calls npm test from .ci/run, from any folder', () => {
    accessSync(root('.ci/run'), constants.X_OK);
    expect(read('.ci/run').trimEnd().split('\n').at(-1)).toBe('npm test');
    expect(read('.ci/run')).toContain('cd "$(dirname');
  });
});

describe('citation and licence', () => {
  it('agree with package.json', () => {
    const citation = read('CITATION.cff');
    expect(citation).toContain(`\nversion: ${manifest.version}\n`);
    expect(citation).toContain(`\nlicense: ${manifest.license}\n`);
    expect(read('LICENSE')).toMatch(/Apache License\s+Version 2\.0/);
    expect(read('CHANGELOG.md')).toMatch(/^## \[Unreleased\]$/m);
  });
});
