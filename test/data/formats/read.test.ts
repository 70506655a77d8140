import { mkdirSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PassageCollector } from '../../../lib/data/formats/format.js';
import { readBenchmark } from '../../../lib/data/formats/read.js';
import type { Question } from '../../../lib/data/question.js';
import { folderForEach } from '../../folder.js';
import {
  HOTPOT_BRIDGE,
  HOTPOT_COMPARISON,
  MUSIQUE_TWO_AND_ONE,
  onHuggingFace,
  TWO_WIKI_BRIDGE_COMPARISON,
} from './rows.js';

const inFolder = folderForEach();

async function readFile(name: string, content: string | Buffer): Promise<(Question | null)[]> {
  const file = inFolder(name);
  writeFileSync(file, content);
  const questions: (Question | null)[] = [];
  for await (const question of readBenchmark(file, new PassageCollector()))
    questions.push(question);
  return questions;
}

describe('readBenchmark', () => {
  it('recognises formats by their rows, and splits by file names', async () => {
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
    const [held] = await readFile('hotpot_validation.json', JSON.stringify([HOTPOT_BRIDGE]));
    expect(held).toMatchObject({ split: 'dev' });
    // Hugging Face's Parquet copies are SUBSET/SPLIT/0000.parquet.
    mkdirSync(inFolder('validation'));
    const [numbered] = await readFile('validation/0000.json', JSON.stringify([HOTPOT_BRIDGE]));
    expect(numbered).toMatchObject({ split: 'dev' });
    const [own] = await readFile('mine.json', JSON.stringify([HOTPOT_BRIDGE]));
    expect(own).not.toHaveProperty('split');
  });

  it('reads gzip and a byte order mark, and rejects bytes that are not UTF-8', async () => {
    const text = `\uFEFF${JSON.stringify([{ ...HOTPOT_COMPARISON, question: 'Århus?' }])}`;
    expect(await readFile('packed.json.gz', gzipSync(text))).toMatchObject([
      { question: 'Århus?' },
    ]);
    await expect(readFile('bad.json', Buffer.from(text.slice(1), 'latin1'))).rejects.toThrow(
      /bad\.json.*UTF-8|UTF-8.*bad\.json/,
    );
  });

  it('reads columns and JSON as on Hugging Face, and rows under `data`', async () => {
    const rows = [HOTPOT_BRIDGE, HOTPOT_COMPARISON, TWO_WIKI_BRIDGE_COMPARISON];
    const expected = await readFile('train.json', JSON.stringify(rows));
    const lines = rows.map((row) => `${JSON.stringify(onHuggingFace(row as never))}\n`).join('');
    expect(await readFile('train.jsonl', lines)).toEqual(expected);
    const { context, evidences, supporting_facts: facts, ...wiki } = TWO_WIKI_BRIDGE_COMPARISON;
    const [asJson, supported] = [JSON.stringify(context), JSON.stringify(facts)];
    const packed = { ...wiki, context: asJson, supporting_facts: supported };
    const row = JSON.stringify({ ...packed, evidences: JSON.stringify(evidences) });
    expect(await readFile('train.jsonl', `${row}\n`)).toEqual(
      await readFile('train.json', JSON.stringify([TWO_WIKI_BRIDGE_COMPARISON])),
    );
    const wrapped = JSON.stringify({ data: rows, version: 1 });
    expect(await readFile('train.json', wrapped)).toEqual(expected);
  });

  it('rejects columns of different lengths', async () => {
    const columns = { title: ['a', 'b'], sentences: [['one']] };
    const row = JSON.stringify({ ...HOTPOT_BRIDGE, context: columns });
    await expect(readFile('rows.jsonl', `${row}\n`)).rejects.toThrow(/Row 1.*context/s);
  });

  it('reports rows that are nested too deeply', async () => {
    const deep = '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000);
    for (const content of [`[${deep}]`, `${deep}\n`])
      await expect(readFile('deep.json', content)).rejects.toThrow(/deep\.json.*nested more than/);
  });

  it('reads arrays larger than a chunk', async () => {
    const rows = Array.from({ length: 400 }, (_, i) => ({ ...HOTPOT_COMPARISON, _id: `é${i}` }));
    const questions = await readFile('train.json', JSON.stringify(rows));
    expect(questions.map((question) => question?.id)).toEqual(rows.map(({ _id }) => _id));
  });

  it.each([
    ['[{"_id": "a"}]', /row 1 of .*hotpotqa, 2wikimultihopqa, musique.*\{"_id":"a"\}/],
    ['3\n', /row 1 of/],
    [JSON.stringify([{ ...HOTPOT_BRIDGE, context: 'x' }]), /Row 1 of .*hotpotqa.*context/s],
    [`[${JSON.stringify(HOTPOT_BRIDGE)},`, /truncated/],
    [`[${JSON.stringify(HOTPOT_BRIDGE)} {]`, /JSON in .*rows\.json/],
    ['{"id": \n', /rows\.json:1: /],
  ])('rejects %j', async (content, message) => {
    await expect(readFile('rows.json', content)).rejects.toThrow(message);
  });
});
