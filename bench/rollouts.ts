/**
 * Measures the throughput of rollouts by batch size: `npm run bench -- rollouts
 * [ADDRESS]`, where ADDRESS, such as http://127.0.0.1:8000/v1, is a server of a
 * small-world policy exported by `export hf`. Default: the policy runs here. If the
 * server batches by itself, overlapping rollouts are compared with turn-by-turn rollouts
 * on the same questions. Prints one JSON object: questions and written tokens per second
 * (minimum, median and maximum).
 *
 *   --rows 1,2,4,8,16
 *   --delay-ms 0,500 (of each search; default: 0)
 *   --questions 96
 *   --repeats 5
 *   --backend auto
 *   --engine NAME (of the server)
 *   --model, --tokenizer (of the policy there)
 */
import { parseArgs } from 'node:util';
import { quantile } from 'd3-array';
import { mapAnswers } from '../lib/evaluation/evaluate.js';
import { loadPolicy } from '../lib/experiments/running/policy-runs.js';
import { provenanceHere } from '../lib/io/provenance.js';
import { delayRetriever } from '../lib/pages/playground/browser/pacing.js';
import { openCompletionsPolicy } from '../lib/policy/api/openai/completions.js';
import type { Policy } from '../lib/policy/policy.js';
import { createRandom } from '../lib/random.js';
import { loadWorld } from '../lib/retrieval/small-world.js';
import { useBackend, type BackendName } from '../lib/tensor/backend.js';
import { resolveRollout } from '../lib/training/methods.js';
import { DEFAULT_METHOD } from '../lib/training/models.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '1,2,4,8,16' },
    'delay-ms': { type: 'string', default: '0' },
    questions: { type: 'string', default: '96' },
    repeats: { type: 'string', default: '5' },
    backend: { type: 'string', default: 'auto' },
    engine: { type: 'string' },
    model: { type: 'string' },
    tokenizer: { type: 'string' },
  },
});
const [address] = positionals;
const repeats = Number(values.repeats);

const backend = address ? undefined : await useBackend(values.backend as BackendName | 'auto');
const run = { method: DEFAULT_METHOD, model: 'instruct', initSeed: 1, seed: 1 } as const;
const policy: Policy = address
  ? await openCompletionsPolicy(address, { model: values.model, tokenizer: values.tokenizer })
  : await loadPolicy(run);
const schedules: [string, Policy][] = policy.isConcurrent
  ? [
      ['turn by turn', { ...policy, isConcurrent: false }],
      ['overlapping', policy],
    ]
  : [['turn by turn', policy]];
const { questions, retriever } = await loadWorld();
const asked = createRandom('rollouts')
  .shuffle(questions.filter(({ split }) => split === 'dev'))
  .slice(0, Number(values.questions));
const rollout = resolveRollout(DEFAULT_METHOD, 'small-world');

/** Seconds for the questions, tokens written, and the answers. */
async function answerAll(by: Policy, batchSize: number, delayMs: number) {
  const slow = delayRetriever(retriever, delayMs);
  const toResult = (
    _: unknown,
    { answer, segments }: Parameters<Parameters<typeof mapAnswers>[3]['toResult']>[1],
  ) => {
    const written = segments.filter(({ kind }) => kind === 'policy');
    return { answer, tokens: written.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0) };
  };
  const start = performance.now();
  const answers = await mapAnswers(by, slow, asked, { rollout, batchSize, toResult });
  return {
    seconds: (performance.now() - start) / 1000,
    tokens: answers.reduce((sum, { tokens }) => sum + tokens, 0),
    answers: JSON.stringify(answers),
  };
}

/** Minimum, median and maximum. */
const spread = (numbers: readonly number[]): number[] =>
  [0, 0.5, 1].map((p) => Number(quantile(numbers, p)!.toPrecision(3)));

const settings = values.rows
  .split(',')
  .flatMap((rows) =>
    values['delay-ms'].split(',').map((ms) => ({ rows: Number(rows), delayMs: Number(ms) })),
  )
  .map((setting) => ({
    ...setting,
    times: schedules.map((): Awaited<ReturnType<typeof answerAll>>[] => []),
  }));
await answerAll(schedules[0][1], 4, 0);
// Each repeat runs all settings, so that other load affects all of them alike.
for (let i = 0; i < repeats; i++)
  for (const { rows, delayMs, times } of settings)
    for (const [j, [name, by]] of schedules.entries()) {
      times[j].push(await answerAll(by, rows, delayMs));
      console.error(
        `repeat ${i + 1}: ${name}, ${rows} rows, ${delayMs} ms: ${times[j][i].seconds.toFixed(1)} s`,
      );
    }
const rows = settings.flatMap(({ times, ...setting }) =>
  schedules.map(([schedule], j) => ({
    schedule,
    ...setting,
    questionsPerSecond: spread(times[j].map(({ seconds }) => asked.length / seconds)),
    tokensPerSecond: spread(times[j].map(({ seconds, tokens }) => tokens / seconds)),
    ...(j > 0 && {
      ratioOfSeconds: spread(times[0].map(({ seconds }, i) => seconds / times[j][i].seconds)),
      sameAnswers:
        times[0].filter(({ answers }, i) => answers === times[j][i].answers).length / repeats,
    }),
  })),
);
const engine = values.engine ?? backend?.name ?? policy.note;
const provenance = { questions: asked.length, repeats, ...provenanceHere() };
console.log(JSON.stringify({ engine, rows, provenance }, null, 1));
