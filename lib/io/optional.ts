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

/** What each package is for, and extra steps of its installation. */
const OPTIONAL_PACKAGES: Record<
  OptionalPackage,
  { use: string; before?: string; options?: string }
> = {
  // Otherwise its TypeScript would replace the project's `tsc`.
  tslab: { use: 'executing notebooks', options: ' --install-strategy=nested' },
  'danfojs-node': {
    use: 'data frames',
    // Replaces a native build, and a dependency outside the registry.
    before:
      'npm pkg set overrides.danfojs-node.@tensorflow/tfjs-node=npm:@tensorflow/tfjs@4.22.0 overrides.danfojs-node.xlsx=npm:xlsx@0.18.5 && ',
  },
  'hnswlib-node': { use: 'an HNSW index (needs a C++ compiler; exact search does not)' },
  '@tensorflow/tfjs-node-gpu': { use: 'the native backends' },
  '@tensorflow/tfjs-backend-webgpu': { use: 'the webgpu backend' },
  webgpu: { use: 'the webgpu backend' },
  '@zilliz/milvus2-sdk-node': { use: 'collections of Milvus' },
};

/** The command that installs a package; `npm ci` if a clone has it in the lock file. */
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

/** Loads a package or one of its files. @throws Error if it is not installed */
export const loadOptional = <T>(name: OptionalPackage, file: string = name): T =>
  attempt(name, () => require(file) as T);

/** The folder of a package. @throws Error if it is not installed */
export const optionalFolder = (name: OptionalPackage): string =>
  path.dirname(attempt(name, () => require.resolve(`${name}/package.json`)));

/** The installed version of a package. @throws Error if it is not installed */
export const optionalVersion = (name: OptionalPackage): string =>
  loadOptional<{ version: string }>(name, `${name}/package.json`).version;
