/**
 * Inputs and outputs of commands in a test's folder: a tiny model with its data, and JSON
 * lines.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, vi } from 'vitest';
import { formatPassages, formatQuestions } from '../../lib/data/flashrag.js';
import { saveModel } from '../../lib/policy/folders/model-folder.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { chattyModel, PASSAGES, QUESTIONS } from '../training/tiny.js';

/** Writes `model` and `data` into a folder and returns where they are. */
export async function writeTinyWorld(root: string): Promise<{ model: string; data: string }> {
  const [model, data] = [join(root, 'model'), join(root, 'data')];
  await useBackend('wasm');
  await saveModel(model, chattyModel(), { storage: 'F32' });
  mkdirSync(data);
  writeFileSync(join(data, 'passages.jsonl'), formatPassages(PASSAGES));
  writeFileSync(join(data, 'questions.jsonl'), formatQuestions(QUESTIONS));
  return { model, data };
}

/**
 * Writes a folder in FlashRAG's published layout: a compressed corpus, one file per
 * split, no graphs, and types if given.
 */
export function writeOwnData(
  folder: string,
  { type, numTest = 4 }: { type?: string; numTest?: number } = {},
): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'corpus.jsonl.gz'), gzipSync(formatPassages(PASSAGES)));
  for (const [split, count] of Object.entries({ train: 4, test: numTest })) {
    const questions = Array.from({ length: count }, (_, i) => ({
      id: `${split}_${i}`,
      question: QUESTIONS[i % QUESTIONS.length].question,
      goldenAnswers: ['1922'],
      metadata: type === undefined ? {} : { type },
    }));
    writeFileSync(join(folder, `${split}.jsonl`), `\uFEFF${formatQuestions(questions)}`);
  }
}

export const linesOf = <T = object>(file: string): T[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as T);

/**
 * Captures standard output or error until the test ends or `vi.restoreAllMocks` is
 * called. Returns what was written.
 */
export function captured(stream: 'stdout' | 'stderr'): () => string {
  let text = '';
  vi.spyOn(process[stream], 'write').mockImplementation((part) => (text += String(part)) !== '');
  return () => text;
}

/** Captures standard output and error of each test in the file separately. */
export function outputs(): { stdout: string; stderr: string } {
  const written = { stdout: '', stderr: '' };
  beforeEach(() => {
    for (const name of ['stdout', 'stderr'] as const) {
      written[name] = '';
      vi.spyOn(process[name], 'write').mockImplementation(
        (part) => (written[name] += String(part)) !== '',
      );
    }
  });
  return written;
}
