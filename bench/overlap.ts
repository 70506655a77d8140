/**
 * Rollouts that overlap beside rollouts that go turn by turn, over the API of a server that batches by itself:
 * `npm run bench -- overlap ADDRESS`, such as http://127.0.0.1:8000/v1, which serves what `export hf` wrote of a policy of the small
 * world. Both answer the same questions with so many rows at a time, in turns, under searches that take so long. Prints one JSON object:
 * questions a second, least, median and most, and the ratio of seconds, turn by turn over overlapping.
 */
import { answerQuestions } from '../lib/evaluation/evaluate.js';
import { loadWorld } from '../lib/experiments/world.js';
import { rolloutConfigOf } from '../lib/methods/index.js';
import { delayRetriever } from '../lib/pages/playground/answer.js';
import { openRemotePolicy } from '../lib/policy/policies.js';
import type { Policy } from '../lib/policy/policy.js';
import { createRandom } from '../lib/random.js';

const REPEATS = 9;
const QUESTIONS = 96;
const ROWS = [4, 16];
const DELAYS_MS = [0, 500];

const [address, method = 'parallelsearch'] = process.argv.slice(2);
if (!address)
  throw new Error('Expected the address of a server. Try: npm run bench -- overlap http://127.0.0.1:8000/v1');
const overlapping = await openRemotePolicy(address);
const inTurns: Policy = { ...overlapping, overlaps: false };
const { questions, retriever } = await loadWorld();
const asked = createRandom('overlap')
  .shuffle(questions.filter(({ split }) => split === 'dev'))
  .slice(0, QUESTIONS);
const rollout = rolloutConfigOf(method);

/** Seconds that the questions take, and what was answered. */
async function answerAll(policy: Policy, batchSize: number, delayMs: number): Promise<[number, string]> {
  const start = performance.now();
  const keep = (_: unknown, { answer }: { answer: string | null }): string | null => answer;
  const slow = delayRetriever(retriever, delayMs);
  const answers = await answerQuestions(policy, slow, asked, { rollout, batchSize, keep });
  return [(performance.now() - start) / 1000, JSON.stringify(answers)];
}

/** Least, median and most. */
function spread(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return [0, Math.floor(sorted.length / 2), sorted.length - 1].map((i) => Number(sorted[i].toPrecision(3)));
}

const rows = [];
await answerAll(overlapping, 16, 0);
for (const delayMs of DELAYS_MS)
  for (const batchSize of ROWS) {
    const seconds: [number, number][] = [];
    let numSame = 0;
    for (let i = 0; i < REPEATS; i++) {
      const [a, answers] = await answerAll(inTurns, batchSize, delayMs);
      const [b, others] = await answerAll(overlapping, batchSize, delayMs);
      seconds.push([a, b]);
      numSame += Number(answers === others);
    }
    rows.push({
      ...{ delayMs, rows: batchSize },
      inTurnsPerSecond: spread(seconds.map(([a]) => QUESTIONS / a)),
      overlappingPerSecond: spread(seconds.map(([, b]) => QUESTIONS / b)),
      ratioOfSeconds: spread(seconds.map(([a, b]) => a / b)),
      sameAnswers: numSame / REPEATS,
    });
    console.error(JSON.stringify(rows.at(-1)));
  }
console.log(
  JSON.stringify({ repeats: REPEATS, questions: QUESTIONS, model: overlapping.name, rows }, null, 1),
);
