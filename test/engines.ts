/**
 * Other projects' engines, for tests that are skipped with the reason if one is missing.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * The path of a program in the folders of ENGINES (written like PATH), else on the PATH;
 * undefined if not found.
 */
export const engineFile = (name: string): string | undefined =>
  [process.env.ENGINES, process.env.PATH]
    .flatMap((folders) => folders?.split(delimiter) ?? [])
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));
