import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A path inside the package, from `lib/` or `dist/`. */
export function packagePath(...parts: string[]): string {
  return fileURLToPath(new URL(['../..', ...parts].join('/'), import.meta.url));
}

/** Whether this is a clone: the npm package has no lock file. */
export const isClone = (): boolean => existsSync(packagePath('package-lock.json'));

/** @throws Error outside a clone */
export function requireClone(command: string): void {
  if (isClone()) return;
  throw new Error(
    `Expected a clone of the repository for \`parallelsearch ${command}\`, but the npm package lacks weights and recorded results. Clone the repository and run \`npm start\` there.`,
  );
}

/** A path for output: inside a clone, or else in the working folder. */
export const outputPath = (...parts: string[]): string =>
  isClone() ? packagePath(...parts) : resolve(...parts);

/** A path for messages: relative if it is inside the working folder. */
export function shortPath(file: string): string {
  const path = relative('', file);
  return path === '' || path.startsWith('..') || isAbsolute(path) ? file : path;
}

/** The small world's passages and questions. */
export const SMALL_WORLD = packagePath('data', 'small-world');
/** Fresh tests, drawn once their results were predicted; of runs in folders. */
export const CONDITIONS = packagePath('data', 'conditions');
/** Trained weights: initial models, and the adapter of each run. */
export const CHECKPOINTS =
  process.env.PARALLELSEARCH_CHECKPOINTS || packagePath('data', 'checkpoints');
/** The small world's dense encoder. */
export const ENCODER = packagePath('data', 'encoder');

/** The file of a program on the PATH, if any. */
export function findProgram(name: string): string | undefined {
  const endings = process.platform === 'win32' ? ['.exe', '.cmd'] : [''];
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const files = folders.flatMap((folder) => endings.map((ending) => join(folder, name + ending)));
  return files.find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
