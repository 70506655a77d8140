import { fileURLToPath } from 'node:url';

/** A path inside the package, whether this runs from `lib/` or from `dist/`. */
export function packagePath(...parts: string[]): string {
  return fileURLToPath(new URL(['../..', ...parts].join('/'), import.meta.url));
}

/** The small world's passages and questions. */
export const MINI_WIKI = packagePath('data', 'mini-wiki');
/** Trained weights: initial models, and an adapter of each run. */
export const CHECKPOINTS = packagePath('data', 'checkpoints');
/** The small world's dense encoder. */
export const ENCODER = packagePath('data', 'encoder');
