import { truncateSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readSections, type Columns, type Section } from '../../lib/data/documents.js';
import { writeParquet } from '../../lib/io/parquet.js';
import { folderForEach } from '../folder.js';
import { slow } from '../full.js';

const inFolder = folderForEach();

function read(name: string, content: string | Uint8Array, columns?: Columns): Promise<Section[]> {
  writeFileSync(inFolder(name), content);
  return readSections(inFolder(name), columns);
}

/** Title and paragraphs. */
const plain = (sections: readonly Section[]): [string, ...string[]][] =>
  sections.map(({ title, paragraphs }) => [title, ...paragraphs]);

/** POSIX's ustar header: the magic is at 257. */
const TAR = Buffer.alloc(512);
TAR.write('a.jsonl');
TAR.write('ustar\x0000', 257);

describe('readSections', () => {
  it('titles sections of Markdown by document title and headings', async () => {
    const markdown = `# Pump manual

Read *this* first:
all of it.

## Reset

1. Press [the button](http://example.com).
2. Wait.

### After a leak

| valve | state |
| --- | --- |
| A | closed |

## Storage

Keep it dry.
`;
    expect(plain(await read('manual.md', markdown))).toEqual([
      ['Pump manual', 'Read this first: all of it.'],
      ['Pump manual - Reset', 'Press the button.', 'Wait.'],
      ['Pump manual - Reset - After a leak', 'valve | state', 'A | closed'],
      ['Pump manual - Storage', 'Keep it dry.'],
    ]);
  });

  it('prefers the title in the front matter, and falls back on the file name', async () => {
    const markdown = '---\ntags: [a]\ntitle: "The pump"\n---\n# Intro\n\nText.\n';
    expect(plain(await read('a.md', markdown))).toEqual([['The pump', 'Text.']]);
    expect(await read('my-notes.md', 'Text.')).toMatchObject([
      { title: 'my-notes', isUntitled: true },
    ]);
    expect(plain(await read('b.md', '# One\n\nx\n\n# Two\n\ny\n'))).toEqual([
      ['b - One', 'x'],
      ['b - Two', 'y'],
    ]);
  });

  it.each([
    ['---\ntitle: >-\n  A folded\n  title\nlang: en\n---\nText.', ['A folded title', 'Text.']],
    ["---\ntitle: 'It''s' \n---\nText.", ["It's", 'Text.']],
    [
      '---\ntitle: "caf\\xE9 \\u5317 \\U0001F600 \\"a\\"\\\n  \\ b\\tc" # x\n---\nText.',
      ['café 北 😀 "a" b c', 'Text.'],
    ],
    ["---\ntitle: 'a' # 'b'\n---\nText.", ['a', 'Text.']],
    ['---\ntitle: "\\UFFFFFFFF\\xZZ"\n---\nText.', ['a', 'Text.']],
    ['---\ntitle: Pump # draft\n---\nText.', ['Pump', 'Text.']],
    ['+++\ntitle = "The \\"pump\\""\n+++\nText.', ['The "pump"', 'Text.']],
    ['---\n\nBetween two rules.\n\n---\n\nText.', ['a', 'Between two rules.', 'Text.']],
    ['<aside>\n\nA callout.\n</aside>\n\nText.', ['a', 'A callout.', 'Text.']],
    ['See ![the diagram](a.png).', ['a', 'See the diagram.']],
    ['```sh\nstop pump\n\n  start pump\n```\n', ['a', 'stop pump', 'start pump']],
  ])('loses no text of the Markdown %j', async (markdown, section) => {
    expect(plain(await read('a.md', markdown))).toEqual([section]);
  });

  it('reads the content of an HTML page without navigation and scripts', async () => {
    const html = `<!doctype html><title>Pumps | Example</title>
      <nav><a>Home</a></nav><header>Logo</header>
      <main><p>A &amp; B<br>c<script>alert(1)</script><p>Second
        <h2>Reset<a class="headerlink">¶</a></h2><div>Press <b>it</b>.<ul><li>one<li>two</ul></div>
      </main><footer>© 2026</footer>`;
    expect(plain(await read('page.html', html))).toEqual([
      ['Pumps | Example', 'A & B c', 'Second'],
      ['Pumps | Example - Reset', 'Press it.', 'one', 'two'],
    ]);
    const breaks = '<h1>Pump<br>A <img alt="new"></h1><pre>stop<br>start</pre>';
    expect(plain(await read('page.htm', breaks))).toEqual([['Pump A new', 'stop', 'start']]);
    const roles = '<h1>T</h1><div role="navigation">a</div><p>b<div role="contentinfo">c</div>';
    expect(plain(await read('page.htm', roles))).toEqual([['T', 'b']]);
  });

  it('uses a short first line of a text as its title', async () => {
    expect(plain(await read('a.txt', 'The pump\n\nIt is\nblue.\n\n \nIt hums.'))).toEqual([
      ['The pump', 'It is blue.', 'It hums.'],
    ]);
    expect(plain(await read('a.txt', 'It is blue.\n\nIt hums.'))).toEqual([
      ['a', 'It is blue.', 'It hums.'],
    ]);
  });

  it('guesses the columns and separator of CSV', async () => {
    const csv = '\uFEFFQuestion;Answer\nWhy?;"Because; of\n\nthis ""pump""."\n;\nHow?;So.\n';
    expect(plain(await read('faq.csv', csv))).toEqual([
      ['Why?', 'Because; of', 'this "pump".'],
      ['How?', 'So.'],
    ]);
  });

  it('uses the named columns', async () => {
    const csv = 'title,text,summary\nT,long,short\n';
    const columns = { title: 'text', text: 'summary' };
    expect(plain(await read('a.csv', csv, columns))).toEqual([['long', 'short']]);
    await expect(read('a.csv', csv, { text: 'body' })).rejects.toThrow(/body.*summary/);
    await expect(read('b.csv', 'a,b\n1,2\n')).rejects.toThrow(/contents.*a and b.*--text/);
  });

  it('reads rows of JSON Lines with their ids, also those of FlashRAG', async () => {
    const lines = '{"id": 7, "contents": "\\"T\\"\\nfirst"}\n\n{"id": "b", "contents": "none"}\n';
    expect(await read('corpus.jsonl', lines)).toMatchObject([
      { title: 'T', paragraphs: ['first'], id: '7', isUntitled: false },
      { title: 'corpus', paragraphs: ['none'], id: 'b', isUntitled: true },
    ]);
    expect(plain(await read('corpus.jsonl.gz', gzipSync(lines)))).toHaveLength(2);
    const chunks = 'doc_id,passage_id,text\n1,1-1,x\n1,1-2,y\n';
    expect(await read('a.csv', chunks)).toMatchObject([{ id: '1-1' }, { id: '1-2' }]);
    for (const name of ['_id', 'docid', 'doc_id', 'docno', 'pid', 'passage_id'])
      expect(await read('a.csv', `${name},text\n007,x\n`)).toMatchObject([{ id: '007' }]);
    expect(plain(await read('a.json', '[{"name": "N", "body": ["x", "y"]}]'))).toEqual([
      ['N', 'x', 'y'],
    ]);
  });

  it('takes a title column and the first line of contents for one title', async () => {
    const rows = [
      { title: 'T', contents: 'T\nfirst' },
      { title: 'T', contents: 'first' },
      { contents: 'T\nfirst' },
    ].map((row) => JSON.stringify(row));
    expect(plain(await read('a.jsonl', rows.join('\n')))).toEqual(rows.map(() => ['T', 'first']));
    const kilt = '{"_id": "290", "wikipedia_title": "A", "text": ["A\\n", "A letter.\\n"]}';
    expect(plain(await read('kilt.jsonl', kilt))).toEqual([['A', 'A', 'A letter.']]);
  });

  it("rejects a benchmark's questions, whose passages would be the answers", async () => {
    const context = [['A', ['A sang.']]];
    const row = { _id: 'h', question: 'Who sang?', answer: 'A', supporting_facts: [], context };
    await expect(read('a.json', JSON.stringify([row]))).rejects.toThrow(/data convert.*--text/);
    const named = await read('a.json', JSON.stringify([row]), { text: 'answer' });
    expect(plain(named)).toEqual([['Who sang?', 'A']]);
  });

  it('finds nothing in a column that a row lacks, whatever its name', async () => {
    const lines = '{"constructor": "C", "text": "a"}\n{"text": "b"}\n';
    const sections = await read('a.jsonl', lines, { title: 'constructor' });
    expect(plain(sections)).toEqual([
      ['C', 'a'],
      ['a', 'b'],
    ]);
  });

  it('reads rows of Parquet', async () => {
    const file = inFolder('passages.parquet');
    const rows = [
      { title: 'A', text: 'a', n: 1 },
      { title: null, text: 'b', n: 2 },
      { title: 'no text', text: null, n: 3 },
    ];
    await writeParquet(file, rows, { title: 'text', text: 'text', n: 'integer' });
    expect(plain(await readSections(file))).toEqual([['A', 'a'], ['passages', 'b'], ['no text']]);
  });

  it('reads UTF-16 and the encoding declared by a page', async () => {
    const utf16 = Buffer.from('\uFEFFcafé', 'utf16le');
    expect(plain(await read('a.txt', utf16))).toEqual([['a', 'café']]);
    const page = Buffer.from('<meta charset="iso-8859-1"><p>café', 'latin1');
    expect(plain(await read('a.html', page))).toEqual([['a', 'café']]);
    const old = Buffer.from('<meta charset="windows-1252"><p>\x93\x80 5\x94', 'latin1');
    expect(plain(await read('a.html', old))).toEqual([['a', '“€ 5”']]);
    // The HTML standard: a byte order mark wins, and a page that declares UTF-16 is UTF-8.
    for (const page of ['\uFEFF<meta charset="iso-8859-1">', '<meta charset="unicode">'])
      expect(plain(await read('a.html', `${page}<p>café `))).toEqual([['a', 'café']]);
    expect(plain(await read('a.txt', 'Old Mac\r\rtext'))).toEqual([['Old Mac', 'text']]);
  });

  it('keeps all digits of an id, and decompresses gzip under any name', async () => {
    const row = '{"id": 12345678901234567891, "text": "a"}';
    for (const bytes of [row, gzipSync(row)])
      expect(await read('corpus.jsonl', bytes)).toMatchObject([{ id: '12345678901234567891' }]);
  });

  it.each([
    ['a.txt', Buffer.from([0x63, 0xe9, 0x20]), /utf-8/],
    ['a.txt', Buffer.from('UTF-16 without a mark', 'utf16le'), /utf-8/],
    ['a.jsonl', '{"text": "a"}\n{"text"', /^line 2: /],
    ['a.jsonl', '[1]', /^line 1: expected an object/],
    ['a.jsonl', '{"text": {"a": 1}}', /^row 1, text: .*\{"a":1\}/],
    ['a.json', '[{"text": "x"}, 3]', /item 2/],
    ['a.csv', 'text,title\n"open,x\n', /^row 1: .*quote/i],
    ['a.csv', 'text,title\na,b\nc\n', /^row 2: .*fields/i],
    ['a.csv', 'text,title,text\na,b,c\n', /one column text/],
    ['a.csv', 'Text,title,text\na,b,c\n', /one column text, but got Text and text\..*--text/],
    ['a.csv', 'ID,id,text\na,b,c\n', /one column id, but got ID and id\. Rename one/],
    ['a.txt', Buffer.from('fffe000061000000', 'hex'), /it is UTF-32/],
    ['a.jsonl', TAR, /it is a tar archive/],
    ['a.html', '<meta charset="klingon">', /klingon, but this encoding is not known/],
    ['a.parquet', 'PAR0', /Parquet/],
    ['a.docx', 'PK', /endings txt/],
  ])('reports the error in %s', async (name, content, message) => {
    await expect(read(name, content)).rejects.toThrow(message);
  });

  slow('rejects files that do not fit in a string (needs test:full)', async () => {
    writeFileSync(inFolder('a.txt'), '');
    truncateSync(inFolder('a.txt'), 2 ** 29);
    await expect(readSections(inFolder('a.txt'))).rejects.toThrow(/half a gigabyte/);
  });
});
