import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PassageCollector } from '../../../lib/data/formats/format.js';
import { readBenchmark } from '../../../lib/data/formats/read.js';
import type { Question } from '../../../lib/data/question.js';
import { folderForEach } from '../../folder.js';
import {
  HOTPOT_BRIDGE,
  HOTPOT_COMPARISON,
  MUSIQUE_TWO_AND_ONE,
  TWO_WIKI_BRIDGE_COMPARISON,
} from './rows.js';

const inFolder = folderForEach();

async function readFile(name: string, content: string): Promise<(Question | null)[]> {
  const file = inFolder(name);
  writeFileSync(file, content);
  const questions: (Question | null)[] = [];
  for await (const question of readBenchmark(file, new PassageCollector()))
    questions.push(question);
  return questions;
}

describe('readBenchmark', () => {
  it('knows files by their rows, and splits by their names', async () => {
    const hotpot = await readFile(
      'hotpot_dev_distractor_v1.json',
      JSON.stringify([HOTPOT_BRIDGE, HOTPOT_COMPARISON]),
    );
    expect(hotpot.map((question) => [question?.id, question?.split])).toEqual([
      ['h2', 'dev'],
      ['h1', 'dev'],
    ]);
    const [wiki] = await readFile(
      'train.json',
      JSON.stringify([TWO_WIKI_BRIDGE_COMPARISON], null, 2),
    );
    expect(wiki).toMatchObject({ split: 'train', metadata: { benchmark: '2wikimultihopqa' } });
    const [musique] = await readFile(
      'musique_ans_v1.0_dev.jsonl',
      `${JSON.stringify(MUSIQUE_TWO_AND_ONE)}\n`,
    );
    expect(musique).toMatchObject({ split: 'dev', metadata: { benchmark: 'musique' } });
    const [own] = await readFile('mine.json', JSON.stringify([HOTPOT_BRIDGE]));
    expect(own).not.toHaveProperty('split');
  });

  it('reads arrays that are larger than a piece of the file', async () => {
    const rows = Array.from({ length: 400 }, (_, i) => ({ ...HOTPOT_COMPARISON, _id: `é${i}` }));
    const questions = await readFile('train.json', JSON.stringify(rows));
    expect(questions.map((question) => question?.id)).toEqual(rows.map(({ _id }) => _id));
  });

  it.each([
    [
      '[{"_id": "a"}]',
      /Expected row 1 of .* to be one of hotpotqa, 2wikimultihopqa, musique, but got \{"_id":"a"\}\./,
    ],
    ['3\n', /Expected row 1 of/],
    [
      JSON.stringify([{ ...HOTPOT_BRIDGE, context: 'x' }]),
      /Row 1 of .* is none of hotpotqa: .*context/s,
    ],
    [`[${JSON.stringify(HOTPOT_BRIDGE)},`, /Expected the whole of a JSON array in/],
    [`[${JSON.stringify(HOTPOT_BRIDGE)} {]`, /Expected JSON in .*rows\.json, but /],
    ['{"id": \n', /rows\.json:1: /],
  ])('says what is wrong with %j', async (content, message) => {
    await expect(readFile('rows.json', content)).rejects.toThrow(message);
  });
});
