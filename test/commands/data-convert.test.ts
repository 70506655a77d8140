/** Converting questions between layouts, as a user does. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadDataSet, loadQuestions } from '../../lib/data/flashrag.js';
import { methodRollout } from '../../lib/interop/export.js';
import { readRows, writeRows } from '../../lib/interop/rows.js';
import { writeParquet } from '../../lib/io/parquet.js';
import {
  HOTPOT_BRIDGE,
  HOTPOT_COMPARISON,
  MUSIQUE_TWO_AND_ONE,
  onHuggingFace,
  TWO_WIKI_BRIDGE_COMPARISON,
} from '../data/formats/rows.js';
import { temporaryFolder } from '../folder.js';
import { isBuilt, refusal, runCommand } from './command-line.js';
import { linesOf } from './tiny-world.js';

const root = temporaryFolder();
const at = (...parts: string[]): string => join(root, ...parts);
const ORIGINALS = {
  'hotpot_train_v1.1.json': JSON.stringify([
    HOTPOT_BRIDGE,
    HOTPOT_COMPARISON,
    { ...HOTPOT_BRIDGE, _id: 'x', answer: null },
  ]),
  'hotpot_dev.json': JSON.stringify([TWO_WIKI_BRIDGE_COMPARISON]),
  'musique_ans_v1.0_dev.jsonl': `${JSON.stringify(MUSIQUE_TWO_AND_ONE)}\n`,
};
for (const [name, content] of Object.entries(ORIGINALS)) writeFileSync(at(name), content);
const convert = (args: readonly string[]) => runCommand(['data', 'convert', ...args], root);
const refused = (args: readonly string[]) => refusal(['data', 'convert', ...args], root);

describe.skipIf(!isBuilt)('data convert (needs dist/)', () => {
  it('merges files of several benchmarks into a valid folder', async () => {
    const { code, stderr } = await convert([...Object.keys(ORIGINALS), '--out', 'all']);
    expect(stderr).toContain(
      '4 questions (1 sequential, 1 parallelizable and 2 hybrid; 4 with a dependency graph) and 13 passages: all/corpus.jsonl and all/questions.jsonl',
    );
    expect(stderr).toContain('Skipped 1 rows');
    expect(code).toBe(0);
    const checked = await runCommand(['data', 'check', at('all')]);
    expect(checked.stdout).toContain('No problems.');
    expect(checked).toMatchObject({ code: 0 });
    const { questions } = await loadDataSet(at('all'));
    expect(questions.map(({ split }) => split)).toEqual(['train', 'train', 'dev', 'dev']);
  });

  it('converts to verl’s files and back without loss', async () => {
    const to = await convert(['all', '--to', 'verl', '--method', 'search-r1', '--out', 'rows']);
    expect(to.stderr).toMatch(/graph\): rows\S* and rows\S*\nLeft out the passages/);
    const rows = await readRows(at('rows', 'train.parquet'));
    expect(rows.map(({ id }) => id)).toEqual(['h2', 'h1']);
    const { code } = await convert(['rows/train.parquet', 'rows/dev.parquet', '--out', 'back']);
    expect(code).toBe(0);
    expect(linesOf(at('back', 'questions.jsonl'))).toEqual(linesOf(at('all', 'questions.jsonl')));
    expect(existsSync(at('back', 'corpus.jsonl'))).toBe(false);
  });

  it('reads a benchmark’s Parquet file', async () => {
    const rows = [HOTPOT_BRIDGE, { ...HOTPOT_BRIDGE, _id: 'x', answer: null as never }];
    await writeParquet(at('train-00000-of-00001.parquet'), rows.map(onHuggingFace) as never, {
      id: 'text',
      question: 'text',
      answer: 'text',
      type: 'text',
      level: 'text',
      supporting_facts: { title: ['text'], sent_id: ['integer'] },
      context: { title: ['text'], sentences: [['text']] },
    });
    const { code } = await convert(['train-00000-of-00001.parquet', '--out', 'from-parquet']);
    expect(code).toBe(0);
    expect(linesOf(at('from-parquet', 'questions.jsonl'))).toEqual(
      linesOf(at('all', 'questions.jsonl')).slice(0, 1),
    );
  });

  it('writes the benchmarks’ original formats', async () => {
    for (const layout of ['hotpotqa', '2wikimultihopqa', 'musique'])
      expect(await convert(['all', '--to', layout, '--out', layout])).toMatchObject({ code: 0 });
    const hotpot = JSON.parse(readFileSync(at('hotpotqa', 'train.json'), 'utf8')) as object[];
    expect(hotpot[0]).toMatchObject({
      _id: 'h2',
      question: HOTPOT_BRIDGE.question,
      answer: '1904',
      type: 'bridge',
      level: 'easy',
      context: HOTPOT_BRIDGE.context.slice(0, 2),
    });
    const wiki = JSON.parse(readFileSync(at('2wikimultihopqa', 'dev.json'), 'utf8')) as object[];
    expect(wiki[0]).toMatchObject({ _id: 'w1', evidences: TWO_WIKI_BRIDGE_COMPARISON.evidences });
    expect(linesOf(at('musique', 'dev.jsonl')).at(-1)).toMatchObject({
      id: MUSIQUE_TWO_AND_ONE.id,
      answer_aliases: ['medieval latin language'],
      question_decomposition: [
        { id: 1, question: 'Franks >> king', answer: 'Charlemagne', paragraph_support_idx: 0 },
        { id: 2, question: 'where does the name sylvester come from' },
        { id: 3, question: 'What was the #2 of #1 later known as?', answer: 'Medieval Latin' },
      ],
    });
  });

  it('leaves out questions whose dependencies a layout cannot state, and counts lost graphs', async () => {
    const hotpot = await convert(['all', '--to', 'hotpotqa', '--out', 'lost']);
    expect(hotpot.stderr).toContain('2 with a dependency graph');
    expect(hotpot.stderr).toContain('Wrote 2 questions without their dependency graph: hotpotqa');
    const wiki = await convert(['all', '--to', '2wikimultihopqa', '--out', 'left']);
    expect(wiki.stderr).toMatch(/3 questions .*\n.*\nLeft out 1 questions .*such as 3hop2__1_2_3/);
    const dev = JSON.parse(readFileSync(at('left', 'dev.json'), 'utf8')) as object[];
    expect(dev).toMatchObject([{ _id: 'w1' }]);
    const only = ['musique_ans_v1.0_dev.jsonl', '--to', '2wikimultihopqa', '--out', 'no-folder'];
    expect(await refused(only)).toContain('--to flashrag');
    expect(existsSync(at('no-folder'))).toBe(false);
  });

  it('counts questions whose paragraphs the source lacks', async () => {
    const { stderr } = await convert(['rows/train.parquet', '--to', 'musique', '--out', 'bare']);
    expect(stderr).toContain('2 questions lack paragraphs');
  });

  it('prefixes repeated ids with the benchmark, and rejects duplicates', async () => {
    const row = (question: string) =>
      `${JSON.stringify({ id: 'test_0', question, golden_answers: ['x'] })}\n`;
    for (const name of ['nq', 'triviaqa', 'other/nq']) {
      mkdirSync(at(name), { recursive: true });
      writeFileSync(at(name, 'test.jsonl'), row(`Who of ${name}?`));
    }
    const { code } = await convert(['nq', 'triviaqa', '--out', 'both']);
    expect(code).toBe(0);
    const rows = await convert(['nq', '--to', 'hotpotqa', '--out', 'rows-of-nq']);
    expect(rows.stderr).toContain('Wrote 1 question without paragraphs');
    const ids = linesOf(at('both', 'questions.jsonl')).map((line) => (line as { id: string }).id);
    expect(ids).toEqual(['nq-test_0', 'triviaqa-test_0']);
    expect(await refused(['nq', 'other/nq', '--out', 'none'])).toContain('Who of other/nq?');
    expect(existsSync(at('none'))).toBe(false);
  });

  it('counts questions whose gold paragraphs are missing, and answers that a layout has no place for', async () => {
    const named = [HOTPOT_COMPARISON, TWO_WIKI_BRIDGE_COMPARISON].map((row) => ({
      ...row,
      supporting_facts: [...row.supporting_facts, ['Not There', 0]],
    }));
    writeFileSync(at('hotpot_dev_fullwiki_v1.json'), JSON.stringify([...named, HOTPOT_BRIDGE]));
    const { stderr } = await convert(['hotpot_dev_fullwiki_v1.json', '--out', 'fullwiki']);
    expect(stderr).toContain('2 questions lack paragraphs');
    const cut = await convert(['all', '--to', 'hotpotqa', '--out', 'cut']);
    const whole = await convert(['all', '--to', 'musique', '--out', 'whole']);
    expect(cut.stderr).toContain('the first right answer of 1 questions: hotpotqa');
    expect(whole.stderr).not.toMatch(/first right answer|lack/);
  });

  it('names the files of a folder that it leaves out', async () => {
    mkdirSync(at('hub'));
    const line = (id: string): string =>
      `${JSON.stringify({ id, question: `${id}?`, golden_answers: ['x'] })}\n`;
    writeFileSync(at('hub', 'train.jsonl'), line('a'));
    writeFileSync(at('hub', 'validation.jsonl'), line('b'));
    const { stderr, code } = await convert(['hub', '--out', 'hub-out']);
    expect(stderr).toMatch(
      /Left out validation\.jsonl in hub: .*name it: .*data convert hub.validation\.jsonl$/m,
    );
    expect([code, linesOf(at('hub-out', 'questions.jsonl')).length]).toEqual([0, 1]);
  });

  it('takes the split of rows without one from the name of a Parquet file', async () => {
    const prompt = [{ role: 'user', content: 'Question: Who?' }];
    const row = { prompt, reward_model: { ground_truth: { target: ['x'] } } };
    await writeParquet(at('test.parquet'), [row], {
      prompt: [{ role: 'text', content: 'text' }],
      reward_model: { ground_truth: { target: ['text'] } },
    });
    await convert(['test.parquet', '--out', 'named']);
    expect((await loadQuestions(at('named'))).map(({ split }) => split)).toEqual(['test']);
  });

  it('skips rows without a right answer in Parquet files', async () => {
    const questions = [[], ['x']].map((goldenAnswers, i) => {
      return { id: `q${i}`, question: 'Who?', goldenAnswers, metadata: {} };
    });
    await writeRows(at('some.parquet'), questions, methodRollout('search-r1', 'chat'));
    const { stderr } = await convert(['some.parquet', '--out', 'some']);
    expect(stderr).toContain('Skipped 1 rows');
    expect((await loadQuestions(at('some'))).map(({ id }) => id)).toEqual(['q1']);
  });

  it('reports a row that it cannot convert before writing', async () => {
    const rows = [MUSIQUE_TWO_AND_ONE, { ...MUSIQUE_TWO_AND_ONE, id: 7 }];
    writeFileSync(at('bad.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
    expect(await refused(['bad.jsonl', '--out', 'nothing'])).toContain('Row 2 of');
    expect(existsSync(at('nothing'))).toBe(false);
  });

  it('rejects empty and missing sources', async () => {
    writeFileSync(at('none.json'), '[]');
    for (const name of ['none.json', 'missing.json'])
      expect(await refused([name, '--out', 'none'])).toContain(name);
    expect(existsSync(at('none'))).toBe(false);
  });

  it.skipIf(process.platform === 'win32')(
    'rejects pipes, which can be read only once',
    async () => {
      execFileSync('mkfifo', [at('pipe.json')]);
      expect(await refused(['pipe.json', '--out', 'none'])).toContain('it is a pipe');
    },
  );
});
