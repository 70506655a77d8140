/** Loads custom rewards from files. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { extname, isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { sort } from 'd3-array';
import type { Plugin } from 'rolldown';
import { shortPath } from '../io/paths.js';
import type { Reward } from '../rewards/reward.js';

const EXTENSIONS = ['.ts', '.mjs', '.js'];
const PACKAGE = 'parallelsearch';

const isReward = (value: unknown): value is Reward => {
  const { name, score } = (value ?? {}) as Partial<Reward>;
  return typeof name === 'string' && typeof score === 'function';
};

/** Bundles a module with the local modules that it imports, but without its packages. */
async function bundle(path: string): Promise<{ code: string; files: string[] }> {
  const { build } = await import('rolldown');
  const files: string[] = [];
  const plugin: Plugin = {
    name: 'packages-where-they-are',
    async resolveId(source, importer) {
      if (/^([./]|node:)/.test(source) || !importer) return null;
      // Resolves to this copy of the package: one backend, one instance of each class.
      const isOurs = source === PACKAGE || source.startsWith(`${PACKAGE}/`);
      const id = isOurs
        ? createRequire(import.meta.url).resolve(source)
        : (await this.resolve(source, importer, { skipSelf: true }))?.id;
      return id && existsSync(id) ? { id: pathToFileURL(id).href, external: true } : null;
    },
    buildEnd() {
      files.push(...[...this.getModuleIds()].filter((id) => isAbsolute(id) && existsSync(id)));
    },
  };
  const bundled = build({
    input: path,
    platform: 'node',
    write: false,
    logLevel: 'warn',
    output: { format: 'esm', sourcemap: 'inline', codeSplitting: false },
    plugins: [plugin],
  });
  const { output } = await bundled.catch((cause: Error) => {
    const reason = stripVTControlCharacters(cause.message).trim();
    throw new Error(`Expected ${shortPath(path)} to be a module, but: ${reason}`, { cause });
  });
  return { code: output[0].code, files };
}

async function importTypeScript(path: string): Promise<unknown> {
  const { code } = await bundle(path);
  const folder = await mkdtemp(join(tmpdir(), 'reward-'));
  try {
    const file = join(folder, 'reward.mjs');
    await writeFile(file, code);
    return await import(pathToFileURL(file).href);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A reward file and the local modules that it imports, also indirectly. */
export async function rewardFiles(file: string): Promise<string[]> {
  const path = resolve(file);
  const { files } = await bundle(path);
  return [path, ...sort(files).filter((each) => each !== path)];
}

/**
 * Loads the default export of a file: one reward or a list.
 * @param file a module in TypeScript (.ts) or JavaScript (.mjs, .js)
 * @throws Error naming the file if its type or export is unsupported; errors of the
 * module itself
 */
export async function loadRewards(file: string): Promise<Reward[]> {
  const path = resolve(file);
  if (!EXTENSIONS.includes(extname(path)))
    throw new Error(`Expected a reward file in ${EXTENSIONS.join(', ')}, but got ${file}.`);
  const module =
    extname(path) === '.ts'
      ? await importTypeScript(path)
      : ((await import(pathToFileURL(path).href)) as unknown);
  const exported = (module as { default?: unknown }).default;
  const rewards: unknown[] = Array.isArray(exported) ? exported : [exported];
  if (rewards.length > 0 && rewards.every(isReward)) return rewards;
  throw new Error(
    `Expected ${file} to export a reward by default, { name, score(rollout, group) }, or a list of them.`,
  );
}
