import { spawnSync } from 'node:child_process';
import { accessSync, constants, cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../folder.js';

interface Manifest {
  type: string;
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
  it('has the same entries for Node and for tslab, which ignores exports', () => {
    const entries = Object.entries(manifest.exports).filter(([, to]) => typeof to === 'object');
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
  it.skipIf(!existsSync(root('dist/index.js')))('points at built files (needs dist/)', () => {
    const entries = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : [entry.types, entry.default],
    );
    const files = [...entries, ...Object.values(manifest.bin)];
    expect(files.filter((file) => !existsSync(root(file)))).toEqual([]);
  });
  it('has an executable command that explains how to build it', () => {
    const { parallelsearch } = manifest.bin;
    expect(read(parallelsearch).startsWith('#!/usr/bin/env node\n')).toBe(true);
    accessSync(root(parallelsearch), constants.X_OK);
    const unbuilt = temporaryFolder();
    cpSync(root(parallelsearch), join(unbuilt, parallelsearch));
    const { status, stderr } = spawnSync(process.execPath, [join(unbuilt, parallelsearch)]);
    expect([status, stderr.toString()]).toEqual([1, expect.stringContaining('npm run build')]);
  });
  it('depends on no native packages', () => {
    // Dependencies would come with the package; the workspace is for clones only.
    const native = JSON.parse(read('notebooks/package.json')) as Manifest;
    const ours = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
    for (const name of ['@tensorflow/tfjs-node-gpu', 'hnswlib-node']) {
      expect(Object.keys(native.optionalDependencies)).toContain(name);
      expect(ours).not.toContain(name);
    }
    expect(Object.keys(manifest.dependencies)).not.toContain('@tensorflow/tfjs-node');
    expect(manifest.optionalDependencies).toBeUndefined();
  });
});

describe('package-lock.json', () => {
  it('gets every package from the npm registry with its checksum', () => {
    const elsewhere = locked.filter(
      ([, p]) => p.resolved && !p.link && !p.resolved.startsWith('https://registry.npmjs.org/'),
    );
    expect(elsewhere.map(([path]) => path)).toEqual([]);
    // The repository itself and its workspace are linked.
    const modules = ['parallelsearch', 'parallelsearch-notebooks'];
    const linked = [...modules.map((name) => `node_modules/${name}`), 'notebooks'];
    expect(locked.filter(([, p]) => p.link || !p.integrity).map(([path]) => path)).toEqual(linked);
  });
  it('allows or denies every install script in allowScripts', () => {
    // npm skips packages for other systems, such as fsevents (macOS).
    const isForLinux = ({ os }: LockedPackage) => os === undefined || os.includes('linux');
    const withScript = locked.filter(([, p]) => p.hasInstallScript && isForLinux(p));
    const names = withScript.map(([path]) => path.split('node_modules/').at(-1)!);
    expect([...new Set(names)].sort()).toEqual(Object.keys(manifest.allowScripts).sort());
  });
});
