/** Small pictures of recorded trajectories, for the cards of the index. */
import { greatest, group, max, sum } from 'd3-array';
import { markup, markupHtml } from '../../lib/html/markup.js';
import type { Trajectory, With } from '../../lib/rollout/trajectory.js';
import { parsePieces } from '../../lib/text/tags.js';

/** So many sub-queries fit into a card. */
const MAX_QUERIES = 4;

const asksWell = ({ answer, goldenAnswers, searchTurns }: Trajectory): boolean => {
  const queries = searchTurns.flatMap((turn) => turn.queries);
  const isDistinct = new Set(queries).size === queries.length && queries.length <= MAX_QUERIES;
  return isDistinct && answer !== null && goldenAnswers.includes(answer);
};

/**
 * HTML of a question as two methods answered it, a box per turn: the one with the
 * most sub-queries in a turn among those that both answered right with at most four
 * different queries. Empty if there is none.
 */
export function answersPicture(
  trajectories: readonly With<'method'>[],
  methods: readonly [string, string],
): string {
  const byQuestion = group(trajectories.filter(asksWell), ({ questionId }) => questionId);
  const pairs = [...byQuestion.values()]
    .map((answers) => methods.map((method) => answers.find((one) => one.method === method)))
    .filter((pair) => pair.every((one) => one !== undefined));
  const widest = greatest(pairs, ([first]) =>
    max(first.searchTurns, ({ queries }) => queries.length),
  );
  if (!widest) return '';
  const rows = widest.map(({ method, searchTurns, answer }) => [
    markup('b', method),
    markup(
      'ol',
      searchTurns.map(({ queries }) =>
        markup(
          'li.search',
          queries.map((query) => markup('span', query)),
        ),
      ),
      markup('li.answer', answer),
    ),
  ]);
  return markupHtml(markup('div.turns', markup('span', widest[0].question), rows));
}

const [WIDTH, ROW, BAR] = [400, 18, 11];

const LEGEND = { think: 'thinks', search: 'searches', information: 'reads', answer: 'answers' };

/** HTML of trajectories as bars of their blocks, as long as their texts. */
export function barsPicture(trajectories: readonly Trajectory[]): string {
  const bars = trajectories.map(({ segments }) =>
    segments.flatMap(({ text }) => parsePieces(text)).filter((piece) => piece.kind === 'block'),
  );
  const longest = max(bars, (blocks) => sum(blocks, ({ body }) => body.length)) ?? 1;
  const rectangles = bars.map((blocks, row) => {
    let x = 0;
    return blocks.map(({ tag, body }) => {
      const width = (WIDTH * body.length) / longest;
      const at = { x: x.toFixed(1), y: row * ROW, width: Math.max(1, width - 1).toFixed(1) };
      x += width;
      return markup(`rect.${tag}`, { ...at, height: BAR });
    });
  });
  const legend = Object.entries(LEGEND).map(([tag, verb]) => markup(`span.${tag}`, verb));
  const svg = markup('svg', { viewBox: `0 0 ${WIDTH} ${bars.length * ROW}` }, rectangles);
  return markupHtml(markup('div.bars', markup('div', legend), svg));
}
