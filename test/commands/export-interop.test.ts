/**
 * Exporting a training and importing its results, as a user does; the trainers themselves
 * are tested in test/interop.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { formatPassages, formatQuestions } from '../../lib/data/flashrag.js';
import { readRows } from '../../lib/interop/rows.js';
import { CHECKPOINTS } from '../../lib/io/paths.js';
import { temporaryFolder } from '../folder.js';
import { isFull } from '../full.js';
import { MODEL, traceOf, writeEpisodes } from '../interop/exports.js';
import { PATIENCE_MS, python, runPython } from '../interop/python.js';
import { PASSAGES, QUESTIONS } from '../training/tiny.js';
import { isBuilt, refusal, runCommand, words } from './command-line.js';
import { linesOf, writeOwnData } from './tiny-world.js';

const root = temporaryFolder();
const at = (...parts: string[]): string => join(root, ...parts);
const read = (...parts: string[]): string => readFileSync(at(...parts), 'utf8');
const TRANSCRIPT = {
  id: 't1',
  question: 'Who?',
  golden_answers: ['x'],
  type: 'comparison',
  response:
    '<think> t </think><search> a ## b </search>\n<information>x</information><think> t </think><answer>x</answer>',
};

const inSplit = (split: string) =>
  QUESTIONS.map((question) => ({ ...question, id: `${split}-${question.id}`, split }));

describe.skipIf(!isBuilt)('export verl, export trl and import (needs dist/)', () => {
  beforeAll(() => {
    writeOwnData(at('typed'), { type: 'comparison' });
    writeOwnData(at('untyped'));
    mkdirSync(at('graphs'));
    writeFileSync(at('graphs', 'corpus.jsonl'), formatPassages(PASSAGES));
    for (const split of ['train', 'test'])
      writeFileSync(at('graphs', `${split}.jsonl`), formatQuestions(inSplit(split)));
    writeFileSync(at('transcripts.jsonl'), `${JSON.stringify(TRANSCRIPT)}\n`);
  });
  const runExport = (...args: string[]) => runCommand(['export', ...args], root);

  it('writes a PyTorch training with its limits and demonstrations', async () => {
    const { code, stderr } = await runExport(
      'torch',
      ...words`torch --data graphs --model ${MODEL} --prompt-form short --set rollout.maxPassageWords=5`,
    );
    expect(stderr).toMatch(/\d training and \d validation questions, [1-9]\d* demonstrations/);
    expect(code).toBe(0);
    expect(JSON.parse(read('torch', 'search.json'))).toMatchObject({
      model: MODEL,
      rollout: { max_passage_words: 5, split_queries: true },
      train_config: { method: 'parallelsearch', rollout: { maxPassageWords: 5 } },
    });
    expect(existsSync(at('torch', 'data', 'demonstrations.jsonl.gz'))).toBe(true);
    const reward = words`export torch none --data graphs --model ${MODEL} --set rewards.lambdaD=0.5`;
    expect(await refusal(reward, root)).toMatch(/but got rewards\..*reward_kwargs/);
    const tools = words`export torch none --data graphs --model ${MODEL} --set rollout.promptForm=tools`;
    expect(await refusal(tools, root)).toMatch(/other than tools: exported/);
    expect(await refusal(words`export verl none --prompt-form tools`, root)).toContain('choices');
    const untyped = words`export torch none --data untyped --model ${MODEL}`;
    expect(await refusal(untyped, root)).toContain('--method search-r1');
  });

  it.each(['verl', 'trl', 'torch'])(
    '%s is not written into its own data folder',
    async (target) => {
      const args = words`export ${target} ./graphs --data graphs --model ${MODEL}`;
      expect(await refusal(args, root)).toContain('not an input');
      expect(existsSync(at('graphs', 'README.md'))).toBe(false);
    },
  );

  it.each(['verl', 'trl'])('%s keeps the files of another project', async (target) => {
    mkdirSync(at('project'), { recursive: true });
    writeFileSync(at('project', 'README.md'), 'mine');
    const args = words`export ${target} project --data typed`;
    expect(await refusal(args, root)).toContain('README.md');
    expect(read('project', 'README.md')).toBe('mine');
  });

  it.each(words`verl trl`)('%s does not record passwords', async (target) => {
    const args = words`export ${target} secret --data typed --retriever http://u:SECRET@h/retrieve`;
    const message = await refusal(args, root);
    expect(message).toContain('got http://h/retrieve with one. Set RETRIEVAL_TOKEN');
    expect(existsSync(at('secret'))).toBe(false);
  });

  it('imports do not replace the records of a training run', async () => {
    mkdirSync(at('trained', 'adapter'), { recursive: true });
    const args = words`import verl typed --out trained`;
    expect(await refusal(args, root)).toContain('trained has a training run');
  });

  it('writes a verl training with equal rewards in Python', { timeout: PATIENCE_MS }, async () => {
    const { code, stderr } = await runExport(
      ...words`verl verl --data typed --transcripts transcripts.jsonl`,
      '--model',
      'a\\${x}\u0085',
      '--retriever',
      'http://h/${x}',
    );
    expect(stderr).toMatch(/4 training and 4 validation questions, 10001 test cases/);
    expect(code).toBe(0);
    expect(read('verl', 'config', 'train.yaml')).toMatch(
      /defaults: \[ppo_trainer, paper, grpo, _self_\][^]*lambda_d: 0\.15\n/,
    );
    // OmegaConf would interpolate `${x}`; YAML would read U+0085 as a line end.
    expect(read('verl', 'config', 'train.yaml')).toContain(String.raw`"a\\\\\\${'$'}{x}\u0085"`);
    expect(JSON.parse(read('verl', 'agent_loops.yaml'))).toMatchObject([
      {
        _target_: 'parallelsearch.agent_loop.SearchAgentLoop',
        retriever: 'http://h/\\${x}',
        rollout: { max_search_turns: 4, split_queries: true },
      },
    ]);
    expect(await readRows(at('verl', 'data', 'train.parquet'))).toHaveLength(4);
    expect(linesOf(at('verl', 'tests', 'rewards.jsonl'))[1]).toMatchObject({
      solution_str: TRANSCRIPT.response,
      ground_truth: { target: ['x'], shape: 'parallelizable' },
      expected: {
        outcome: 1,
        decomposition: 3 * 0.15,
        search_count: 0,
        format: 0,
        score: 1 + 3 * 0.15,
      },
    });
    if (python && isFull)
      expect(await runPython(python, ['tests/test_rewards.py'], at('verl'))).toContain(
        '10001 of 10001',
      );
  });

  it('exports PPO with another model, prompt form and top-k', async () => {
    const model = join(CHECKPOINTS, 'base-1');
    const args = words`verl ppo --data untyped --method search-r1:ppo --prompt-form full --model ${model} --top-k 5`;
    expect(await runExport(...args)).toMatchObject({ code: 0 });
    const config = read('ppo', 'config', 'train.yaml');
    expect(config).toContain('defaults: [ppo_trainer, paper, ppo, _self_]');
    expect(config).toContain(`path: ${JSON.stringify(model)}\n    custom_chat_template: `);
    expect(JSON.parse(read('ppo', 'agent_loops.yaml'))).toMatchObject([
      { rollout: { split_queries: false, top_k: 5 } },
    ]);
    expect(existsSync(at('ppo', 'config', 'grpo.yaml'))).toBe(false);
  });

  it('writes a TRL training', async () => {
    expect(
      await runExport('trl', 'trl', '--data', 'typed', '--prompt-form', 'short'),
    ).toMatchObject({ code: 0 });
    expect(JSON.parse(read('trl', 'search.json'))).toMatchObject({
      max_length: 4096,
      reward_kwargs: { lambda_s: 0.35 },
      rollout: { notice: '\nMy action is not correct. Let me rethink.\n' },
    });
    expect(existsSync(at('trl', 'train.py'))).toBe(true);
  });

  it.each([
    ['verl x --data untyped', 'a dependency graph'],
    ['trl x --data typed --method parallelsearch:ppo', 'trained by ppo'],
    ['verl x --data typed --transcripts typed/train.jsonl', 'recorded transcripts'],
    ['verl x --method otc', 'Allowed choices are'],
  ])('rejects %s', async (args, message) => {
    expect(await refusal(['export', ...args.split(' ')], root)).toContain(message);
    expect(existsSync(at('x'))).toBe(false);
  });

  it('imports rollouts and weights to view, compare and evaluate', async () => {
    mkdirSync(at('verl', 'rollouts'), { recursive: true });
    const line = {
      input: 'Question: Who?\n',
      output: TRANSCRIPT.response,
      step: 1,
      gts: { target: ['x'], shape: 'parallelizable', id: 't1' },
      score: 1.4500000476837158,
    };
    writeFileSync(at('verl', 'rollouts', '1.jsonl'), `${JSON.stringify(line)}\n`.repeat(2));
    const { code, stderr } = await runCommand(
      ['import', 'verl', 'verl', '--out', 'run', '--data', 'typed'],
      root,
    );
    expect(stderr).toContain('npx parallelsearch view run/trajectories.jsonl');
    expect(code).toBe(0);
    const model = ['import', 'verl', join(CHECKPOINTS, 'base-1'), '--out', 'run'];
    expect((await runCommand(model, root)).stderr).toContain(
      'npx parallelsearch evaluate --model run/model',
    );
    for (const use of [
      ['view', 'run/trajectories.jsonl', '--out', 'view.html'],
      ['compare', 'run', join(CHECKPOINTS, 'base-1-parallelsearch-seed1'), '--out', 'compare.html'],
      words`evaluate --model run/model --prompt-form short --limit 2 --backend wasm`,
    ]) {
      const { code: used, stderr: said } = await runCommand(use, root);
      expect(used, said).toBe(0);
    }
    expect(read('compare.html')).toContain('base-1-parallelsearch-seed1');
  });

  it('reports that there is nothing to import', async () => {
    const nothing = await refusal(['import', 'trl', 'typed', '--out', 'run'], root);
    expect(nothing).toMatch(/checkpoint or rollouts.* in typed/);
    const messages = [
      { role: 'user', content: 'Question: Who?' },
      { role: 'assistant', content: '<answer> Bo </answer>' },
    ];
    writeEpisodes(at('unscored'), { traces: [traceOf(messages)] });
    const unscored = await refusal(['import', 'verifiers', 'unscored', '--out', 'none'], root);
    expect(unscored).toMatch(/rollouts with a reward in .*none of 1 has one/);
  });
});
