import { fileURLToPath } from 'node:url';

/** A path inside the package, whether this runs from `lib/` or from `dist/`. */
export function packagePath(...parts: string[]): string {
  return fileURLToPath(new URL(['../..', ...parts].join('/'), import.meta.url));
}
