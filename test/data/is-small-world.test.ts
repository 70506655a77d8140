import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  formatPassages,
  formatQuestions,
  loadPassages,
  loadQuestions,
  isSmallWorld,
} from '../../lib/data/flashrag.js';
import { SMALL_WORLD } from '../../lib/io/paths.js';
import { temporaryFolder } from '../folder.js';
import { PASSAGES, QUESTIONS } from '../training/tiny.js';

const root = temporaryFolder();
function write(name: string, files: Record<string, string | Uint8Array>): string {
  const folder = join(root, name);
  mkdirSync(folder);
  for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
  return folder;
}

describe('isSmallWorld', () => {
  it('is true for its own folder, given or by default', async () => {
    expect([await isSmallWorld(), await isSmallWorld(SMALL_WORLD)]).toEqual([true, true]);
  });

  it('is true for part of its passages or questions, also compressed', async () => {
    const passages = formatPassages((await loadPassages()).slice(500, 900));
    const questions = formatQuestions((await loadQuestions()).slice(40, 60));
    expect(await isSmallWorld(write('part', { 'corpus.jsonl.gz': gzipSync(passages) }))).toBe(true);
    expect(await isSmallWorld(write('asked', { 'questions.jsonl': questions }))).toBe(true);
  });

  it('is false for other data, even with some of its passages', async () => {
    const [some] = await loadPassages();
    const mixed = formatPassages([some, ...PASSAGES]);
    expect(await isSmallWorld(write('other', { 'corpus.jsonl': mixed }))).toBe(false);
    const questions = formatQuestions(QUESTIONS);
    expect(await isSmallWorld(write('others', { 'test.jsonl': questions }))).toBe(false);
    expect(await isSmallWorld(write('broken', { 'corpus.jsonl': 'no JSON\n' }))).toBe(false);
  });

  it('reports a missing file', async () => {
    await expect(isSmallWorld(write('empty', {}))).rejects.toThrow('corpus.jsonl');
  });
});
