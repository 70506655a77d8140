import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseQuestions } from '../../lib/data/flashrag.js';
import { packagePath, SMALL_WORLD } from '../../lib/io/paths.js';
import { temporaryFolder } from '../folder.js';
import { isBuilt, runCommand } from './command-line.js';
import { writeOwnData } from './tiny-world.js';
import { questionType } from '../../lib/data/question.js';

const root = temporaryFolder();
const check = (folder: string): ReturnType<typeof runCommand> =>
  runCommand(['data', 'check', folder]);

describe.skipIf(!isBuilt)('data check (needs dist/)', () => {
  it('prints what a folder contains and what it can be used for', async () => {
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

  it('names file and line of problems, and limits their number', async () => {
    const wrong = join(root, 'wrong');
    mkdirSync(wrong);
    const node = {
      id: 'a',
      question: 'a?',
      entity: 'a',
      attribute: 'b',
      query: 'a',
      dependsOn: [],
      answers: ['x'],
    };
    const rows = [
      {
        id: '1',
        question: 'Q?',
        golden_answers: ['x'],
        split: 'test',
        metadata: { graph: [{ ...node, evidence: ['p9'] }] },
      },
      { id: '2', question: 'Q?', golden_answers: ['x'], split: 'train' },
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
    expect(stdout).toContain('22 problems:');
    expect(stdout).toMatch(/corpus\.jsonl, line 2: .*unique.*p1/);
    expect(stdout).toMatch(/questions\.jsonl, line 3: golden_answers/);
    expect(stdout).toContain('  and 12 more\n');
    expect(stdout).toContain('"metadata": {"type": "comparison"}');
  });

  it.skipIf(!existsSync(SMALL_WORLD))('finds no problem in the small world', async () => {
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
