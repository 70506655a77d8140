import { readFileSync, writeFileSync } from 'node:fs';
import { cross, range } from 'd3-array';
import { beforeAll, describe, expect, it } from 'vitest';
import { compareHtml } from '../../../lib/pages/runs/comparison-page.js';
import { answerFigures, readComparedRuns } from '../../../lib/report/compared-runs.js';
import { testsPages } from '../../browser/chromium.js';
import { complaintsAboutReport } from '../../browser/page-checks.js';
import { result } from '../../experiments/synthetic.js';
import { comparedFolder, readAll } from '../../report/compared-folder.js';
import { writeStep } from '../../training/synthetic-run.js';
import { syntheticQuestion, trajectoryLine } from '../viewer/synthetic.js';

const { inRoot, writeAnswers, writeLines } = comparedFolder();

/** The page without its scripts. */
const shownOn = (html: string): string => /<main[^]*<\/main>/.exec(html)![0];

describe('pairs of answers', () => {
  it('keeps questions with the same id in two benchmarks apart', async () => {
    // FlashRAG numbers every benchmark from test_0.
    const sources = cross(['a', 'b'], ['nq', 'triviaqa'], (run, benchmark) => {
      const em = run === 'a' && benchmark === 'nq' ? 1 : 0;
      const file = `${benchmark}-${run}.jsonl`;
      writeLines(file, [result({ questionId: 'test_0', benchmark, coverage: NaN, em })]);
      return `${run}=${inRoot(file)}`;
    });
    const runs = await readAll(...sources);
    const { contrasts, numQuestions } = answerFigures(runs)!;
    expect(numQuestions).toBe(2);
    expect(contrasts.find(({ metric }) => metric === 'em')).toMatchObject({ value: -0.5 });
    const asked = ['nq', 'triviaqa'].map((benchmark) => {
      const own = { question: `Which of ${benchmark}?`, metadata: { benchmark } };
      return { ...syntheticQuestion(0), id: 'test_0', ...own };
    });
    const shown = shownOn(await compareHtml(runs, { questions: asked }));
    expect(shown).toContain('Which of nq? · a ✓ · b ✗');
    expect(shown).toContain('Which of triviaqa? · a ✗ · b ✗');
  });

  it('does not show trajectories of different questions with one id side by side', async () => {
    const write = (name: string, ...asked: [id: string, question: string][]): void =>
      writeLines(
        `${name}.jsonl`,
        asked.map(([id, question]) =>
          trajectoryLine({ ...syntheticQuestion(0), id, question }, [], 'x'),
        ),
      );
    write('this', ['test_0', 'Who wrote Emma?'], ['test_1', 'Who wrote Ivanhoe?']);
    write('that', ['test_0', 'Who wrote Emma?'], ['test_1', 'Who wrote Dracula?']);
    // Has the question of the other run with its id.
    write('ids', ['test_0', '']);
    for (const name of ['a', 'b'])
      write(name, ['test_0', 'Who wrote Emma?'], ['test_0', 'Who wrote Dracula?']);
    const page = async (...names: string[]): Promise<string> =>
      shownOn(await compareHtml(await readAll(...names.map((name) => inRoot(`${name}.jsonl`)))));
    const both = await page('this', 'that');
    expect(both).toContain('1 question asked in several runs');
    expect(both).toContain('Who wrote Emma? · this ✗ · that ✗');
    expect(both).toContain('Not compared: 1 id with different questions.');
    expect(both).not.toMatch(/Ivanhoe|Dracula/);
    const ids = await page('ids', 'that');
    expect(ids).toContain('ids ✗ · that ✗');
    expect(ids).not.toContain('Not compared');
    const same = await page('a', 'b');
    expect(same).toContain('2 questions asked in several runs');
    expect(same).not.toContain('Not compared');
  });

  it('gives no figures if the runs share no question', async () => {
    const runs = await readAll(...writeAnswers());
    runs[0].answers.length = 0;
    expect(answerFigures(runs)?.numQuestions).toBe(21);
    runs[0].answers.push({ ...runs[1].answers[0], questionId: 'another' });
    expect(answerFigures(runs)).toBeNull();
    expect(shownOn(await compareHtml(runs))).toContain('No question was answered by all runs');
  });
});

