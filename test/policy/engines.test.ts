/** A policy in other engines: the same greedy tokens from transformers, PEFT and vLLM. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runEvaluate } from '../../lib/commands/evaluate/command.js';
import { runExportHf } from '../../lib/commands/export-interop.js';
import { loadPolicy } from '../../lib/experiments/running/policy-runs.js';
import { CHECKPOINTS } from '../../lib/io/paths.js';
import { openCompletionsPolicy } from '../../lib/policy/api/openai/completions.js';
import type { LocalPolicy } from '../../lib/policy/local-policy.js';
import { createRandom } from '../../lib/random.js';
import { loadWorld } from '../../lib/retrieval/small-world.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { buildPrompt } from '../../lib/text/prompts.js';
import { words } from '../commands/command-line.js';
import { captured, linesOf } from '../commands/tiny-world.js';
import { engineFile } from '../engines.js';
import { temporaryFolder } from '../folder.js';
import { freePort } from '../servers.js';

const vllm = engineFile('vllm');
const MINUTE = 60_000;
const TOKENS = 60;

describe.skipIf(vllm === undefined)(
  'engines (needs vLLM: ENGINES names the bin folder of a Python environment with vllm, transformers and peft)',
  () => {
    const root = temporaryFolder();
    const folder = join(root, 'hf');
    let policy: LocalPolicy;
    let contexts: number[][];
    let local: { tokenIds: number[]; logProbs?: number[] }[];
    let server: ChildProcess | undefined;
    let address: string;

    beforeAll(async () => {
      await useBackend('auto');
      captured('stderr');
      await runExportHf(folder, {
        method: 'parallelsearch',
        seed: 1,
        checkpoints: CHECKPOINTS,
        dtype: 'float32',
      });
      vi.restoreAllMocks();
      const port = await freePort();
      address = `http://127.0.0.1:${port}/v1`;
      const options = words`--dtype float32 --max-model-len 1024 --enforce-eager --max-num-seqs 16`;
      const listen = words`--host 127.0.0.1 --port ${String(port)}`;
      const settings = {
        VLLM_CPU_KVCACHE_SPACE: '1',
        HF_HUB_OFFLINE: '1',
        VLLM_NO_USAGE_STATS: '1',
      };
      const env = { ...process.env, ...settings };
      server = spawn(vllm!, ['serve', folder, ...options, ...listen], {
        env,
        stdio: 'ignore',
        detached: true,
      });
      const method = 'parallelsearch';
      policy = await loadPolicy({ method, model: 'instruct', initSeed: 1, seed: 1 });
      const { questions } = await loadWorld();
      contexts = questions
        .filter(({ split }) => split === 'dev')
        .slice(0, 50)
        .map(({ question }) =>
          policy.tokenizer.encode(buildPrompt('parallel', question, { form: 'short' })),
        );
      local = await policy.generate(contexts, sampling());
      while (server.exitCode === null && !(await fetch(`${address}/models`).catch(() => null)))
        await delay(1000);
    }, 20 * MINUTE);
    // It has child processes.
    afterAll(() => void (server?.pid && process.kill(-server.pid, 'SIGTERM')));

    const sampling = () => ({
      temperature: 0,
      topP: 1,
      maxNewTokens: TOKENS,
      stop: [],
      randoms: contexts.map(() => createRandom(0)),
    });

    it(
      'give the same greedy tokens for 50 prompts in transformers, merged and as a PEFT adapter',
      async () => {
        const prompts = join(root, 'prompts.json');
        writeFileSync(prompts, JSON.stringify({ contexts, tokens: TOKENS }));
        const script = fileURLToPath(new URL('greedy.py', import.meta.url));
        const { stdout } = await promisify(execFile)(join(dirname(vllm!), 'python'), [
          script,
          folder,
          prompts,
        ]);
        const ids = local.map(({ tokenIds }) => tokenIds);
        expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toEqual({
          merged: ids,
          adapter: ids,
        });
      },
      10 * MINUTE,
    );

    it(
      'give the same tokens in vLLM, with the same log-probs',
      async () => {
        const served = await openCompletionsPolicy(address);
        const generations = await served.generate(contexts, sampling());
        expect(generations.map(({ tokenIds }) => tokenIds)).toEqual(
          local.map(({ tokenIds }) => tokenIds),
        );
        for (const [i, { logProbs }] of generations.entries())
          for (const [t, value] of logProbs!.entries())
            expect(value).toBeCloseTo(local[i].logProbs![t], 2);
      },
      10 * MINUTE,
    );

    it(
      "give the same answers over vLLM's API as locally",
      async () => {
        for (const stream of ['stdout', 'stderr'] as const) captured(stream);
        const answersOf = async (who: { policy?: string }): Promise<object[]> => {
          const out = join(root, who.policy ? 'remote.jsonl' : 'local.jsonl');
          await runEvaluate({
            ...who,
            method: 'parallelsearch',
            seed: 1,
            checkpoints: CHECKPOINTS,
            split: 'dev',
            limit: 100,
            out,
            batchSize: 16,
            backend: 'auto',
          });
          return linesOf(out).map((line) => ({ ...line, model: '', settingsHash: '' }));
        };
        const remote = await answersOf({ policy: address });
        const local = await answersOf({});
        vi.restoreAllMocks();
        expect(remote).toEqual(local);
      },
      10 * MINUTE,
    );
  },
);
