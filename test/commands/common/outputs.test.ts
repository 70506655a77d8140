/** Outputs that are inputs, and outputs that are not regular files. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { inputFiles } from '../../../lib/commands/common/outputs.js';
import { packagePath } from '../../../lib/io/paths.js';
import { folderForEach } from '../../folder.js';
import { isFull } from '../../full.js';
import { code, notebookOf } from '../../notebook/notebooks.js';
import { isBuilt, refusal, runCommand } from '../command-line.js';
import { linesOf, writeOwnData } from '../tiny-world.js';

const inFolder = folderForEach();
const LINE = {
  id: 'q',
  question: 'Who?',
  golden_answers: ['c'],
  type: 'comparison',
  response: '<think>t</think><search>a</search>\n<answer>c</answer>',
};
beforeEach(() => {
  for (const name of ['corpus', 'docs']) mkdirSync(inFolder(name));
  writeOwnData(inFolder('data'));
  mkdirSync(inFolder('runs', 'first'), { recursive: true });
  writeFileSync(inFolder('runs', 'first', 'metrics.jsonl'), '{"step":0,"reward":0}\n');
  writeFileSync(inFolder('runs', 'first', 'run.json'), '{}');
  writeFileSync(inFolder('t.jsonl'), `${JSON.stringify(LINE)}\n`);
  writeFileSync(inFolder('n.ipynb'), JSON.stringify(notebookOf(code('1'))));
  writeFileSync(inFolder('docs', 'notes.md'), '# A\nAda.\n');
  for (const name of ['config.json', 'corpus/config.json', 't-search-r1.jsonl'])
    writeFileSync(inFolder(name), '{}');
  linkSync(inFolder('t.jsonl'), inFolder('hard.jsonl'));
  symlinkSync('t.jsonl', inFolder('link.jsonl'));
  symlinkSync('docs', inFolder('linked'));
  for (const link of ['dangling', 'docs/dangling']) symlinkSync('new', inFolder(link));
  copyFileSync(inFolder('data', 'test.jsonl'), inFolder('corpus', 'questions.jsonl'));
  writeFileSync(inFolder('corpus', 'corpus.jsonl'), '{"id": "1", "contents": "A\\nb"}\n');
});

/** The contents of all files, to check that none changes. */
const contents = (): string =>
  execFileSync('sh', ['-c', 'find . -type f | sort | xargs sha256sum'], {
    cwd: inFolder(),
    encoding: 'utf8',
  });

const evaluate = 'evaluate --data data --policy chat:http://127.0.0.1:9/v1 --model m';
it.each([
  'view t.jsonl --out t.jsonl',
  'view t.jsonl --out link.jsonl',
  'view t.jsonl --out new/../link.jsonl',
  'view mine=t.jsonl --out hard.jsonl',
  'view t.jsonl --questions data/test.jsonl --out ./data/test.jsonl',
  'compare a=t.jsonl b=hard.jsonl -o t.jsonl',
  'notebook render n.ipynb -o n.ipynb',
  'runs . -o runs/first/metrics.jsonl',
  'runs . -o runs/first/run.json',
  'data check data --out data/train.jsonl',
  'data convert corpus --out corpus',
  'data make corpus corpus/corpus.jsonl --force',
  `${evaluate} --out data/test.jsonl`,
  `${evaluate} --out new --trajectories ./new`,
  `${evaluate} --out new --trajectories dangling`,
  `${evaluate} --out docs/new --trajectories linked/dangling`,
  `${evaluate} --config config.json --out config.json`,
  `${evaluate} --methods search-r1,parallelsearch --out t.jsonl --config t-search-r1.jsonl`,
  `${evaluate} --methods search-r1,parallelsearch --out a.jsonl --page a-search-r1.jsonl`,
  'train --model corpus --data data --out ./corpus',
  'warm-up --model corpus --data data --out data/',
])('rejects an output that is an input or another output: %s', async (args) => {
  const before = contents();
  expect(await refusal(args.split(' '), inFolder())).toMatch(/Expected .*output/);
  expect(contents()).toBe(before);
});

it.each([
  ['view t.jsonl --out -', 'Standard output is /dev/stdout'],
  ['notebook run n.ipynb --out -', 'Standard output is /dev/stdout'],
  ['score t.jsonl ./t.jsonl', './t.jsonl is the same as t.jsonl'],
  ['score t.jsonl hard.jsonl', 'hard.jsonl is the same as t.jsonl'],
  ['view a=t.jsonl b=link.jsonl', 'link.jsonl is the same as t.jsonl'],
  ['export verifiers t.jsonl t.jsonl -o new', 'Leave one out'],
  ['view t.jsonl --out docs', 'docs is a folder. Name a file in it'],
  ['view t.jsonl --out new/', 'new/ is a folder. Name a file in it'],
  ['score t.jsonl --questions docs', 'It is a folder: name a file in it'],
  ['view t.jsonl --out page.html.gz', 'Leave out the ending .gz'],
  ['evaluate --out a.jsonl --trajectories a.jsonl.partial', 'Expected another name'],
  [`${evaluate} --out t.jsonl/new/a.jsonl`, 't.jsonl in t.jsonl/new/a.jsonl is not a folder'],
  ['data convert corpus --out n.ipynb/a', 'n.ipynb in n.ipynb/a is not a folder'],
])(
  'rejects -, archives, folders and paths in files as output, and a file given twice: %s',
  async (args, reason) => {
    expect(await refusal(args.split(' '), inFolder())).toContain(reason);
    expect(existsSync(inFolder('-'))).toBe(false);
  },
);

