import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import '../../examples/retriever.js';
import { runEvaluate } from '../../lib/commands/evaluate/command.js';
import { parseTrainConfig, trainingPreset, type Trajectory } from '../../lib/index.js';
import { CHECKPOINTS } from '../../lib/io/paths.js';
import { createRetriever } from '../../lib/retrieval/retrievers.js';
import { captured, linesOf } from '../commands/tiny-world.js';
import { isCutShort } from '../experiments/cut-short.js';
import { temporaryFolder } from '../folder.js';
import { FILMS } from '../retrieval/passages.js';

const folder = temporaryFolder();

describe('examples/retriever.ts', () => {
  it('finds passages by the titles in a query, longest first', async () => {
    const retriever = await createRetriever('titles', FILMS);
    const found = await retriever.retrieve(
      ['Was Andrei Tarkovsky’s "Stalker" shot in Tallinn?', 'who?', 'amelie AMÉLIE'],
      { topK: 2 },
    );
    expect(found.map((list) => list.map(({ passage }) => passage.title))).toEqual([
      ['Andrei Tarkovsky', 'Stalker'],
      [],
      ['Amélie'],
    ]);
  });

  it('can be used in configurations', () => {
    const config = { ...trainingPreset('search-r1', 'base', 1), retriever: 'titles' };
    expect(parseTrainConfig(config).retriever).toBe('titles');
  });

  it.skipIf(isCutShort)(
    'can be used with --retriever (skipped where weights do not search)',
    async () => {
      const trajectories = join(folder, 'trajectories.jsonl');
      for (const stream of ['stdout', 'stderr'] as const) captured(stream);
      await runEvaluate({
        method: 'parallelsearch',
        seed: 1,
        checkpoints: CHECKPOINTS,
        limit: 3,
        retriever: 'titles',
        trajectories,
        batchSize: 3,
        backend: 'wasm',
      });
      const found = linesOf<Trajectory>(trajectories)
        .flatMap(({ searchTurns }) => searchTurns.flatMap(({ results }) => results))
        .flatMap((result) => (result.status === 'ok' ? result.passages : []));
      expect(found.length).toBeGreaterThan(0);
      for (const { title, score } of found) expect(score).toBe(title.length + 2);
    },
  );
});
