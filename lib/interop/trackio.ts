/**
 * Writes runs as trackio's Parquet files (version 0.43): `PROJECT.parquet` with metrics,
 * `PROJECT_configs.parquet` and `PROJECT_traces.parquet`, which trackio imports into its
 * database.
 */
import path from 'node:path';
import { writeParquet } from '../io/parquet.js';
import type { Segment, Trajectory } from '../rollout/trajectory.js';

export interface TrackedRun {
  name: string;
  config: object;
  steps: readonly {
    step: number;
    /** Seconds since 1970. */
    wallTime: number;
    metrics: Readonly<Record<string, number>>;
  }[];
  /** The rollouts of some steps. */
  rollouts: ReadonlyMap<number, readonly Trajectory[]>;
}

const RUN = { run_id: 'text', timestamp: 'text', run_name: 'text', step: 'integer' } as const;
const METRICS = { id: 'integer', ...RUN, metrics: 'text', log_id: 'text' } as const;
const CONFIGS = {
  id: 'integer',
  run_id: 'text',
  run_name: 'text',
  config: 'text',
  created_at: 'text',
} as const;
const TRACES = {
  id: 'text',
  ...RUN,
  key: 'text',
  trace_index: 'integer',
  messages: 'text',
  metadata: 'text',
  search_text: 'text',
  log_id: 'text',
  spans: 'text',
} as const;

const ROLES: Record<Segment['kind'], string> = {
  prompt: 'user',
  policy: 'assistant',
  information: 'tool',
  notice: 'user',
};

/** Generations and searches in order, without times of their own. */
function toSpans({ segments, searchTurns }: Trajectory): object[] {
  let turn = 0;
  return segments.flatMap(({ kind, text, tokenIds }, i): object[] => {
    const id = String(i);
    if (kind === 'policy') {
      const usage = tokenIds.length > 0 ? { usage: { completion_tokens: tokenIds.length } } : {};
      return [{ id, name: 'generate', kind: 'generation', output: text, ...usage }];
    }
    if (kind !== 'information') return [];
    const queries = searchTurns.at(turn++)?.queries ?? [];
    return [{ id, name: 'search', kind: 'tool', input: { queries }, output: text }];
  });
}

/** A rollout as trackio's trace: messages, measurements, and a span per action. */
function toTrace(trajectory: Trajectory) {
  const { questionId, question, questionType, answer, goldenAnswers, finish } = trajectory;
  const { rewards, advantage, modelCalls, segments } = trajectory;
  return {
    messages: segments.map(({ kind, text }) => ({ role: ROLES[kind], content: text })),
    metadata: {
      question_id: questionId,
      question,
      question_type: questionType ?? null,
      answer,
      golden_answers: goldenAnswers,
      stop_condition: finish,
      model_calls: modelCalls,
      ...(rewards && { rewards }),
      ...(advantage !== undefined && { advantage }),
    },
    spans: toSpans(trajectory),
  };
}

/**
 * Writes the tables of runs to a folder, which becomes trackio's `TRACKIO_DIR`; returns
 * the numbers of steps and traces.
 * @param options.project letters, digits, `-` and `_`
 * @throws RangeError for a project whose name would collide with another file's, Error
 * for two runs of one name
 */
export async function writeTrackio(
  folder: string,
  runs: readonly TrackedRun[],
  { project }: { project: string },
): Promise<{ numSteps: number; numTraces: number }> {
  if (!/^[\w-]+$/.test(project) || /_(system|configs|traces|artifacts?\w*)$/.test(project))
    throw new RangeError(
      `Expected a project of letters, digits, - and _ that ends in none of trackio's own suffixes, but got ${project}. Use another --project.`,
    );
  const repeated = runs.find(({ name }, i) => runs.findIndex((run) => run.name === name) < i);
  if (repeated)
    throw new Error(`Expected different runs, but ${repeated.name} is named twice. Leave one out.`);
  const place = ({ name }: TrackedRun, step: TrackedRun['steps'][number]) => ({
    run_id: name,
    run_name: name,
    step: step.step,
    timestamp: new Date(step.wallTime * 1000).toISOString(),
  });
  const metrics = runs.flatMap((run) =>
    run.steps.map((step) => ({
      ...place(run, step),
      metrics: JSON.stringify(step.metrics),
      log_id: `${run.name}/${step.step}`,
    })),
  );
  const traces = runs.flatMap((run) =>
    run.steps.flatMap((step) =>
      (run.rollouts.get(step.step) ?? []).map((trajectory, index) => {
        const { messages, metadata, spans } = toTrace(trajectory);
        const at = place(run, step);
        const id = `${run.name}/${step.step}/rollouts/${index}`;
        const texts = messages.map(({ content }) => content);
        return {
          ...at,
          id,
          key: 'rollouts',
          trace_index: index,
          messages: JSON.stringify(messages),
          metadata: JSON.stringify(metadata),
          search_text: `${id} ${texts.join(' ')} ${JSON.stringify(metadata)}`.toLowerCase(),
          log_id: id,
          spans: JSON.stringify(spans),
        };
      }),
    ),
  );
  const configs = runs.map(({ name, config, steps }, i) => ({
    id: i + 1,
    run_id: name,
    run_name: name,
    config: JSON.stringify(config),
    created_at: new Date((steps[0]?.wallTime ?? 0) * 1000).toISOString(),
  }));
  const file = (suffix: string): string => path.join(folder, `${project}${suffix}.parquet`);
  const numbered = metrics.map((row, i) => ({ id: i + 1, ...row }));
  await writeParquet(file(''), numbered, METRICS);
  await writeParquet(file('_configs'), configs, CONFIGS);
  if (traces.length > 0) await writeParquet(file('_traces'), traces, TRACES);
  return { numSteps: metrics.length, numTraces: traces.length };
}