it('treats an empty string as no folder', () => {
  expect(inputFiles('')).toEqual(['']);
});

it('makes passages again from a folder that contains earlier ones', async () => {
  for (let round = 0; round < 2; round++) {
    const made = await runCommand(['data', 'make', 'docs', 'docs', '--force'], inFolder());
    expect(made.code, made.stderr).toBe(0);
  }
  const texts = linesOf<{ contents: string }>(inFolder('docs', 'corpus.jsonl'));
  expect(texts.filter(({ contents }) => contents.includes('Ada.'))).toHaveLength(1);
});

describe.skipIf(!isBuilt || process.platform === 'win32')(
  'an output that is not a regular file',
  () => {
    const run = (shell: string) =>
      spawnSync('bash', ['-c', shell], {
        cwd: inFolder(),
        encoding: 'utf8',
        env: { ...process.env, CLI: packagePath('dist', 'cli.js') },
      });
    const view = 'node $CLI view t.jsonl --out';

    it('is written to; a file keeps its mode and links', async () => {
      run(
        'mkfifo pipe; echo old > page.html; ln -s page.html linked.html; ln -s none.html new.html',
      );
      const viewTo = (name: string) => runCommand(['view', 't.jsonl', '--out', name], inFolder());
      chmodSync(inFolder('page.html'), 0o640);
      for (const name of ['linked.html', 'new.html'])
        expect((await viewTo(name)).code, name).toBe(0);
      const page = readFileSync(inFolder('page.html'), 'utf8');
      expect(page).toMatch(/^<!doctype html>[^]*<\/html>\s*$/i);
      expect(readFileSync(inFolder('none.html'), 'utf8')).toBe(page);
      expect(statSync(inFolder('page.html')).mode & 0o777).toBe(0o640);
      for (const name of ['linked.html', 'new.html'])
        expect(lstatSync(inFolder(name)).isSymbolicLink()).toBe(true);

      const piped = text(spawn('cat', [inFolder('pipe')]).stdout);
      expect((await viewTo('pipe')).code).toBe(0);
      expect(await piped).toBe(page);
      expect(lstatSync(inFolder('pipe')).isFIFO()).toBe(true);
      if (!isFull) return;
      expect(run(`${view} /dev/stdout | cat`).stdout).toBe(page);
      // A redirected file already has a line.
      run(`(echo first; ${view} /dev/stdout) > redirected`);
      expect(readFileSync(inFolder('redirected'), 'utf8')).toBe(`first\n${page}`);
      const devices = ['/dev/null', '/dev/stdout'].map((path) => lstatSync(path).mode);
      expect(run(`${view} /dev/null`).status).toBe(0);
      expect(['/dev/null', '/dev/stdout'].map((path) => lstatSync(path).mode)).toEqual(devices);
    });

    it('is rejected if it cannot be written: a full device, a folder, a protected file', async () => {
      for (const path of ['/dev/full', 'data']) {
        const said = await refusal(['view', 't.jsonl', '--out', path], inFolder());
        expect(said).toMatch(/ENOSPC|is a folder/);
      }
      if (process.getuid!() === 0) return; // Root may write everywhere.
      writeFileSync(inFolder('kept.html'), 'kept');
      chmodSync(inFolder('kept.html'), 0o444);
      expect(run(`${view} kept.html`).stderr).toContain('EACCES');
      expect(readFileSync(inFolder('kept.html'), 'utf8')).toBe('kept');
      mkdirSync(inFolder('read-only'), { mode: 0o555 });
      expect(run(`${view} read-only/new.html`).stderr).toMatch(/Could not write to .*EACCES/);
    });

    it('does not stop a command when its reader exits, but fails if results are lost', () => {
      const { status, stderr } = run('node $CLI methods > /dev/full');
      expect([status, stderr]).toEqual([1, expect.stringContaining('ENOSPC')]);
      expect(run(`${view} page.html 2>/dev/full`).status).toBe(0);
      expect(existsSync(inFolder('page.html'))).toBe(true);
      if (!isFull) return;
      expect(run('set -o pipefail; node $CLI methods --json | head -1').status).toBe(0);
      // Standard error was closed from the start.
      expect(run(`${view} closed.html 2>&-`).status).toBe(0);
      expect(run('node $CLI view - --out t.jsonl < t.jsonl').status).toBe(1);
    });
  },
);
