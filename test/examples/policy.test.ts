import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import '../../examples/policy.js';
import { setUp } from '../../lib/commands/common/setup.js';
import { runEvaluate } from '../../lib/commands/evaluate/command.js';
import {
  createRandom,
  loadModel,
  LocalPolicy,
  openRemotePolicy,
  useBackend,
} from '../../lib/index.js';
import { serveLocally, type LocalServer } from '../../lib/io/local-server.js';
import { CHECKPOINTS } from '../../lib/io/paths.js';
import { captured, linesOf } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';

interface Request {
  contexts: number[][];
  temperature: number;
  topP: number;
  maxNewTokens: number;
  stop: string[];
  seeds: number[];
}

const folder = temporaryFolder();
let server: LocalServer;
let address: string;
let calls = 0;
beforeAll(async () => {
  await useBackend('wasm');
  const model = await loadModel(join(CHECKPOINTS, 'instruct-1'));
  const policy = new LocalPolicy('served', model.weights, model.config, model.tokenizer);
  server = await serveLocally(0, async (request) => {
    if (request.url === '/model')
      return Response.json({ tokenizer: model.tokenizerJson, maxLength: policy.maxLength });
    if (request.url !== '/generate') return new Response(null, { status: 404 });
    calls++;
    const { contexts, seeds, ...options } = JSON.parse(await text(request)) as Request;
    const generations = await policy.generate(contexts, {
      ...options,
      randoms: seeds.map((seed) => createRandom(seed)),
    });
    return Response.json({ generations });
  });
  address = `toy:${server.url.slice(0, -1)}`;
});
afterAll(() => server.close());

describe('examples/policy.ts', () => {
  it('is evaluated by its address, with the answers of the same model run locally', async () => {
    for (const stream of ['stdout', 'stderr'] as const) captured(stream);
    const answersOf = async (who: { policy?: string; model?: string }): Promise<object[]> => {
      const out = join(folder, who.policy ? 'remote.jsonl' : 'local.jsonl');
      await runEvaluate({
        ...who,
        method: 'r1',
        seed: 1,
        checkpoints: CHECKPOINTS,
        limit: 2,
        out,
        batchSize: 1,
        backend: 'wasm',
      });
      return linesOf(out);
    };
    const remote = await answersOf({ policy: address });
    expect(calls).toBe(2);
    const local = await answersOf({ model: 'instruct-1' });
    const served = { model: address, settingsHash: expect.any(String) as string };
    expect(remote).toEqual(local.map((line) => ({ ...line, ...served })));
  });

  it("rejects an adapter, and reports the server's error", async () => {
    const settings = {
      policy: address,
      adapter: 'some/adapter',
      seed: 1,
      checkpoints: CHECKPOINTS,
    };
    await expect(setUp({ ...settings, backend: 'wasm' })).rejects.toThrow('some/adapter');
    await expect(openRemotePolicy(`${address}/none`)).rejects.toThrow('Expected status 200');
    await expect(openRemotePolicy('other:http://127.0.0.1')).rejects.toThrow(
      'toy:, but got other:',
    );
  });
});
