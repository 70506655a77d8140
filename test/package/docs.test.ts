/** Documentation and code refer to each other's parts. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { mean } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { updateReadme, type Row } from '../../bench/support/summary.js';
import { METRICS } from '../../lib/evaluation/metrics.js';
import { packagePath } from '../../lib/io/paths.js';
import { runCommand } from '../commands/command-line.js';

const read = (...parts: string[]): string => readFileSync(packagePath(...parts), 'utf8');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(packagePath('docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => path.join('docs', file)),
];

/** Names in the first columns of a page's tables. */
const glossaryTerms = (page: string): Set<string> =>
  new Set(
    [...page.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell]) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    ),
  );

describe.each(PAGES)('%s', (page) => {
  it('links to existing files, pages and headings', () => {
    const text = read(page);
    const names = /`((?:lib|test|docs|scripts|notebooks|bench|examples)\/[\w./-]*)`/g;
    const files = Array.from(text.matchAll(names), ([, name]) => name);
    // NAME is a placeholder.
    const missing = files.filter((file) => !existsSync(packagePath(file)));
    expect(missing.filter((file) => !/[A-Z]{4}/.test(file))).toEqual([]);
    for (const [, target] of text.matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      const [file, heading] = target.split('#');
      const linked = file ? path.join(path.dirname(page), file) : page;
      expect(existsSync(packagePath(linked)), target).toBe(true);
      if (!heading) continue;
      const titles = read(linked).matchAll(/^#+ (.+)$/gm);
      expect(Array.from(titles, ([, title]) => headingSlug(title))).toContain(heading);
    }
  });
});

/** A heading's anchor, as GitHub makes it. */
const headingSlug = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replace(/\s/g, '-');

describe('the glossaries', () => {
  it('explain every training metric', () => {
    const run = 'base-1-parallelsearch-seed1';
    const [first] = read('data', 'checkpoints', run, 'metrics.jsonl').split('\n');
    const written = Object.keys(JSON.parse(first) as object);
    const explained = glossaryTerms(read('docs', 'methods', 'grpo.md'));
    expect(written.filter((name) => !explained.has(name))).toEqual([]);
  });

  it('explain every evaluation metric', () => {
    const explained = glossaryTerms(read('docs', 'methods', 'parallelsearch.md'));
    expect(METRICS.filter((name) => !explained.has(name))).toEqual([]);
  });
});

describe('the README', () => {
  it('has the measured speed', () => {
    const { rows } = JSON.parse(read('docs', 'performance.json')) as { rows: Row[] };
    expect(rows.length).toBeGreaterThan(0);
    expect(updateReadme(read('README.md'), rows)).toBe(read('README.md'));
  });
});

describe('the commands', () => {
  /** Commands in a command's help, in all groups. */
  const commandsIn = async (...command: string[]): Promise<string[]> => {
    const { stdout } = await runCommand([...command, '--help']);
    const [, list = ''] = stdout.split(/ +display help for command\n/);
    return [...list.matchAll(/^ {2}([a-z][a-z-]+)/gm)].map(([, name]) =>
      [...command, name].join(' '),
    );
  };

  it('are in the README’s table and in --help', async () => {
    const groups = ['data', 'notebook', 'export', 'index'];
    const all = await commandsIn();
    const parts: string[] = [];
    for (const group of groups) parts.push(...(await commandsIn(group)));
    const { stdout } = await runCommand(['--help']);
    const help = stdout.replace(/\s+/g, ' ');
    const isOwn = (name: string): boolean => !/help$|^export reports$/.test(name);
    const below = parts.filter(isOwn);
    expect(below.filter((name) => !help.includes(name))).toEqual([]);
    const isGroup = (name: string): boolean => ['data', 'notebook', 'index'].includes(name);
    const commands = [...all.filter((name) => isOwn(name) && !isGroup(name)), ...below];
    expect(commands).toContain('sweep');
    const named = glossaryTerms(read('README.md'));
    expect(commands.filter((name) => !named.has(name))).toEqual([]);
  });
});

describe('the page about GRPO: phantom advantages', () => {
  const page = read('docs', 'methods', 'grpo.md');
  const lines = <T>(...parts: string[]): T[] =>
    read(...parts)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as T);
  const row = (cells: string[]): string => `| ${cells.join(' | ')} |`;
  const INIT_SEEDS = [1, 2, 3];

  it.each([
    ['ParallelSearch', 'hasty', 'parallelsearch-100steps-seed1', 100],
    ['ParallelSearch without r_s', 'hasty', 'parallelsearch-d0.15-s0-100steps-seed1', 100],
    ['Search-R1 with r_s', 'hasty', 'search-r1-d0-s0.35-100steps-seed1', 100],
    ['ParallelSearch', 'paired', 'parallelsearch-50steps-seed1', 50],
    [
      'ParallelSearch, hybrid questions',
      'instruct',
      `parallelsearch-100steps-hybrid0.2-seed1`,
      100,
    ],
    ['Search-R1 with r_s', 'instruct', 'search-r1-d0-s0.35-50steps-seed1', 50],
    ['Search-R1 with a format reward', 'instruct', 'search-r1-format-seed1', 200],
  ])('has the shares of %s (%s), as in the trainings %s', (method, model, run, numSteps) => {
    const shares = INIT_SEEDS.map((i) => {
      const file = ['data', 'checkpoints', `${model}-${i}-${run}`, 'metrics.jsonl'];
      return lines<{ phantom_advantages: number }>(...file).map((step) => step.phantom_advantages);
    });
    const share = (...part: [number, number?]): string =>
      mean(shares, (steps) => mean(steps.slice(...part)))!.toFixed(2);
    expect(page).toContain(
      row([method, `\`${model}\``, share(0, 20), share(-20), String(numSteps)]),
    );
  });

  it("has the gated trainings' answers, as recorded on dev", () => {
    interface Point {
      step: number;
      outcome: number;
    }
    const gated = lines<Point & { model: string }>('data', 'conditions', 'outcome-gate.jsonl');
    const text = (points: Point[]): string =>
      [25, 50].map((at) => points.find(({ step }) => step === at)!.outcome.toFixed(3)).join(', ');
    for (const model of ['instruct', 'hasty'])
      for (const i of INIT_SEEDS) {
        const run = `${model}-${i}-parallelsearch${model === 'hasty' ? '-100steps' : ''}-seed1`;
        const without = lines<Point>('data', 'checkpoints', run, 'dev.jsonl');
        const withGate = gated.filter((point) => point.model === `${model}-${i}`);
        expect(page).toContain(row([`\`${model}-${i}\``, text(without), text(withGate)]));
      }
  });
});
