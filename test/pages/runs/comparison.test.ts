import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cross, range } from 'd3-array';
import { beforeAll, describe, expect, it } from 'vitest';
import { matching } from '../../../lib/evaluation/table.js';
import { compareHtml } from '../../../lib/pages/runs/comparison-page.js';
import { answerFigures, finalFigure, finalFigures } from '../../../lib/pages/runs/comparison.js';
import { parseSources, readComparedRuns, shortNames } from '../../../lib/pages/runs/comparison.js';
import type { ComparedRun } from '../../../lib/pages/runs/comparison.js';
import { testsPages } from '../../browser/chromium.js';
import { complaintsAboutReport } from '../../browser/page-checks.js';
import { result } from '../../experiments/synthetic.js';
import { temporaryFolder } from '../../folder.js';
import { RUN, writeStep } from './run.js';
import { INJECTION, syntheticQuestion, trajectoryLine } from '../viewer/synthetic.js';

const root = temporaryFolder();
const inRoot = (...parts: string[]): string => path.join(root, ...parts);

/**
 * Writes a training of six steps with a configuration different from the synthetic one.
 */
function writeTraining(
  name: string,
  config: object,
  metrics: (step: number) => Record<string, number>,
): void {
  for (let step = 0; step < 6; step++) writeStep(inRoot(name), step, metrics(step));
  mkdirSync(inRoot(name, 'adapter'));
  const file = inRoot(name, 'adapter', 'train_config.json');
  writeFileSync(file, JSON.stringify({ ...RUN.config, ...config }));
}
const writeLines = (file: string, lines: readonly object[]): void =>
  writeFileSync(inRoot(file), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

writeTraining('a', { seed: 1 }, () => ({ reward: 0.2 }));
writeTraining('b', { seed: 2, rewards: { preset: 'paper', lambdaD: 0.5 } }, (reward) => {
  return { reward, 'rewards/mine': 1 };
});
/** The page without its scripts. */
const shownOn = (html: string): string => /<main[^]*<\/main>/.exec(html)![0];
const readAll = (...texts: string[]): Promise<ComparedRun[]> =>
  readComparedRuns(parseSources(texts));

describe('shortNames', () => {
  it('uses the shortest distinct ends of paths', () => {
    expect(shortNames(['runs/a', 'other/b/'])).toEqual(['a', 'b']);
    const files = ['runs/a/answers.jsonl', './b/answers.jsonl'];
    expect(shortNames(files)).toEqual(['a/answers', 'b/answers']);
    expect(shortNames(['a', 'a'])).toEqual(['a', 'a']);
  });
});

describe('finalFigure', () => {
  it('is the mean of the last steps with an interval', async () => {
    const [, b] = await readAll(inRoot('a'), inRoot('b'));
    const { value, low, high, numSteps } = finalFigure(b, 'reward')!;
    expect([value, numSteps]).toEqual([3, 5]);
    expect(low).toBeGreaterThanOrEqual(1);
    expect(low).toBeLessThan(3);
    expect(high).toBeLessThanOrEqual(5);
    expect(high).toBeGreaterThan(3);
    expect(finalFigure(b, 'nothing')).toBeNull();
  });
});

describe('finalFigures', () => {
  it('has the differences of the last training steps to the first run', async () => {
    const figures = finalFigures(await readAll(inRoot('a'), inRoot('b')));
    const rewards = matching(figures, { metric: 'reward' });
    // a is 0.2 in all steps and b is 1 to 5 in the last five.
    const interval = finalFigure((await readAll(inRoot('b')))[0], 'reward')!;
    expect(rewards).toEqual([
      expect.objectContaining({ run: 'a', n: 5, difference: null }),
      expect.objectContaining({ run: 'b', n: 5 }),
    ]);
    expect(rewards[1].difference!.value).toBeCloseTo(2.8, 10);
    expect(rewards[1].difference!.low).toBeCloseTo(interval.low - 0.2, 10);
    expect(rewards[1].difference!.high).toBeCloseTo(interval.high - 0.2, 10);
  });

  it('has the paired differences of answers by metric', async () => {
    const figures = finalFigures(await readAll(...writeAnswers()));
    const exact = matching(figures, { source: 'answers', metric: 'em', n: 20 });
    expect(exact.map(({ run }) => run)).toEqual(['one', 'two']);
    expect([exact[1].figure.value, exact[1].difference?.value]).toEqual([0.5, 0.5]);
  });
});

/**
 * Answers of two runs. The second is right on the first half of the common questions, and
 * has one more question.
 */
function writeAnswers(): string[] {
  const answers = (count: number, fields: (i: number) => object): object[] =>
    range(count).map((i) => result({ questionId: `q-${i}`, coverage: NaN, ...fields(i) }));
  const wrong = answers(20, () => ({ em: 0, f1: 0, answer: INJECTION }));
  const searches = [['Town', 'River']];
  const half = answers(21, (i) => ({ em: i < 10 ? 1 : 0, f1: 0.5, searches }));
  writeLines('one.jsonl', wrong);
  writeLines('two.jsonl', half);
  return [inRoot('one.jsonl'), inRoot('two.jsonl')];
}

describe('answerFigures', () => {
  it('compares the questions answered by all runs, in their common metrics', async () => {
    const { rows, contrasts, numQuestions } = answerFigures(await readAll(...writeAnswers()))!;
    expect(numQuestions).toBe(20);
    expect(matching(rows, { metric: 'em' })).toMatchObject([
      { method: 'one', value: 0 },
      { method: 'two', value: 0.5 },
    ]);
    expect(matching(rows, { metric: 'coverage' })).toEqual([]);
    const [difference] = matching(contrasts, { metric: 'em' });
    expect(difference).toMatchObject({ method: 'two', against: 'one', value: 0.5 });
    expect(difference.low).toBeGreaterThan(0.2);
    expect(difference.high).toBeLessThan(0.8);
  });

  it('gives few questions of different kinds an interval', async () => {
    const answers = (right: number): object[] =>
      range(4).map((i) =>
        result({ questionId: `q-${i}`, hops: i + 1, coverage: NaN, em: i < right ? 1 : 0 }),
      );
    writeLines('few-a.jsonl', answers(0));
    writeLines('few-b.jsonl', answers(2));
    const { contrasts } = answerFigures(
      await readAll(inRoot('few-a.jsonl'), inRoot('few-b.jsonl')),
    )!;
    const [difference] = matching(contrasts, { metric: 'em' });
    expect(difference).toMatchObject({ value: 0.5, low: 0, high: 1 });
  });

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
    await expect(readAll(root)).rejects.toThrow(/metrics\.jsonl, or answers\.jsonl/);
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
