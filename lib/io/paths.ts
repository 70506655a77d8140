import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A path inside the package, whether this runs from `lib/` or from `dist/`. */
export function packagePath(...parts: string[]): string {
  return fileURLToPath(new URL(['../..', ...parts].join('/'), import.meta.url));
}

/** The small world's passages and questions. */
export const SMALL_WORLD = packagePath('data', 'small-world');
/** Trained weights: initial models, and an adapter of each run. */
export const CHECKPOINTS = process.env.PARALLELSEARCH_CHECKPOINTS ?? packagePath('data', 'checkpoints');
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
