import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  installCommand,
  loadOptional,
  optionalFolder,
  type OptionalPackage,
} from '../../lib/io/optional.js';
import { packagePath } from '../../lib/io/paths.js';

interface Manifest {
  peerDependencies: Record<OptionalPackage, string>;
  peerDependenciesMeta: Record<string, { optional: boolean }>;
  overrides: Record<string, Record<string, string>>;
}
const manifest = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as Manifest;
const NAMES = Object.keys(manifest.peerDependencies) as OptionalPackage[];

describe('installCommand', () => {
  it('covers every optional peer of package.json', () => {
    expect(Object.keys(manifest.peerDependenciesMeta)).toEqual(NAMES);
    for (const name of NAMES) {
      expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true });
      const version = manifest.peerDependencies[name].replace('^', '');
      expect(installCommand(name, false)).toContain(`npm install ${name}@${version}`);
    }
  });
  it('repeats the overrides of package.json', () => {
    const command = installCommand('danfojs-node', false);
    for (const [name, version] of Object.entries(manifest.overrides['danfojs-node']))
      expect(command).toContain(` overrides.danfojs-node.${name}=${version} `);
  });
  it('is npm ci in a clone for locked packages', () => {
    expect(installCommand('tslab')).toBe('npm ci');
    expect(installCommand('webgpu')).toBe(
      `npm install webgpu@${manifest.peerDependencies.webgpu.slice(1)}`,
    );
  });
});

describe('loadOptional', () => {
  it('loads installed packages', () => {
    expect(loadOptional('tslab', 'tslab/package.json')).toMatchObject({ name: 'tslab' });
    expect(optionalFolder('tslab')).toMatch(/tslab$/);
  });
  it('names missing packages', () => {
    expect(() => loadOptional('tslab', 'tslab/absent')).toThrow(
      'Expected the optional package tslab (for executing notebooks), but it is not installed. Install it with "npm ci".',
    );
  });
});
