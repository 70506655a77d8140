/** Loads custom rewards from files. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'rolldown';
import type { Reward } from '../rewards/reward.js';

const EXTENSIONS = ['.ts', '.mjs', '.js'];
const PACKAGE = 'parallelsearch';

const isReward = (value: unknown): value is Reward => {
  const { name, score } = (value ?? {}) as Partial<Reward>;
  return typeof name === 'string' && typeof score === 'function';
};

/** Bundles a TypeScript file without its packages, and imports it. */
async function importTypeScript(path: string): Promise<unknown> {
  const { build } = await import('rolldown');
  const folder = await mkdtemp(join(tmpdir(), 'reward-'));
  try {
    const packages: Plugin = {
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
    };
    const { output } = await build({
      input: path,
      platform: 'node',
      write: false,
      logLevel: 'warn',
      output: { format: 'esm', sourcemap: 'inline' },
      plugins: [packages],
    });
    const file = join(folder, 'reward.mjs');
    await writeFile(file, output[0].code);
    return await import(pathToFileURL(file).href);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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
