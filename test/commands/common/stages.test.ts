import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createStages, verboseStages } from '../../../lib/commands/common/stages.js';
import { chiefFindings } from '../../../lib/commands/reproduce.js';
import { temporaryFolder } from '../../folder.js';

const file = join(temporaryFolder(), 'runs', 'start.log');

describe('stages', () => {
  let terminal: string;
  beforeEach(() => {
    terminal = '';
    vi.spyOn(process.stderr, 'write').mockImplementation(
      (text) => (terminal += String(text)) !== '',
    );
    process.stderr.isTTY = false;
  });

  it('print one line each; everything else goes to the log file', async () => {
    const stages = createStages(file);
    process.stderr.write('a warning\n');
    process.stdout.write('printed\n');
    await Promise.all([
      stages.run('first', async (update) => {
        update('half');
        process.stderr.write('detail\n');
        return 'two files';
      }),
      expect(stages.run('second', () => Promise.reject(new Error('broken')))).rejects.toThrow(
        'broken',
      ),
    ]);
    stages.close();
    process.stderr.write('afterwards\n');
    expect(terminal).toMatch(/^first +two files, \d+ s\nafterwards\n$/);
    expect(readFileSync(file, 'utf8')).toMatch(
      /^a warning\nprinted\ndetail\nfirst +two files, \d+ s\n$/,
    );
  });

  it('update one line on a terminal, cut to its width', async () => {
    vi.useFakeTimers();
    process.stderr.isTTY = true;
    const { columns } = process.stderr;
    process.stderr.columns = 20;
    const stages = createStages(file);
    const running = stages.run('notebook', async (update) => {
      update('in a state with many words');
      await new Promise((resolve) => setTimeout(resolve, 1500));
      return 'done';
    });
    await vi.advanceTimersByTimeAsync(2000);
    await running;
    stages.close();
    vi.useRealTimers();
    expect(process.stderr.isTTY).toBe(true);
    process.stderr.columns = columns;
    const lines = terminal.split('\r\x1b[2K').slice(1, 3);
    expect(lines).toEqual([
      'notebook in a state',
      expect.stringMatching(/^notebook +done, 2 s\n$/),
    ]);
  });

  it('print nothing in verbose mode', async () => {
    const stages = verboseStages();
    await stages.run('quiet', () => Promise.resolve('done'));
    stages.print('loud');
    expect(terminal).toBe('loud\n');
  });
});

it('chiefFindings picks the first three sentences of the main results', () => {
  const found = (finding: string): { finding: string } => ({ finding });
  const results = new Map([
    ['latency', found('Faster.')],
    ['real-model', found('At 0.5 it decomposes. It is no better.')],
    ['main-results', found('Needs 35 % fewer calls. Exact match: −1.2 points.')],
  ]);
  expect(chiefFindings(results)).toEqual([
    'Needs 35 % fewer calls.',
    'Exact match: −1.2 points.',
    'At 0.5 it decomposes.',
  ]);
  results.delete('real-model');
  expect(chiefFindings(results)).toHaveLength(3);
});
