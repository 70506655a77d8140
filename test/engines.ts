/**
 * Other projects' engines, for tests that are skipped, saying so, where one is not
 * installed.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * The file of a program in a folder of the environment's ENGINES (written as PATH is),
 * else on the PATH; undefined where there is none.
 */
export const engineFile = (name: string): string | undefined =>
  [process.env.ENGINES, process.env.PATH]
    .flatMap((folders) => folders?.split(delimiter) ?? [])
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));
