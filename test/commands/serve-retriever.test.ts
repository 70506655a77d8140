import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { formatPassages } from '../../lib/data/flashrag-text.js';
import { createRemoteRetriever } from '../../lib/retrieval/remote.js';
import { temporaryFolder } from '../folder.js';
import { FILMS } from '../retrieval/passages.js';
import { isBuilt, refusal, startCommand } from './command-line.js';

const root = temporaryFolder();

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return String(port);
}

describe.skipIf(!isBuilt)('serve-retriever (needs dist/)', () => {
  const data = join(root, 'films');
  mkdirSync(data);
  writeFileSync(join(data, 'corpus.jsonl'), formatPassages(FILMS));
  const args = ['serve-retriever', '--data', data];

  it('uses the given analyzer and stops on Ctrl-C', async () => {
    const port = await freePort();
    const child = startCommand([...args, '--port', port, '--analyzer', 'english']);
    const [line] = (await once(child.stderr, 'data')) as [Buffer];
    const url = `http://127.0.0.1:${port}/retrieve`;
    expect(String(line)).toContain(url);
    const retriever = createRemoteRetriever({ url });
    const [[first], stopWords] = await retriever.retrieve(['films of directors', 'the of is'], {
      topK: 1,
    });
    expect(FILMS.map(({ id }) => id)).toContain(first.passage.id);
    expect(stopWords).toEqual([]);
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([130, null]);
  });

  it('needs a token on a public address', async () => {
    vi.stubEnv('RETRIEVAL_TOKEN', '');
    expect(await refusal([...args, '--host', '0.0.0.0'])).toContain('token');
  });
});
