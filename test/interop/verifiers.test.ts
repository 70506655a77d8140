/** Rollouts to verifiers and back; its own loader reads them where it is installed. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sort } from 'd3-array';
import { beforeAll, describe, expect, it } from 'vitest';
import { auditRow } from '../../lib/interop/audit.js';
import { importRollouts } from '../../lib/interop/import.js';
import { readTokenRows } from '../../lib/interop/token-rows.js';
import { readVerifiersRollouts, toEpisode } from '../../lib/interop/verifiers.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { parseTokens } from '../../lib/rollout/recorded.js';
import type { With } from '../../lib/rollout/trajectory.js';
import { formatTrajectory, lossMask, tokenIds } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { createGrpoTrainer } from '../../lib/training/grpo.js';
import { isBuilt, runCommand } from '../commands/command-line.js';
import { linesOf } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { chattyModel, PASSAGES, QUESTIONS, TOKENIZER, tinyTraining } from '../training/tiny.js';
import { CLEAN, traceOf, writeEpisodes } from './exports.js';
import { PATIENCE_MS, runPython, verifiersPython } from './python.js';

const root = temporaryFolder();
const traces = path.join(root, 'traces.jsonl');
type Scored = With<'rewards' | 'advantage'>;
/** The rollouts of a step as a run records them, and the originals. */
let lines: unknown[];
let trajectories: Scored[];

beforeAll(async () => {
  await useBackend('wasm');
  const trainer = createGrpoTrainer({
    config: tinyTraining(),
    model: chattyModel(),
    questions: QUESTIONS,
    retriever: createBm25Retriever(PASSAGES),
  });
  ({ trajectories } = await trainer.next());
  trainer.dispose();
  lines = trajectories.map((trajectory): unknown => {
    const run = { ...trajectory, step: 3, method: 'parallelsearch' };
    return JSON.parse(formatTrajectory(run));
  });
  const episodes = lines.map((line, i) => JSON.stringify(toEpisode(parseTokens(line), `e${i}`)));
  writeFileSync(traces, `${episodes.join('\n')}\n`);
});

async function stepsIn(folder: string) {
  const steps = [];
  for await (const step of readVerifiersRollouts(folder)) steps.push(step);
  return steps;
}

interface Node {
  token_ids: number[];
  mask: boolean[];
  logprobs?: number[];
  advantages?: number[];
}
interface Episode {
  traces: { nodes: Node[]; rewards: Record<string, { score: number; weight: number }> }[];
}

