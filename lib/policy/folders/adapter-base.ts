/** Identifies an adapter's base model by hash: on another one it answers badly. */
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { readJson, writeJson } from '../../io/files.js';
import { parseAs } from '../../io/json.js';
import { shortPath } from '../../io/paths.js';
import { contentHash } from '../../io/provenance.js';
import { weightFiles } from '../../tensor/weight-files.js';
import { readPeftConfig } from './policy-folders.js';
import { howToMake } from './trained-models.js';

/** A separate file, because PEFT rejects unknown keys in `adapter_config.json`. */
export const BASE_FILE = 'base_model.json';

const hash = z.string().regex(/^[0-9a-f]{12}$/);
const baseSchema = z.strictObject({
  name: z.string().min(1),
  /** First twelve digits of the SHA-256 of the weight files. */
  weights: hash,
  /** First twelve digits of the SHA-256 of `tokenizer.json`. */
  tokenizer: hash,
});
export type BaseModel = z.infer<typeof baseSchema>;

export async function identifyModel(folder: string): Promise<BaseModel> {
  const [weights, tokenizer] = await Promise.all([
    weightFiles(folder).then(contentHash),
    contentHash([join(folder, 'tokenizer.json')]),
  ]);
  return { name: basename(resolve(folder)), weights, tokenizer };
}

/** The base that an adapter names; null if it names none, like PEFT's own. */
export async function readBaseModel(adapter: string): Promise<BaseModel | null> {
  const file = join(adapter, BASE_FILE);
  if (!existsSync(file)) return null;
  const expected = `name and hashes of the base model in ${shortPath(file)}`;
  return parseAs(baseSchema, await readJson(file), expected);
}

export const writeBaseModel = (adapter: string, base: BaseModel): Promise<void> =>
  writeJson(join(adapter, BASE_FILE), base);

/** @throws Error with the remedy if an adapter was trained from another model */
export async function requireBase(adapter: string, model: string): Promise<void> {
  const expected = await readBaseModel(adapter);
  if (expected === null) return;
  const actual = await identifyModel(model);
  const differing = (['weights', 'tokenizer'] as const).find(
    (part) => actual[part] !== expected[part],
  );
  if (differing === undefined) return;
  throw new Error(
    `Expected the model that ${shortPath(adapter)} was trained from, ${expected.name} (${differing} ${expected[differing]}), but ` +
      `${shortPath(model)} has different ${differing} (${actual[differing]}). ${await remedy(adapter, model, expected)} --force uses it anyway.`,
  );
}

async function remedy(adapter: string, model: string, { name }: BaseModel): Promise<string> {
  const recipe = howToMake(name);
  const isDamaged = basename(resolve(model)) === name;
  if (recipe !== undefined)
    return isDamaged ? `Remove that folder and use ${recipe}` : `Use ${recipe}`;
  const { base } = await readPeftConfig(adapter);
  const folder = base === undefined ? undefined : resolve(adapter, base);
  return folder !== undefined && existsSync(folder) && folder !== resolve(model)
    ? `Use --model ${shortPath(folder)}.`
    : `Name the folder of ${name} with --model.`;
}
