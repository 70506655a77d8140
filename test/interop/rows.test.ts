import { expect, it } from 'vitest';
import { readRows, writeRows, promptQuestion } from '../../lib/interop/rows.js';
import { readParquet, writeParquet } from '../../lib/io/parquet.js';
import { packagePath } from '../../lib/io/paths.js';
import { folderForEach } from '../folder.js';
import { COMPARISON, QUESTIONS } from '../training/tiny.js';

const inFolder = folderForEach();

it("keeps graphs, splits and types, and writes the method's prompt", async () => {
  const file = inFolder('train.parquet');
  const questions = [
    ...QUESTIONS,
    { id: 'bare', question: 'who is bo', goldenAnswers: ['x', 'y'], metadata: {} },
  ];
  await writeRows(file, questions, { prompt: 'parallel', promptForm: 'chat' });
  expect(await readRows(file)).toEqual(questions);
  const rows = await readParquet(file);
  const content = expect.stringMatching(/separated by ##.*Question: who is bo\?\n$/s) as string;
  expect(rows.at(-1)).toMatchObject({
    data_source: 'questions',
    prompt: [{ role: 'user', content }],
    reward_model: { style: 'rule', ground_truth: { target: ['x', 'y'], shape: null, id: 'bare' } },
    extra_info: { split: null, index: questions.length - 1, type: null },
  });
  expect(rows[QUESTIONS.indexOf(COMPARISON)]).toMatchObject({
    reward_model: { ground_truth: { shape: 'parallelizable' } },
    extra_info: { type: 'comparison', split: 'train' },
  });
});

it("reads Search-R1's files, also without ids and questions", async () => {
  expect(await readRows(packagePath('test', 'fixtures', 'search-r1.parquet'))).toEqual([
    {
      id: 'train_0',
      question: 'who directed red river',
      goldenAnswers: ['Bo Reed', 'Robert Reed'],
      split: 'train',
      metadata: { benchmark: 'nq' },
    },
    {
      id: 'train_1',
      question: 'Who was born first, Ada Stone or Bo Reed?',
      goldenAnswers: ['Bo Reed'],
      split: 'train',
      metadata: { benchmark: 'hotpotqa', type: 'comparison' },
    },
    {
      id: 'bamboogle-train-2',
      question: 'What is the capital of Estonia?',
      goldenAnswers: ['Tallinn'],
      split: 'train',
      metadata: { benchmark: 'bamboogle' },
    },
  ]);
});

it('finds the question in a prompt, up to the marks of a chat template', () => {
  expect(promptQuestion('Question: a?\nA) b\n')).toBe('a?\nA) b');
  expect(promptQuestion('user\nSay "Question: " first. Question: who?\nassistant\n')).toBe('who?');
  expect(promptQuestion('Question: a?\n<|im_end|>\n<|im_start|>assistant\n')).toBe('a?');
  expect(promptQuestion('Question: a\u2028b?\r\n')).toBe('a\u2028b?');
  expect(promptQuestion('no such word')).toBe('no such word');
});

it('keeps a question of several lines, and rejects one that only the prompt has', async () => {
  const file = inFolder('lines.parquet');
  const question = { id: 'a', question: 'Which?\nA) x\nB) y', goldenAnswers: ['A'], metadata: {} };
  await writeRows(file, [question], { prompt: 'parallel', promptForm: 'chat' });
  expect(await readRows(file)).toEqual([question]);
  const rows = await readParquet(file);
  await expect(
    readRows(
      file,
      rows.map((row) => ({ ...row, extra_info: null })),
    ),
  ).rejects.toThrow(/row 0: expected one line after "Question: ", but got "Which\?\\nA\) x/);
});

it('takes the question from the last user message unless a column has it', async () => {
  const row = {
    data_source: 'nq',
    prompt: [
      { role: 'user', content: 'Question: who?' },
      { role: 'assistant', content: 'Let me think.' },
    ],
    reward_model: { ground_truth: { target: 'a' } },
  };
  const rows = [row, { ...row, question: '' }, { ...row, extra_info: { question: 'where?' } }];
  expect((await readRows('a.parquet', rows)).map(({ question }) => question)).toEqual([
    'who?',
    'who?',
    'where?',
  ]);
});

it('takes null as missing, and names a row whose metadata is not JSON', async () => {
  const file = inFolder('foreign.parquet');
  const write = (metadata: string | null) => {
    const row = {
      data_source: 'nq',
      prompt: [{ role: 'user', content: 'Question: who?' }],
      reward_model: { ground_truth: { target: ['a'] } },
      extra_info: { index: null, type: null, metadata },
      metadata: { type: 'bridge' },
    };
    return writeParquet(file, [row, row], {
      data_source: 'text',
      prompt: [{ role: 'text', content: 'text' }],
      reward_model: { ground_truth: { target: ['text'] } },
      extra_info: { index: 'integer', type: 'text', metadata: 'text' },
      metadata: { type: 'text' },
    });
  };
  await write(null);
  const metadata = { benchmark: 'nq', type: 'bridge' };
  expect(await readRows(file)).toMatchObject([
    { id: 'nq-0', metadata },
    { id: 'nq-1', metadata },
  ]);
  await write('hard');
  await expect(readRows(file)).rejects.toThrow(/row 0: .*JSON.*extra_info\.metadata/s);
});

it('reports an invalid row', async () => {
  const file = inFolder('rows.parquet');
  await writeParquet(file, [{ prompt: 'x' }], { prompt: 'text' });
  await expect(readRows(file)).rejects.toThrow(/rows\.parquet, row 0/);
});
