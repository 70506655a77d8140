import { expect, it } from 'vitest';
import { intervalChart } from '../../../lib/report/charts/chart.js';
import { markupHtml } from '../../../lib/report/markup.js';
import type { With } from '../../../lib/rollout/trajectory.js';
import { answersPicture, thumbnail } from '../../../tools/reports/pictures.js';

/** A right answer after these searches. */
const answered = (method: string, questionId: string, turns: string[][]): With<'method'> => ({
  questionId,
  question: `Question ${questionId}?`,
  goldenAnswers: ['Ada'],
  answer: 'Ada',
  method,
  segments: [
    { kind: 'policy', text: '<think> who </think><search> Ada </search>', tokenIds: [] },
    { kind: 'information', text: '<information>Ada & Ben</information>', tokenIds: [] },
    { kind: 'policy', text: '<answer> Ada </answer>', tokenIds: [] },
  ],
  searchTurns: turns.map((queries) => ({ queries, results: [] })),
  modelCalls: turns.length + 1,
  finish: 'answer',
});

it('shows the question with the widest turn among those that both methods answered', () => {
  const both = (id: string, turns: string[][]) => [
    answered('ours', id, turns),
    answered(
      'theirs',
      id,
      turns.flat().map((query) => [query]),
    ),
  ];
  const html = markupHtml(
    answersPicture(
      [
        ...both('chain', [['a'], ['b'], ['c']]),
        ...both('pair', [['<x>', 'y']]),
        ...both('repeats', [['x', 'x', 'y']]),
        answered('ours', 'alone', [['x', 'y', 'z']]),
      ],
      ['ours', 'theirs'],
      { first: true },
    ),
  );
  expect(html).toContain('Question pair?');
  expect(html).toContain('<li class="search"><span>&lt;x&gt;</span><span>y</span></li>');
  expect(html.match(/<li class="search">/g)).toHaveLength(3);
});

it('shows nothing if no question was answered by both methods', () => {
  const alone = [answered('ours', 'q', [['a']])];
  expect(answersPicture(alone, ['ours', 'theirs'], { first: true })).toBeNull();
});

it('shows a question that only the second method answered right', () => {
  const question = (id: string, answer: string | null) => [
    { ...answered('ours', id, [['a', 'b']]), answer },
    answered('theirs', id, [['a'], ['b']]),
  ];
  const trajectories = [...question('right', 'Ada'), ...question('wrong', null)];
  const html = markupHtml(answersPicture(trajectories, ['ours', 'theirs'], { first: false }));
  expect(html).toContain('Question wrong?');
  expect(html).toContain('<li class="answer">no answer ✗</li>');
  expect(html).toContain('<li class="answer">Ada ✓</li>');
});

it('explains hollow points', async () => {
  const row = { method: 'search-r1', benchmark: 'nq', metric: 'em', value: 0.5 };
  const axes = { title: 'EM by benchmark', x: 'benchmark', color: 'method' };
  const draw = async (rows: object[], id: string) =>
    markupHtml(await thumbnail(intervalChart(rows, axes).spec, id));
  expect(await draw([{ ...row, paper: 0.4 }], 'a')).toContain('>hollow: the paper</text>');
  expect(await draw([row], 'b')).not.toContain('hollow');
});
