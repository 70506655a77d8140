/** A project outside the repository, as a user makes and runs it. */
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { readJson } from '../../lib/io/files.js';
import { packagePath } from '../../lib/io/paths.js';
import { codeCells, readNotebook } from '../../lib/notebook/nbformat.js';
import { temporaryFolder } from '../folder.js';
import { isFull } from '../full.js';
import { isBuilt, refusal, runCommand } from './command-line.js';
import { linesOf } from './tiny-world.js';

/** For a busy machine; an idle one needs half a minute. */
const PATIENCE_MS = 900_000;

const root = temporaryFolder();
const project = path.join(root, 'My Search');
const inProject = (...parts: string[]): string => path.join(project, ...parts);

interface Manifest {
  name: string;
  version: string;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
}

/** The result of `npm install` with a dependency on this copy, without a registry. */
function link(): void {
  const modules = (...parts: string[]): string => inProject('node_modules', ...parts);
  mkdirSync(modules('.bin'), { recursive: true });
  symlinkSync(packagePath(), modules('parallelsearch'), 'junction');
  symlinkSync(packagePath('node_modules', 'typescript'), modules('typescript'), 'junction');
  const cli = packagePath('dist', 'cli.js');
  const script = `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n`;
  writeFileSync(modules('.bin', 'parallelsearch'), script, { mode: 0o755 });
}

describe.skipIf(!isBuilt || process.platform === 'win32')(
  'init (needs dist/)',
  { timeout: PATIENCE_MS },
  () => {
    beforeAll(async () => {
      expect(await runCommand(['init', 'My Search', '--link'], root)).toMatchObject({ code: 0 });
      link();
    });
    const npm = (...args: string[]) => promisify(execFile)('npm', args, { cwd: project });

    it('depends on this copy and on the same notebook packages', async () => {
      const ours = (await readJson(packagePath('package.json'))) as Manifest;
      const { name, dependencies, scripts } = (await readJson(
        inProject('package.json'),
      )) as Manifest;
      expect(name).toBe('my-search');
      // Otherwise `npx tsc` would be tslab's older version.
      expect(scripts.postinstall).toBe('npm rebuild typescript');
      expect(dependencies.parallelsearch).toBe(`file:${path.resolve(packagePath())}`);
      expect(Object.keys(dependencies)).toEqual(expect.arrayContaining(['tslab', 'danfojs-node']));
      expect(existsSync(inProject('.gitignore'))).toBe(true);
      if (!isFull) return; // Packing takes seconds.
      await runCommand(['init', 'packed'], root);
      const packed = (await readJson(path.join(root, 'packed', 'package.json'))) as Manifest;
      const tarball = `parallelsearch-${ours.version}.tgz`;
      expect(packed.dependencies.parallelsearch).toBe(`file:${tarball}`);
      expect(existsSync(path.join(root, 'packed', tarball))).toBe(true);
    });

    it('leaves an empty folder if npm cannot pack', async () => {
      vi.stubEnv('PATH', root);
      const folder = path.join(root, 'unpacked');
      expect(await refusal(['init', folder])).toContain('npm');
      expect(readdirSync(folder)).toEqual([]);
      vi.unstubAllEnvs();
    });

    it('rejects a folder that is not empty', async () => {
      expect(await refusal(['init', project])).toContain('to be new or empty');
    });

    it.skipIf(!isFull)(
      'trains, evaluates and writes a page with npm start (needs test:full)',
      async () => {
        const grpo = { steps: 1, questionsPerStep: 2, groupSize: 2 };
        writeFileSync(inProject('train.json'), JSON.stringify({ method: 'parallelsearch', grpo }));
        await npm('start');
        const metrics = linesOf(inProject('runs', 'first', 'metrics.jsonl'));
        expect(metrics).toHaveLength(1);
        expect(metrics[0]).toHaveProperty(['rewards/asked_at_once']);
        const html = readFileSync(inProject('report.html'), 'utf8');
        expect(html).toContain('<h1 id="a-first-training">A first training</h1>');
        expect(html).toContain('<figure class="chart"');
        expect(html).toContain('Secret River');
        const answers = readFileSync(inProject('runs', 'first', 'answers.jsonl'), 'utf8');
        expect(answers.match(/"em":1/g)?.length).toBeGreaterThan(2); // of 4
        const cells = codeCells(readNotebook(inProject('notebook.ipynb')));
        expect(cells.flatMap(({ outputs }) => outputs)).toEqual([]);
      },
    );

    it.skipIf(!isFull)(
      'checks types, data and reward with npm test (needs test:full)',
      async () => {
        const { stdout } = await npm('test');
        expect(stdout).toContain('No problems.');
        expect(stdout).toMatch(/^# pass 1$/m);
        writeFileSync(inProject('wrong.ts'), 'export const wrong: string = 1;\n');
        await expect(npm('test')).rejects.toThrow();
      },
    );
  },
);
