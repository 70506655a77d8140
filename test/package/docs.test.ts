/** The documentation and the code name each other's parts. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
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
  it('names existing files and links to existing pages and headings', () => {
    const text = read(page);
    const files = [
      ...text.matchAll(/`((?:lib|test|docs|scripts|notebooks|bench|examples)\/[\w./-]*)`/g),
    ].map(([, name]) => name);
    // NAME stands for a name.
    expect(
      files.filter((file) => !/[A-Z]{4}/.test(file) && !existsSync(packagePath(file))),
    ).toEqual([]);
    for (const [, target] of text.matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      const [file, heading] = target.split('#');
      const linked = file ? path.join(path.dirname(page), file) : page;
      expect(existsSync(packagePath(linked)), target).toBe(true);
      const slugs = heading
        ? [...read(linked).matchAll(/^#+ (.+)$/gm)].map(([, title]) => headingSlug(title))
        : [];
      if (heading) expect(slugs).toContain(heading);
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
    const [first] = read(
      'data',
      'checkpoints',
      'base-1-parallelsearch-seed1',
      'metrics.jsonl',
    ).split('\n');
    const written = Object.keys(JSON.parse(first) as object);
    const explained = glossaryTerms(read('docs', 'methods', 'grpo.md'));
    expect(written.filter((name) => !explained.has(name))).toEqual([]);
  });

  it('explain every evaluation metric', () => {
    const explained = glossaryTerms(read('docs', 'methods', 'parallelsearch.md'));
    expect(METRICS.filter((name) => !explained.has(name))).toEqual([]);
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
    const commands = [
      ...all.filter((name) => isOwn(name) && !['data', 'notebook', 'index'].includes(name)),
      ...below,
    ];
    expect(commands).toContain('sweep');
    const named = glossaryTerms(read('README.md'));
    expect(commands.filter((name) => !named.has(name))).toEqual([]);
  });
});
