import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../folder.js';
import { writeStep } from '../pages/run/run.js';
import { isBuilt, runCommand } from './command-line.js';

const root = temporaryFolder();

describe.skipIf(!isBuilt)('compare (needs dist/)', () => {
  it('writes one page that works offline, with the given names', async () => {
    for (const name of ['a', 'b']) for (const step of [0, 1]) writeStep(join(root, name), step);
    const { code, stderr } = await runCommand(
      ['compare', 'a', 'longer=b', '-o', 'both.html'],
      root,
    );
    expect([code, stderr]).toEqual([0, '2 runs compared: both.html\n']);
    const html = readFileSync(join(root, 'both.html'), 'utf8');
    expect(html).toContain('<h1>Compared: a and longer</h1>');
    expect(html).toContain("default-src 'none'");
    expect(html).not.toMatch(/(src|href)="(https?:|\/\/|(?!data:|#)[\w./]+\.(js|css|png))/);
  });

  it('names a missing run', async () => {
    const { code, stderr } = await runCommand(['compare', join(root, 'absent')]);
    expect(code).toBe(1);
    expect(stderr).toContain('absent');
  });
});
