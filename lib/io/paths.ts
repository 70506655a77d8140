import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A path inside the package, whether this runs from `lib/` or from `dist/`. */
export function packagePath(...parts: string[]): string {
  return fileURLToPath(new URL(['../..', ...parts].join('/'), import.meta.url));
}

/**
 * Whether this is a clone of the repository, with all weights, records and notebooks: the
 * npm package has no lock file.
 */
export const isClone = (): boolean => existsSync(packagePath('package-lock.json'));

/** @throws Error for what takes more than the npm package has */
export function requireClone(command: string): void {
  if (isClone()) return;
  throw new Error(
    `Expected a clone of the repository for \`parallelsearch ${command}\`, but this is the npm package, which has neither all weights nor the recorded results. Clone it and run \`npm start\` there.`,
  );
}

/**
 * A place for what is written: in a clone beside the sources, elsewhere in the working
 * folder.
 */
export const outputPath = (...parts: string[]): string =>
  isClone() ? packagePath(...parts) : resolve(...parts);

/** A file or folder as messages name it: from the working folder where it is inside. */
export function shortPath(file: string): string {
  const fromHere = relative('', file);
  return fromHere === '' || fromHere.startsWith('..') || isAbsolute(fromHere) ? file : fromHere;
}

/** The small world's passages and questions. */
export const SMALL_WORLD = packagePath('data', 'small-world');
/** Trained weights: initial models, and an adapter of each run. */
export const CHECKPOINTS =
  process.env.PARALLELSEARCH_CHECKPOINTS ?? packagePath('data', 'checkpoints');
/** The small world's dense encoder. */
export const ENCODER = packagePath('data', 'encoder');

/** A program's file on the PATH, or undefined. */
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
