import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPassages } from '../../../lib/data/flashrag.js';
import type { ServerJob } from '../../../lib/experiments/latency/measuring.js';
import { SMALL_WORLD } from '../../../lib/io/paths.js';
import type { Worker } from '../../../lib/io/worker.js';
import { createRemoteRetriever } from '../../../lib/retrieval/remote.js';

const compiled = new URL('../../../dist/experiments/latency/server.js', import.meta.url);

describe.skipIf(!existsSync(compiled))(
  'startLatencyServer (skipped without dist/: npm run build)',
  () => {
    it('serves the small world from a process of its own', async () => {
      const { startLatencyServer } = (await import(compiled.href)) as {
        startLatencyServer: () => Worker<ServerJob, string>;
      };
      const [passage] = await readPassages(join(SMALL_WORLD, 'passages.jsonl'));
      const server = startLatencyServer();
      try {
        const urls = [
          await (await server.send({ delayMs: 0 })).reply,
          await (await server.send({ delayMs: 1 })).reply,
        ];
        expect(new Set(urls).size).toBe(2);
        for (const url of urls) {
          expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/retrieve$/);
          const [found] = await createRemoteRetriever({ url }).retrieve([passage.title], {
            topK: 3,
          });
          expect(found.map(({ passage: { title } }) => title)).toContain(passage.title);
        }
      } finally {
        server.stop();
      }
    });
  },
);
