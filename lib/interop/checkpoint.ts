/** Another trainer's weights in Hugging Face format. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { copySafely } from '../io/files.js';
import { startProgress } from '../io/progress.js';
import { readModelConfig } from '../policy/folder-settings.js';

/** Files that `evaluate --model` reads. */
const NEEDED =
  /^(config|generation_config|tokenizer|tokenizer_config|model\.safetensors\.index)\.json$|^chat_template\.jinja$|\.safetensors$/;

const listFiles = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);
const hasWeights = (folder: string): boolean =>
  existsSync(path.join(folder, 'config.json')) &&
  listFiles(folder).some((name) => name.endsWith('.safetensors'));

/** The latest `global_step_N` (verl) or `checkpoint-N` (TRL), or the folder itself. */
function newestStep(folder: string): string {
  const steps = listFiles(folder).flatMap((name) => {
    const [, step] = /^(?:global_step_|checkpoint-)(\d+)$/.exec(name) ?? [];
    return step === undefined ? [] : [{ name, step: Number(step) }];
  });
  const newest = steps.sort((a, b) => b.step - a.step)[0];
  return newest ? path.join(folder, newest.name) : folder;
}

/**
 * Finds a checkpoint's folder in Hugging Face format: the output of verl's merger, the
 * `actor/huggingface` of a step, or the latest step in a folder; null if there is none.
 * @throws Error if there are only verl's shards
 */
export function findCheckpoint(folder: string): string | null {
  const step = hasWeights(folder) ? folder : newestStep(folder);
  const checkpoint = [[], ['huggingface'], ['actor', 'huggingface']]
    .map((parts) => path.join(step, ...parts))
    .find(hasWeights);
  if (checkpoint) return checkpoint;
  const shards = [step, path.join(step, 'actor')].find((place) =>
    listFiles(place).some((name) => /^model_world_size_\d+_rank_\d+\.pt$/.test(name)),
  );
  if (shards)
    throw new Error(
      `Expected weights in Hugging Face format, but ${shards} has only verl's shards. Merge them and import the result: ` +
        `python3 -m verl.model_merger merge --backend fsdp --local_dir ${shards} --target_dir merged`,
    );
  return null;
}

/**
 * Copies weights and tokenizer. @throws Error for a model that this project does not know
 */
export async function copyCheckpoint(from: string, to: string): Promise<void> {
  await readModelConfig(from);
  const names = listFiles(from).filter((name) => NEEDED.test(name));
  if (!names.includes('tokenizer.json'))
    throw new Error(
      `Expected tokenizer.json in ${from}, but there is none. Save the tokenizer there with save_pretrained.`,
    );
  const progress = startProgress('Copying weights', names.length);
  for (const [i, name] of names.entries()) {
    await copySafely(path.join(from, name), path.join(to, name));
    progress.update(i + 1);
  }
  progress.stop();
}
