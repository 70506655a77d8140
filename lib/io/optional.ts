/**
 * Packages that not everybody needs: found and loaded when something asks for them, and
 * asked for by name where they are missing.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { isClone, packagePath } from './paths.js';

const require = createRequire(import.meta.url);

export type OptionalPackage =
  | 'tslab'
  | 'danfojs-node'
  | 'hnswlib-node'
  | '@tensorflow/tfjs-node-gpu'
  | '@tensorflow/tfjs-backend-webgpu'
  | 'webgpu'
  | '@zilliz/milvus2-sdk-node';

/** What each is needed for, and what its installation takes besides. */
const OPTIONAL_PACKAGES: Record<
  OptionalPackage,
  { use: string; before?: string; options?: string }
> = {
  // Beside one's own, its TypeScript would take the name `tsc`.
  tslab: { use: 'executing notebooks', options: ' --install-strategy=nested' },
  'danfojs-node': {
    use: 'data frames',
    // Its own dependencies are a native build and an address outside of the registry.
    before:
      'npm pkg set overrides.danfojs-node.@tensorflow/tfjs-node=npm:@tensorflow/tfjs@4.22.0 overrides.danfojs-node.xlsx=npm:xlsx@0.18.5 && ',
  },
  'hnswlib-node': {
    use: 'an HNSW index, and a C++ compiler to build it; exact search needs neither',
  },
  '@tensorflow/tfjs-node-gpu': { use: 'the native backends' },
  '@tensorflow/tfjs-backend-webgpu': { use: 'the webgpu backend' },
  webgpu: { use: 'the webgpu backend' },
  '@zilliz/milvus2-sdk-node': { use: 'collections of Milvus' },
};

/**
 * The command that installs an optional package in a version that fits; in a clone whose
 * lock file has it, `npm ci`.
 */
export function installCommand(name: OptionalPackage, inClone = isClone()): string {
  const read = <T>(file: string): T => JSON.parse(readFileSync(packagePath(file), 'utf8')) as T;
  if (inClone) {
    const { packages } = read<{ packages: Record<string, object> }>('package-lock.json');
    if (`node_modules/${name}` in packages) return 'npm ci';
  }
  const manifest = read<{ peerDependencies: Record<string, string> }>('package.json');
  const { before = '', options = '' } = OPTIONAL_PACKAGES[name];
  return `${before}npm install ${name}@${manifest.peerDependencies[name].replace('^', '')}${options}`;
}

/**
 * What an attempt to find or load an optional package gives. @throws Error that asks for
 * the package by name
 */
function attempt<T>(name: OptionalPackage, load: () => T): T {
  try {
    return load();
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND';
    throw new Error(
      `Expected the optional package ${name} (for ${OPTIONAL_PACKAGES[name].use}), but it ${isMissing ? 'is not installed' : 'cannot be loaded'}. ` +
        `Install it with "${installCommand(name)}".`,
      { cause },
    );
  }
}

/**
 * Loads an optional package, or one file of it. @throws Error that asks for it by name
 */
export const loadOptional = <T>(name: OptionalPackage, file: string = name): T =>
  attempt(name, () => require(file) as T);

/**
 * The folder of an optional package, wherever npm has put it. @throws Error that asks for
 * it by name
 */
export const optionalFolder = (name: OptionalPackage): string =>
  path.dirname(attempt(name, () => require.resolve(`${name}/package.json`)));

/**
 * The installed version of an optional package. @throws Error that asks for it by name
 */
export const optionalVersion = (name: OptionalPackage): string =>
  loadOptional<{ version: string }>(name, `${name}/package.json`).version;
