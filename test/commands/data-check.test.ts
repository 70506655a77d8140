import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatPassages, formatQuestions, parseQuestions } from '../../lib/data/flashrag.js';
import { questionType } from '../../lib/data/question.js';
import { packagePath, SMALL_WORLD } from '../../lib/io/paths.js';
import { subQuestion } from '../data/questions.js';
import { temporaryFolder } from '../folder.js';
import { slow } from '../full.js';
import { PASSAGES } from '../training/tiny.js';
import { isBuilt, runCommand } from './command-line.js';
import { linesOf, writeOwnData } from './tiny-world.js';

const root = temporaryFolder();
const check = (folder: string, ...options: string[]): ReturnType<typeof runCommand> =>
  runCommand(['data', 'check', folder, ...options]);

describe.skipIf(!isBuilt)('data check (needs dist/)', () => {
  it('prints what a folder contains and what it is good for', async () => {
    const own = join(root, 'own');
    writeOwnData(own, { type: 'comparison' });
    const { code, stdout } = await check(own);
    expect(code).toBe(0);
    for (const line of [
      /^ {2}corpus\.jsonl\.gz +6 passages$/m,
      /^ {2}train\.jsonl +4 questions: 4 train$/m,
      /^ {2}type +8 comparison \(parallelizable\)$/m,
      /^ {2}dependency graph +0 of 8 questions$/m,
      /^ {2}evaluate +4 questions of test: EM, F1, turns, calls and time; .* need graphs$/m,
      /^ {2}train +ParallelSearch’s rewards know/m,
      /^No problems\.$/m,
    ])
      expect(stdout).toMatch(line);
  });

  it('lists files that are not read', async () => {
    const folder = join(root, 'more');
    writeOwnData(folder);
    writeFileSync(join(folder, 'validation.jsonl'), '');
    writeFileSync(join(folder, 'dev.json'), '[]');
    writeFileSync(join(folder, 'questions.jsonl'), readFileSync(join(folder, 'test.jsonl')));
    const { stdout } = await check(folder);
    expect(stdout).toMatch(/validation\.jsonl +is ignored: questions are in/);
    expect(stdout).toMatch(/dev\.json +is ignored: questions are in/);
    expect(stdout).toMatch(/train\.jsonl +is ignored: another file takes precedence/);
  });

  it('accepts passages alone, as written by data make', async () => {
    const passages = join(root, 'passages');
    mkdirSync(passages);
    writeFileSync(join(passages, 'corpus.jsonl'), '{"id":"1","contents":"A\\nB"}\n');
    const { code, stdout } = await check(passages);
    expect(code).toBe(0);
    expect(stdout).toMatch(/evaluate, train +no questions: add questions\.jsonl/);
  });

  it('reports file and line of problems, and limits their number', async () => {
    const wrong = join(root, 'wrong');
    mkdirSync(wrong);
    const graph = [subQuestion('a', { evidence: ['p9'] })];
    const asked = { question: 'Q?', golden_answers: ['x'] };
    const rows = [
      { id: '1', ...asked, split: 'test', metadata: { graph, supporting: ['p1', 'p8', 'p9'] } },
      { id: '2', ...asked, split: 'train', metadata: { benchmark: 'nq' } },
      { id: '2', ...asked, question: 'R?', metadata: { benchmark: 'popqa' } },
      ...Array.from({ length: 20 }, (_, i) => ({ id: `bad-${i}`, question: 'Q?' })),
    ];
    writeFileSync(
      join(wrong, 'questions.jsonl'),
      rows.map((row) => JSON.stringify(row)).join('\n'),
    );
    writeFileSync(
      join(wrong, 'corpus.jsonl'),
      '{"id":"p1","contents":"T\\nx"}\n{"id":"p1","contents":"T\\ny"}\n',
    );
    const { code, stdout } = await check(wrong);
    expect(code).toBe(1);
    expect(stdout).toContain('24 problems:');
    expect(stdout).toMatch(/corpus\.jsonl, line 2: .*unique.*p1/);
    expect(stdout).toMatch(/questions\.jsonl, line 3: .*2 \(popqa\) .* line 2 \(nq\)/);
    expect(stdout).toMatch(/questions\.jsonl, line 4: golden_answers/);
    expect(stdout).toContain('  and 14 more\n');
    expect(stdout).toContain('"metadata": {"type": "comparison"}');
  });

  it('measures coverage by benchmark and type, and lists unanswerable questions', async () => {
    const own = join(root, 'coverage');
    mkdirSync(own);
    const rows = [
      ['q1', 'nq', 'Who directed Red River?', 'Bo Reed'],
      ['q2', 'nq', 'When was the director of Red River born?', '1904'],
      ['q3', 'mine', 'Where was Ada Stone born?', 'Paris'],
      ['q4', 'mine', 'Is Tallinn a capital?', 'yes'],
    ];
    const questions = rows.map(([id, benchmark, question, answer]) => {
      const metadata = { benchmark, type: 'x' };
      return { id, question, goldenAnswers: [answer], metadata };
    });
    writeFileSync(join(own, 'questions.jsonl'), formatQuestions(questions));
    writeFileSync(join(own, 'corpus.jsonl'), formatPassages(PASSAGES));
    const out = join(own, 'unanswerable.jsonl');
    const { code, stdout } = await check(own, '--retriever', 'exact', '--out', out);
    expect(code).toBe(0);
    const head = 'stated bm25@1 bm25@3 bm25@10 exact@1 exact@3 exact@10';
    expect(stdout.replace(/ +/g, ' ')).toContain(`questions ${head}\n`);
    expect(stdout).toMatch(/^mine x +n = 1 +0\.000 /m);
    expect(stdout).toMatch(/^nq x +n = 2 +1\.000 +0\.500 /m);
    expect(stdout).toMatch(/^all +n = 3 +0\.667 /m);
    expect(stdout).toContain('(such as yes or no): 1\n');
    expect(stdout).toContain('q3: Where was Ada Stone born? (Paris)');
    expect(linesOf(out)).toMatchObject([{ id: 'q3', golden_answers: ['Paris'] }]);
    const sampled = await check(own, '--limit', '2');
    expect(sampled.stderr).toMatch(/^Sample of 2 of 4 questions/m);
  });

  it('warns of repeated questions, passages and ids', async () => {
    const own = join(root, 'repeated');
    mkdirSync(own);
    const write = (split: string, texts: Record<string, string>): void => {
      const metadata = { benchmark: split === 'dev' ? 'nq' : 'popqa' };
      const questions = Object.entries(texts).map(([id, question]) => {
        return { id, question, goldenAnswers: ['1904'], metadata };
      });
      writeFileSync(join(own, `${split}.jsonl`), formatQuestions(questions));
    };
    write('train', {
      a1: 'When was the Bo Reed born?',
      a2: 'When was Cy Hill born?',
      a5: 'When was Cy Hill born',
    });
    write('dev', { a2: 'When was Ada born?' });
    write('test', { a3: 'when was Bo Reed born', a4: 'When did Bo Reed die?' });
    const copy = { ...PASSAGES[0], id: 'copy' };
    writeFileSync(join(own, 'corpus.jsonl'), formatPassages([...PASSAGES, copy]));
    const { code, stdout } = await check(own);
    expect(code).toBe(0);
    expect(stdout).toContain('Warnings: 4\n');
    expect(stdout).toMatch(
      /1 of 2 questions of test are also in train, such as a3 \(a1 in train\)/,
    );
    expect(stdout).toContain(
      '1 of 3 questions of train repeat the text of an earlier one, such as a5 (a2).',
    );
    expect(stdout).toContain(
      `passages repeat the text of an earlier one, such as copy (${PASSAGES[0].id}).`,
    );
    expect(stdout).toMatch(/a2 is the id of 2 questions: popqa train and nq dev/);
  });

  slow('finds no problem in the small world (needs test:full)', async () => {
    const { code, stdout } = await check(SMALL_WORLD);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/with a graph$/m)]);
  });
});

describe('docs/data.md', () => {
  it('has valid examples of the stated question types', () => {
    const page = readFileSync(packagePath('docs', 'data.md'), 'utf8');
    const examples = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) =>
      JSON.stringify(JSON.parse(json)),
    );
    const questions = parseQuestions(examples.join('\n'));
    expect(questions.map(questionType)).toEqual(['parallelizable', 'sequential']);
  });

  it('gives the question type of each benchmark type', () => {
    const page = readFileSync(packagePath('docs', 'data.md'), 'utf8');
    const rows = [...page.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| ([\w ]+) \| /gm)];
    const kinds = { 'single hop': 'single_hop' } as Record<string, string>;
    const told = rows
      .slice(1)
      .flatMap(([, types, kind]) =>
        types.split(', ').map((type) => [type.slice(1, -1), kinds[kind] ?? kind] as const),
      );
    expect(told).toHaveLength(10);
    for (const [type, kind] of told) expect(questionType({ metadata: { type } }), type).toBe(kind);
  });
});
