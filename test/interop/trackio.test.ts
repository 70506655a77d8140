/** Runs as trackio's tables; trackio itself imports them where it is installed. */
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { writeTrackio } from '../../lib/interop/trackio.js';
import { readParquet } from '../../lib/io/parquet.js';
import { isBuilt, runCommand } from '../commands/command-line.js';
import { linesOf } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { writeStep } from '../training/synthetic-run.js';
import { PATIENCE_MS, runPython, trackioPython } from './python.js';

const root = temporaryFolder();
const folder = path.join(root, 'trackio');
const run = path.join(root, 'first');

describe.skipIf(!isBuilt)('export trackio (needs dist/)', () => {
  beforeAll(async () => {
    for (const step of [0, 1, 2]) writeStep(run, step);
    writeStep(path.join(root, 'second'), 0);
    const args = ['export', 'trackio', run, path.join(root, 'second'), '-o', folder];
    const { code, stderr } = await runCommand([...args, '--project', 'search'], root);
    expect(stderr).toMatch(/4 steps and 16 rollouts of first, second[^]*trackio show/);
    expect(code).toBe(0);
  });
  const table = (name: string) => readParquet(path.join(folder, `${name}.parquet`));

  it('writes metrics by step and run, and configurations', async () => {
    const rows = await table('search');
    expect(rows.map(({ run_name, step }) => [run_name, step])).toEqual([
      ['first', 0],
      ['first', 1],
      ['first', 2],
      ['second', 0],
    ]);
    const [recorded] = linesOf<Record<string, unknown>>(path.join(run, 'metrics.jsonl'));
    const metrics = JSON.parse(rows[0].metrics as string) as Record<string, unknown>;
    expect(metrics).toMatchObject({ reward: 0.5, 'rewards/outcome': 0.6 });
    expect(Object.keys(metrics)).toHaveLength(Object.keys(recorded).length - 2);
    const times = rows.map(({ timestamp }) => Date.parse(timestamp as string));
    // Each step took 5 s.
    expect(times[2] - times[0]).toBe(10_000);
    expect(await table('search_configs')).toHaveLength(2);
  });

  it('writes a trace per rollout, with a span per action', async () => {
    const traces = await table('search_traces');
    expect(traces).toHaveLength(16);
    expect(new Set(traces.map(({ id }) => id)).size).toBe(16);
    const [trace] = traces;
    const parse = <T>(name: string): T => JSON.parse(trace[name] as string) as T;
    const roles = parse<{ role: string }[]>('messages').map(({ role }) => role);
    expect(roles).toContain('tool');
    const spans = parse<{ kind: string; input?: { queries: string[] } }[]>('spans');
    expect(spans.map(({ kind }) => kind)).toEqual(['generation', 'tool', 'generation']);
    expect(spans[1].input).toEqual({ queries: ['Town', 'River'] });
    expect(parse('metadata')).toMatchObject({ rewards: { total: 1.45 }, advantage: 0.7 });
  });

  it.each(['a b', '../up', 'mine_traces'])('rejects the project name %s', async (project) => {
    await expect(writeTrackio(folder, [], { project })).rejects.toThrow('--project');
  });

  it('rejects a run that is named twice', async () => {
    const run = { name: 'a', config: {}, steps: [], rollouts: new Map() };
    await expect(writeTrackio(folder, [run, run], { project: 'p' })).rejects.toThrow('a is named');
  });

  it.skipIf(!trackioPython)(
    'is imported by trackio, with its metrics and traces (needs PARALLELSEARCH_TRACKIO_PYTHON)',
    { timeout: PATIENCE_MS },
    async () => {
      const script = `
import json, os, sys
os.environ["TRACKIO_DIR"] = sys.argv[1]
from trackio.sqlite_storage import SQLiteStorage as storage

storage.import_from_parquet()
traces = storage.get_traces("search", run="first", search="river")
logs = storage.get_logs("search", "first")
print(json.dumps({
    "runs": storage.get_runs("search"),
    "logs": [[log["step"], log["reward"], log["rewards/outcome"]] for log in logs],
    "traces": len(traces),
    "spans": [span["kind"] for span in traces[0]["spans"]],
    "roles": [message["role"] for message in traces[0]["messages"]],
    "rewards": sorted(trace["metadata"]["rewards"]["total"] for trace in traces),
}))
`;
      const output = await runPython(trackioPython!, ['-c', script, folder], root);
      const read = JSON.parse(output.trim().split('\n').at(-1)!) as Record<string, unknown>;
      expect(read).toMatchObject({
        runs: ['first', 'second'],
        logs: [
          [0, 0.5, 0.6],
          [1, 0.6, 0.6],
          [2, 0.7, 0.6],
        ],
        traces: 6,
        spans: ['generation', 'tool', 'generation'],
        rewards: [1.45, 1.45, 1.45, 1.45, 1.45, 1.45],
      });
      expect(read.roles).toContain('assistant');
    },
  );
});
