/** Keeps commands from overwriting what they read, or one output with another. */
import {
  accessSync,
  constants,
  existsSync,
  fstatSync,
  readdirSync,
  realpathSync,
  statSync,
  type Stats,
} from 'node:fs';
import { dirname, extname, isAbsolute, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { dataSetFiles } from '../../data/flashrag.js';
import { isSameFile, targetPath } from '../../io/files.js';
import { shortPath } from '../../io/paths.js';
import { METRICS_FILE, RUN_FILE, TRAJECTORIES_FILE } from '../../policy/folders/files.js';
import { settingFiles } from '../../policy/folders/policy-folders.js';

const OUTPUTS = ['out', 'page', 'trajectories'];
/** Endings of files that no command writes: their readers would fail. */
const COMPRESSED = /\.(gz|zst|bz2|xz|zip)$/i;
/** The ending of unfinished outputs, which are deleted at the end. */
const UNFINISHED = /\.partial$/;
/** Placeholders of options that may name an input. */
const INPUT = /<(file|folder|path|name)/;
/** Commands that by default write to files they read. */
const IN_PLACE = ['run', 'tensorboard'];

function statIfExists(path: string): Stats | undefined {
  try {
    // Unresolved links: `new/../t` is `t`, even if `new` does not exist.
    return path === '-' ? fstatSync(0) : path === '' ? undefined : statSync(resolve(path));
  } catch {
    return undefined; // not a path, such as a question
  }
}

/** @throws Error for a path below a file, or in a folder without permission to write */
function requireCreatable(path: string): void {
  let existing = resolve(path);
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  if (existing !== resolve(path) && !statIfExists(existing)?.isDirectory())
    throw new Error(
      `Expected a path to write to, but ${shortPath(existing)} in ${shortPath(path)} is not a folder. Choose another output.`,
    );
  accessSync(existing, constants.W_OK);
}

/** The path of NAME=PATH. */
const withoutName = (text: string): string =>
  existsSync(text) ? text : text.replace(/^[^=]+=/, '');

/** The files read for a path: the file itself, or the files in a folder. */
export function inputFiles(path: string): string[] {
  if (!statIfExists(path)?.isDirectory()) return [path];
  const { passages, questions } = dataSetFiles(path);
  const weights = readdirSync(path).filter((name) => name.endsWith('.safetensors'));
  const records = [RUN_FILE, METRICS_FILE, TRAJECTORIES_FILE];
  return [
    ...(passages ? [passages] : []),
    ...questions,
    ...settingFiles(path),
    ...[...weights, ...records].map((name) => join(path, name)),
  ].filter((file) => existsSync(file));
}

/** @throws Error for an output that is also an input, by any name, or another output */
export function requireDistinctFiles(outputs: readonly string[], inputs: readonly string[]): void {
  const read = inputs.map((path) => ({ path, stats: statIfExists(path) }));
  for (const [i, output] of outputs.entries()) {
    const stats = statIfExists(output);
    const isOutput = (path: string, other: Stats | undefined): boolean =>
      stats && other ? isSameFile(stats, other) : targetPath(path) === targetPath(output);
    // Several outputs may go to one device.
    const isRegular = !stats || stats.isFile() || stats.isDirectory();
    const input = read.find(({ path, stats: other }) => isOutput(path, other));
    if (isRegular && input)
      throw new Error(
        `Expected an output that is not an input, but ${shortPath(output)} is read${input.path === output ? '' : ` as ${input.path === '-' ? 'standard input' : shortPath(input.path)}`}. Choose another output.`,
      );
    if (isRegular && outputs.slice(0, i).some((path) => isOutput(path, statIfExists(path))))
      throw new Error(
        `Expected different outputs, but ${shortPath(output)} is named twice. Choose another.`,
      );
  }
}

/** @throws Error for a file given twice, by any name */
function requireDistinctInputs(paths: readonly string[]): void {
  const files = paths.map((path) => statIfExists(path));
  for (const [i, file] of files.entries()) {
    const same = files.findIndex((other) => file && other && isSameFile(file, other));
    if (same >= 0 && same < i)
      throw new Error(
        `Expected different files, but ${paths[i]} is the same as ${paths[same]}. Leave one out.`,
      );
  }
}

/** Checks options and arguments before a command runs, unless it works in place. */
export function checkOutputs(command: Command): void {
  if (OUTPUTS.some((name) => command.getOptionValue(name) === '-'))
    throw new Error(
      'Expected a path to write to, but got -. Standard output is /dev/stdout; a file of that name is ./-.',
    );
  if (IN_PLACE.includes(command.name())) return;
  const outputs: string[] = [];
  const inputs: unknown[] = [...command.args];
  for (const option of command.options) {
    const name = option.attributeName();
    const value: unknown = command.getOptionValue(name);
    if (!OUTPUTS.includes(name)) inputs.push(...(INPUT.test(option.flags) ? [value].flat() : []));
    else if (typeof value === 'string' && isWritten(command, name)) {
      const isFolder = statIfExists(value)?.isDirectory() || /[\\/]$/.test(value);
      if (option.flags.includes('<file>') && isFolder)
        throw new Error(
          `Expected a file to write to, but ${value} is a folder. Name a file in it.`,
        );
      if (option.flags.includes('<file>') && COMPRESSED.test(value))
        throw new Error(
          `Expected the name of an uncompressed file to write, but got ${shortPath(value)}. Leave out the ending ${extname(value)}, and compress the file afterwards.`,
        );
      if (UNFINISHED.test(value))
        throw new Error(
          `Expected another name than ${shortPath(value)}: files ending in .partial are unfinished outputs, and deleted.`,
        );
      requireCreatable(value);
      outputs.push(value);
    }
  }
  const files = outputs.filter((path) => !statIfExists(path)?.isDirectory());
  const paths = inputs
    .filter((path) => typeof path === 'string')
    .flatMap((text) => [text, withoutName(text)]);
  // For a folder of runs, the runs in an output's folder are read, too.
  const nested = files
    .map(dirname)
    .filter((folder) => paths.some((path) => isInside(folder, path)));
  requireDistinctFiles(files, [...paths, ...nested].flatMap(inputFiles));
  // A file given twice would count as two.
  const { registeredArguments: named, args } = command;
  if (named.at(-1)?.variadic) requireDistinctInputs(args.slice(named.length - 1).map(withoutName));
}

function isInside(folder: string, parent: string): boolean {
  if (!existsSync(folder) || !existsSync(parent)) return false;
  const inner = relative(realpathSync(parent), realpathSync(folder));
  return inner !== '' && !inner.startsWith('..') && !isAbsolute(inner);
}

/** Whether an option's output is written: the default page only when comparing. */
const isWritten = (command: Command, name: string): boolean =>
  name !== 'page' || command.getOptionValueSource(name) === 'cli';
