import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { copyCheckpoint, findCheckpoint } from '../../lib/interop/import.js';
import { folderForEach } from '../folder.js';
import { MODEL } from './exports.js';

const inFolder = folderForEach();
const write = (...parts: string[]): string => {
  const file = inFolder(...parts);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, '{}');
  return file;
};
const writeModel = (...parts: string[]): string => {
  write(...parts, 'config.json');
  return join(write(...parts, 'model-00001-of-00002.safetensors'), '..');
};

describe('findCheckpoint', () => {
  it('finds a folder in Hugging Face format and verl’s actor folder', () => {
    const merged = writeModel('merged');
    expect(findCheckpoint(merged)).toBe(merged);
    const step = writeModel('run', 'global_step_90', 'actor', 'huggingface');
    expect(findCheckpoint(inFolder('run', 'global_step_90'))).toBe(step);
  });

  it('takes the step with the highest number', () => {
    writeModel('run', 'global_step_90', 'actor', 'huggingface');
    const newest = writeModel('run', 'global_step_500', 'actor', 'huggingface');
    expect(findCheckpoint(inFolder('run'))).toBe(newest);
    const trl = writeModel('trl', 'checkpoint-1000');
    writeModel('trl', 'checkpoint-200');
    expect(findCheckpoint(inFolder('trl'))).toBe(trl);
  });

  it('explains how to merge shards, and finds nothing in an empty or missing folder', () => {
    write('run', 'global_step_5', 'actor', 'model_world_size_8_rank_0.pt');
    write('run', 'global_step_5', 'actor', 'huggingface', 'config.json');
    expect(() => findCheckpoint(inFolder('run'))).toThrow(/model_merger.*actor /);
    expect(findCheckpoint(inFolder('run', 'global_step_5', 'actor', 'huggingface'))).toBeNull();
    expect(findCheckpoint(inFolder('none'))).toBeNull();
  });
});

describe('copyCheckpoint', () => {
  it('copies only the files that a policy needs', async () => {
    await copyCheckpoint(MODEL, inFolder('model'));
    expect(readdirSync(inFolder('model')).sort()).toEqual([
      'config.json',
      'model.safetensors',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
  });

  it('rejects a folder in which a file of an earlier import would stay', async () => {
    await copyCheckpoint(MODEL, inFolder('model'));
    await copyCheckpoint(MODEL, inFolder('model'));
    write('model', 'chat_template.jinja');
    const again = copyCheckpoint(MODEL, inFolder('model'));
    await expect(again).rejects.toThrow(/left chat_template\.jinja.*Remove/);
  });

  it('rejects an unsupported model and one without a tokenizer', async () => {
    writeModel('unknown');
    await expect(copyCheckpoint(inFolder('unknown'), inFolder('model'))).rejects.toThrow();
    await copyCheckpoint(MODEL, inFolder('cut'));
    rmSync(inFolder('cut', 'tokenizer.json'));
    await expect(copyCheckpoint(inFolder('cut'), inFolder('model'))).rejects.toThrow(
      /tokenizer\.json/,
    );
  });
});