describe('episodes', () => {
  it('have the ids, masks, log-probs, advantages and rewards of the trajectories', () => {
    const episodes = linesOf<Episode>(traces);
    expect(episodes).toHaveLength(trajectories.length);
    for (const [i, trajectory] of trajectories.entries()) {
      const [trace] = episodes[i].traces;
      expect(trace.nodes.flatMap((node) => node.token_ids)).toEqual(tokenIds(trajectory));
      expect(trace.nodes.flatMap((node) => node.mask.map(Number))).toEqual(lossMask(trajectory));
      const logProbs = trajectory.segments.flatMap((segment) => segment.logProbs ?? []);
      const recorded = trace.nodes.flatMap((node) => node.logprobs ?? []);
      expect(recorded).toHaveLength(logProbs.length);
      recorded.forEach((value, t) => expect(value).toBeCloseTo(logProbs[t], 3));
      const advantages = trace.nodes.flatMap((node) => node.advantages ?? []);
      expect(advantages).toEqual(logProbs.map(() => trajectory.advantage));
      expect(Object.keys(trace.rewards)).toContain('outcome');
      const total = Object.values(trace.rewards).reduce((sum, r) => sum + r.score * r.weight, 0);
      expect(total).toBeCloseTo(trajectory.rewards.total, 12);
    }
  });

  it('pass the audit', () => {
    const model = { tokenizer: TOKENIZER, template: null };
    for (const row of linesOf(traces).flatMap(readTokenRows))
      expect(auditRow(row, model)).toMatchObject(CLEAN);
  });

  it('round-trip to the same trajectories', async () => {
    const folder = path.join(root, 'run');
    const run = { method: 'parallelsearch', trainer: 'verifiers' };
    const options = { ...run, folder, questions: QUESTIONS };
    const imported = await importRollouts(readVerifiersRollouts(root), options);
    const numRollouts = trajectories.length;
    expect(imported).toEqual({
      numSteps: 1,
      numRollouts,
      numDifferent: 0,
      numAmbiguous: 0,
      numUnscored: 0,
      numUnknown: 0,
    });
    /** Fields in both, in the order of the texts. */
    const shared = (all: unknown[]): object[] => {
      const kept = all.map(parseTokens).map((one) => {
        const { segments, questionId, goldenAnswers, step, rewards, advantage, answer } = one;
        return { segments, questionId, goldenAnswers, step, rewards, advantage, answer };
      });
      return sort(kept, ({ segments }) => segments.map(({ text }) => text).join(''));
    };
    const back = linesOf<{ step: number }>(path.join(folder, 'trajectories.jsonl'));
    expect(shared(back)).toEqual(shared(lines));
    expect(back[0].step).toBe(3);
    const [metrics] = linesOf<Record<string, number>>(path.join(folder, 'metrics.jsonl'));
    expect(metrics['completions/mean_length']).toBeGreaterThan(1);
  });

  it.skipIf(!isBuilt)('keep the groups of several runs apart (needs dist/)', async () => {
    const files = ['a', 'b'].map((name) => path.join(root, `${name}.jsonl`));
    for (const file of files)
      writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const groupsOf = async (...given: string[]): Promise<Set<string>> => {
      const out = path.join(root, `of-${given.length}`);
      const { code, stderr } = await runCommand(['export', 'verifiers', ...given, '-o', out]);
      expect(code, stderr).toBe(0);
      const episodes = linesOf<{ group: { id: string } }>(path.join(out, 'traces.jsonl'));
      return new Set(episodes.map(({ group }) => group.id));
    };
    const { size } = await groupsOf(files[0]);
    expect((await groupsOf(...files)).size).toBe(2 * size);
  });

  it('have advantages within their groups, also of the same prompt', async () => {
    const folder = path.join(root, 'groups');
    const messages = [
      { role: 'user', content: 'Who?' },
      { role: 'assistant', content: '<answer>Bo</answer>' },
    ];
    const episode = (group: string, score: number): object => ({
      group: { id: group },
      traces: [traceOf(messages, { exact: { score, weight: 1 } })],
    });
    const episodes = [episode('a', 1), episode('a', 0), episode('b', 1), episode('b', 1)];
    writeEpisodes(folder, ...episodes);
    const run = { method: 'parallelsearch', trainer: 'verifiers', questions: [] };
    const out = path.join(root, 'grouped');
    await importRollouts(readVerifiersRollouts(folder), { ...run, folder: out });
    const imported = linesOf<{ advantage: number }>(path.join(out, 'trajectories.jsonl'));
    expect(imported.map(({ advantage }) => Math.sign(advantage))).toEqual([1, -1, 0, 0]);
  });

  it('keep reasoning and parts of messages; those without a reward are left out', async () => {
    const folder = path.join(root, 'parts');
    const text = (value: string) => [{ type: 'text', text: value }];
    const answer = { role: 'assistant', content: '<answer> Bo </answer>' };
    const asked = [
      { role: 'user', content: text('Question: Who?') },
      { role: 'assistant', content: '<search> a </search>' },
      { role: 'user', content: text('<information>Bo</information>') },
    ];
    const one = { exact: { score: 1, weight: 1 } };
    const traces = [
      traceOf([...asked, answer], one),
      traceOf([...asked, { ...answer, reasoning_content: 'Hm.' }], one),
      traceOf([...asked, answer]),
      traceOf([...asked, answer], { exact: null }),
    ];
    writeEpisodes(folder, { traces });
    const [{ rollouts }] = await stepsIn(folder);
    expect(rollouts.map(({ score }) => score)).toEqual([1, 1, null, null]);
    const texts = rollouts.map(({ segments }) => segments.map((segment) => segment.text).join(''));
    const searched = '<search> a </search><information>Bo</information>';
    expect(rollouts[0].prompt).toBe('Question: Who?');
    expect(texts[0]).toBe(`${searched}<answer> Bo </answer>`);
    expect(texts[1]).toBe(`${searched}<think> Hm. </think>\n<answer> Bo </answer>`);
    const options = { method: 'parallelsearch', trainer: 'verifiers', questions: [] };
    const run = { ...options, folder: path.join(root, 'scored') };
    const imported = await importRollouts(readVerifiersRollouts(folder), run);
    expect(imported).toMatchObject({ numRollouts: 2, numUnscored: 2 });
  });

  it('of other environments are imported, too: tool calls as searches, other weights', async () => {
    const folder = path.join(root, 'tools');
    const search = { name: 'search', arguments: '{"queries": ["a", "b"]}' };
    const messages = [
      { role: 'user', content: 'Who?' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', ...search }] },
      { role: 'tool', tool_call_id: 'c', content: 'Bo' },
      { role: 'assistant', content: 'Bo' },
    ];
    const rewards = { exact: { score: 1, weight: 0.5 }, unscored: null };
    writeEpisodes(folder, { traces: [traceOf(messages, rewards)] });
    const steps = await stepsIn(folder);
    expect(steps).toMatchObject([
      { step: 0, rollouts: [{ prompt: 'Who?', score: 0.5, truth: { target: ['Bo'] } }] },
    ]);
    const [{ rollouts }] = steps;
    const kinds = rollouts[0].segments.map(({ kind }) => kind);
    expect(kinds).toEqual(['policy', 'information', 'policy']);
    expect(rollouts[0].segments[0].text).toContain('a ## b');
  });

  it.each([
    [{ traces: [] }, 'traces'],
    [{ traces: [{ task: { data: {} }, nodes: [{ message: { role: 'user' } }] }] }, 'policy wrote'],
    [
      { traces: [{ task: { data: {} }, nodes: [{ parent: 0, message: { role: 'user' } }] }] },
      'circle',
    ],
    [{ run: { work: { step: '12' } }, traces: [] }, 'run.work.step'],
  ])('are rejected if invalid: %o', async (episode, reason) => {
    const folder = path.join(root, reason);
    writeEpisodes(folder, episode);
    await expect(readVerifiersRollouts(folder).next()).rejects.toThrow(reason);
  });
});

describe.skipIf(!verifiersPython)(
  'verifiers (needs PARALLELSEARCH_VERIFIERS_PYTHON)',
  { timeout: PATIENCE_MS },
  () => {
    it('reads the episodes with the same branches, and writes importable ones', async () => {
      const written = path.join(root, 'written');
      const script = `
import json, sys
from pathlib import Path
from verifiers.v1.configs.agent import WireAgentConfig
from verifiers.v1.state import State
from verifiers.v1.task import WireTaskData
from verifiers.v1.trace import Trace
from verifiers.v1.utils.trace_store import read_episodes, write_episode

episodes = read_episodes(Path(sys.argv[1]), Trace[WireTaskData, State, WireAgentConfig])
out = Path(sys.argv[2])
out.mkdir()
rows = []
for episode in episodes:
    write_episode(out, episode)
    [trace] = episode.traces
    [branch] = trace.branches
    rows.append({
        "ids": branch.token_ids,
        "mask": branch.sampled_mask,
        "log_probs": branch.logprobs,
        "reward": trace.reward,
        "turns": trace.num_turns,
        "tokens": branch.num_output_tokens,
        "question": trace.task.data.model_extra["question"],
    })
print(json.dumps(rows))
`;
      const output = await runPython(verifiersPython!, ['-c', script, root, written], root);
      const rows = JSON.parse(output.trim().split('\n').at(-1)!) as {
        ids: number[];
        mask: boolean[];
        log_probs: number[];
        reward: number;
        turns: number;
        tokens: number;
        question: string;
      }[];
      expect(rows).toHaveLength(trajectories.length);
      for (const [i, row] of rows.entries()) {
        const trajectory = trajectories[i];
        expect(row.ids).toEqual(tokenIds(trajectory));
        expect(row.mask.map(Number)).toEqual(lossMask(trajectory));
        expect(row.reward).toBeCloseTo(trajectory.rewards.total, 12);
        expect(row.turns).toBe(trajectory.segments.filter(({ kind }) => kind === 'policy').length);
        expect(row.tokens).toBe(lossMask(trajectory).reduce((sum, value) => sum + value, 0));
        expect(row.question).toBe(trajectory.question);
      }
      const again = await stepsIn(written);
      const first = await stepsIn(root);
      // It writes four decimals.
      const rounded = first.map(({ step, rollouts }) => ({
        step,
        rollouts: rollouts.map((rollout) => ({
          ...rollout,
          advantage: Math.round(rollout.advantage! * 1e4) / 1e4,
        })),
      }));
      expect(again).toEqual(rounded);
      expect(readFileSync(path.join(written, 'traces.jsonl'), 'utf8')).toContain('"version":1');
    });
  },
);
