/** `parallelsearch init DIR`: starts a small project that uses this package. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { cp, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { readJson, writeJson } from '../io/files.js';
import { packagePath } from '../io/paths.js';
import { log, shellWord } from './common/cli-utils.js';

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  peerDependencies?: Record<string, string>;
  overrides?: Record<string, unknown>;
}

const OF_NOTEBOOKS = /^(tslab|danfojs)/;

/** Packs this copy of the package, which need not be published; returns the file. */
async function packInto(folder: string): Promise<string> {
  const isWindows = process.platform === 'win32';
  const args = [
    'pack',
    isWindows ? `"${packagePath()}"` : packagePath(),
    '--ignore-scripts',
    '--loglevel=error',
  ];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: folder, shell: isWindows });
  return stdout.trim();
}

/**
 * The template's package.json with a name, and with this package's versions of
 * dependencies.
 * @param file this package: a tarball or a folder
 */
async function packageJson(name: string, file: string): Promise<object> {
  const ours = (await readJson(packagePath('package.json'))) as Manifest;
  const template = (await readJson(
    packagePath('data', 'templates', 'project', 'package.json'),
  )) as object;
  const needed = Object.entries({ ...ours.dependencies, ...ours.peerDependencies });
  return {
    name:
      name
        .toLowerCase()
        .replaceAll(/[^a-z0-9._-]+/g, '-')
        .replace(/^[._-]+/, '') || 'search',
    ...template,
    dependencies: {
      parallelsearch: `file:${file}`,
      ...Object.fromEntries(needed.filter(([dependency]) => OF_NOTEBOOKS.test(dependency))),
    },
    devDependencies: { typescript: ours.devDependencies.typescript },
    ...(ours.overrides && { overrides: ours.overrides }),
  };
}

async function writeProject(folder: string, { link = false }: { link?: boolean }): Promise<void> {
  await cp(packagePath('data', 'templates', 'project'), folder, { recursive: true });
  // npm does not pack a file named .gitignore.
  await rename(path.join(folder, 'gitignore'), path.join(folder, '.gitignore'));
  const file = link ? path.resolve(packagePath()) : await packInto(folder);
  const manifest = await packageJson(path.basename(path.resolve(folder)), file);
  await writeJson(path.join(folder, 'package.json'), manifest);
}

/**
 * Writes the project.
 * @param link whether to depend on this copy of the package instead of a tarball
 * @throws Error if the folder is not empty
 */
async function runInit(folder: string, options: { link?: boolean }): Promise<void> {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new Error(
      `Expected ${folder} to be new or empty, but it contains files. Choose another folder.`,
    );
  try {
    await writeProject(folder, options);
  } catch (error) {
    // The folder is empty again for the next try.
    for (const name of await readdir(folder).catch(() => []))
      await rm(path.join(folder, name), { recursive: true });
    throw error;
  }
  log(`Created a project in ${folder}. Next:
  cd ${shellWord(folder)}
  npm install
  npm start   # trains five steps, answers the test questions, writes report.html
  npm test    # checks types and data, and tests the reward`);
}

export function initCommand(): Command {
  return new Command('init')
    .description(
      'start a small project: a corpus, questions, a reward and a notebook, with `npm start` and `npm test`',
    )
    .argument('<folder>', 'a new or empty folder')
    .option('--link', 'depend on this copy of the package instead of a tarball of it')
    .action(runInit);
}