describe('the comparison page', () => {
  const questions = range(21).map(syntheticQuestion);
  let html: string;
  let shown: string;
  beforeAll(async () => {
    const [one, two] = writeAnswers();
    const sources = ['a', 'b'].map((name) => `${name}=${inRoot(name)}`);
    html = await compareHtml(await readAll(...sources, `a=${one}`, `b=${two}`), { questions });
    shown = shownOn(html);
  });

  it('starts with the largest difference', () => {
    expect(shown).toMatch(/<p>Exact match of b against a: \+50\.0 \[.*20 questions/);
  });

  it('lists only settings that differ', () => {
    const [, table] = /<caption>Settings that differ[^<]*<\/caption>(.*?)<\/table>/s.exec(html)!;
    const [runs, ...names] = ['col', 'row'].flatMap((scope) => {
      const cells = table.matchAll(new RegExp(`<th scope="${scope}"[^>]*>([^<]*)<`, 'g'));
      return [[...cells].map(([, text]) => text)];
    });
    expect(runs).toEqual(['Setting', 'a', 'b']);
    expect(names).toEqual([['seed', 'reward components', 'rewards.lambdaD']]);
    expect(table).toContain('one at a time, mine');
  });

  it('draws a curve of each run in every chart', () => {
    const charts = html.matchAll(/<figure class="chart" id="curve-([\w-]+)"/g);
    expect(Array.from(charts, ([, id]) => id).join()).toBe(
      'reward,rewards-outcome,turns,decomposition_ratio,kl,entropy,completions-mean_length',
    );
    expect(shown).toMatch(/Reward\. a 0\.200 \(step 0\).*b 0\.000 \(step 0\).*5\.000 \(step 5\)/);
  });

  it('shows questions with one right and one wrong answer first, as text only', () => {
    const found = html.matchAll(/<details class="question"><summary>([^<]*)</g);
    const summaries = Array.from(found, ([, text]) => text);
    expect(summaries).toHaveLength(12);
    expect(summaries.slice(0, 10).every((text) => text.endsWith(' · a ✗ · b ✓'))).toBe(true);
    expect(summaries[10]).toMatch(/ · a ✗ · b ✗$/);
    expect(shown).toContain('&lt;img src=x');
    expect(shown).not.toContain('<img');
  });

  it('prefers the newest trajectory of a question to its answer', async () => {
    const page = shownOn(await compareHtml(await readAll(inRoot('a'), inRoot('b'))));
    expect(page).toContain('step 5 · ✗ wrong · 1 turn');
    expect(page).toContain('information for 1 sub-query');
    expect(page).toContain('Outcome reward at the end of training: a 0.600 [0.600, 0.600] and b');
  });

  it('lists every model and seed of the answers in a file', async () => {
    const answers = [1, 2].map((seed) => result({ questionId: `q-${seed}`, seed }));
    writeLines('mixed.jsonl', answers);
    const [{ settings }] = await readAll(inRoot('mixed.jsonl'));
    const [{ method, model }] = answers;
    expect(settings).toEqual({ method, model, seed: '1, 2' });
  });

  it('names runs with unknown settings', async () => {
    writeStep(inRoot('unfinished'), 0);
    const page = shownOn(await compareHtml(await readAll(inRoot('a'), inRoot('unfinished'))));
    expect(page).toMatch(/Settings of unfinished are unknown/);
  });

  it('rejects other files and folders', async () => {
    await expect(readAll(inRoot())).rejects.toThrow(/metrics\.jsonl, or answers\.jsonl/);
    await expect(readAll(inRoot('absent'))).rejects.toThrow(/absent does not exist/);
    await expect(readAll(inRoot('a'), inRoot('a'))).rejects.toThrow(/one training .*name a,/);
    await expect(readAll(`x=${inRoot('a')}`, `x=${inRoot('b')}`)).rejects.toThrow(/name x,/);
    writeFileSync(inRoot('bad.jsonl'), '{"a": 1}\n');
    await expect(readAll(inRoot('bad.jsonl'))).rejects.toThrow(/bad\.jsonl:1/);
    writeFileSync(inRoot('empty.jsonl'), '\n');
    await expect(readAll(inRoot('empty.jsonl'))).rejects.toThrow(/empty\.jsonl, but it is empty/);
    const [answers] = writeAnswers();
    // Neither missing nor in per cent.
    for (const em of ['null', '100']) {
      const text = readFileSync(answers, 'utf8').replace(/"em":\d/, `"em":${em}`);
      writeFileSync(inRoot('bad.jsonl'), text);
      await expect(readAll(inRoot('bad.jsonl'))).rejects.toThrow(/bad\.jsonl:1[^]*at em\b/);
    }
  });

  it.skipIf(!testsPages)(
    'is accessible, also with the long names of a sweep (needs Chromium and test:full)',
    async () => {
      const runs = [0.15, 0.5].map((lambda, i) => ({
        name: `rewards.lambdaD=${lambda},grpo.questionsPerStep=8`,
        path: inRoot('ab'[i]),
      }));
      writeFileSync(inRoot('compare.html'), await compareHtml(await readComparedRuns(runs)));
      expect(await complaintsAboutReport(inRoot('compare.html'))).toEqual([]);
    },
    300_000,
  );
});
