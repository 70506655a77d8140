import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { runMake } from '../../lib/commands/data-make.js';
import { loadPassages } from '../../lib/data/flashrag.js';
import { createRetriever } from '../../lib/retrieval/retrievers.js';
import { folderForEach } from '../folder.js';
import { captured } from './tiny-world.js';

const inFolder = folderForEach();
let printed: () => string;
let logged: () => string;

beforeEach(() => {
  [printed, logged] = [captured('stdout'), captured('stderr')];
  for (const name of ['deep', 'node_modules/a', 'v1.md'])
    mkdirSync(inFolder('notes', name), { recursive: true });
  for (const [name, text] of Object.entries({
    'notes/pump.md': '# Pump\n\nIt is blue.\n\n## Reset\n\nPress the red button twice.\n',
    'notes/deep/copy.txt': 'Pump\n\nIt is blue.',
    'notes/logo.png': 'PNG',
    'notes/.draft.md': 'hidden',
    'notes/node_modules/a/readme.md': 'installed',
    'notes/v1.md/old.txt': 'The old pump is red.',
    'faq.csv': 'question,answer\nWho makes it?,Acme makes it.\nWhy?,\n',
    'bad.jsonl': '{"text": 1',
  }))
    writeFileSync(inFolder(name), text);
});

const make = (sources: string[], settings: Partial<Parameters<typeof runMake>[2]> = {}) =>
  runMake(
    inFolder('data'),
    sources.map((name) => inFolder(name)),
    { words: 100, ...settings },
  );

describe('data make', () => {
  it('makes a searchable corpus and reports on it', async () => {
    await make(['notes', 'faq.csv', 'faq.csv']);
    const passages = await loadPassages(inFolder('data'));
    expect(passages.map(({ id, title, text }) => [id, title, text])).toEqual([
      ['notes/deep/copy.txt#1', 'Pump', 'It is blue.'],
      ['notes/pump.md#2', 'Pump - Reset', 'Press the red button twice.'],
      ['notes/v1.md/old.txt#1', 'old', 'The old pump is red.'],
      ['faq.csv#1', 'Who makes it?', 'Acme makes it.'],
    ]);
    expect(logged()).toBe('faq.csv: text from answer, titles from question, ids numbered.\n');
    expect(printed()).toMatch(/files +4 \(2 txt, 1 md and 1 csv\)\n +passages +4,/);
    expect(printed()).toMatch(
      /duplicates dropped +1\n +files left out +1 png\n +rows without text +1 left out, the first in faq.csv\n.*shortest +3 words.*\n.*longest +5 words/,
    );
    const retriever = await createRetriever('bm25', passages);
    const [[best]] = await retriever.retrieve(['reset button'], { topK: 1 });
    expect(best.passage.id).toBe('notes/pump.md#2');
  });

  it('reports every unreadable file and writes nothing', async () => {
    const sources = ['faq.csv', 'bad.jsonl', 'none.md', 'notes/logo.png'];
    const error = await make(sources).catch((reason: unknown) => (reason as Error).message);
    for (const part of [
      /^Unreadable files: 3 of 4/,
      /bad\.jsonl: line 1: /,
      /none\.md: .*no such/,
      /logo\.png: /,
    ])
      expect(error).toMatch(part);
    expect(existsSync(inFolder('data'))).toBe(false);
    await make(sources, { skipUnreadable: true });
    expect(logged()).toContain('bad.jsonl: line 1: ');
    expect(await loadPassages(inFolder('data'))).toHaveLength(1);
  });

  it('replaces passages only if forced', async () => {
    await make(['faq.csv']);
    const before = readFileSync(inFolder('data', 'corpus.jsonl'), 'utf8');
    await expect(make(['notes'])).rejects.toThrow(/corpus\.jsonl.*--force/);
    expect(readFileSync(inFolder('data', 'corpus.jsonl'), 'utf8')).toBe(before);
    await make(['notes'], { force: true });
    expect(await loadPassages(inFolder('data'))).toHaveLength(3);
  });

  it('says how many passages could not keep their ids', async () => {
    writeFileSync(
      inFolder('twice.jsonl'),
      '{"id":1,"contents":"one"}\n{"id":1,"contents":"two"}\n',
    );
    writeFileSync(inFolder('body.csv'), '_id,body,Heading 2\n3,Three.,T\n');
    await make(['twice.jsonl', 'body.csv']);
    expect(logged()).toContain(
      'twice.jsonl: text from contents, titles from contents, ids from id.',
    );
    expect(logged()).toContain(
      "body.csv: text from body, titles from the file's name, ids from _id.",
    );
    expect(printed()).toMatch(/new ids +1, because/);
  });

  it('reads linked files, names linked folders, and stays out of loops', async () => {
    mkdirSync(inFolder('links'));
    const link = (name: string, target: string): void =>
      symlinkSync(target, inFolder('links', name));
    link('more.md', inFolder('notes')); // a folder, whatever its name
    link('up', inFolder('links'));
    link('picture', inFolder('notes/logo.png'));
    await expect(make(['links'])).rejects.toThrow(/found none.*more\.md and .*up: name them/);
    link('pump.md', inFolder('notes/pump.md'));
    await make(['links']);
    expect(await loadPassages(inFolder('data'))).toHaveLength(2);
    expect(printed()).toMatch(
      /files left out +1 picture\n +links left out +.*more\.md and .*up: name/,
    );
    await make(['links', 'links/more.md'], { force: true });
    expect(await loadPassages(inFolder('data'))).toHaveLength(3);
  });

  it('names links to nothing, to themselves, and what is not a file', async () => {
    for (const [name, target] of [
      ['gone.md', 'none.md'],
      ['self.md', 'self.md'],
    ])
      symlinkSync(target, inFolder('notes', name));
    await expect(make(['notes'])).rejects.toThrow(/gone\.md: no such file.*\n.*self\.md: /);
    execFileSync('mkfifo', [inFolder('notes', 'pipe.txt')]);
    await make(['notes'], { skipUnreadable: true });
    expect(printed()).toMatch(/files left out +1 png and 1 txt\n/);
  });

  it('rejects folders without documents and blank files', async () => {
    mkdirSync(inFolder('empty'));
    await expect(make(['empty'])).rejects.toThrow(/txt.*empty/);
    writeFileSync(inFolder('blank.txt'), ' \n');
    await expect(make(['blank.txt'])).rejects.toThrow(/blank\.txt: expected text/);
  });
});
