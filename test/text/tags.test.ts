import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLabelled, parseLabelled } from '../../lib/text/labelled-information.js';
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  nextAction,
  openTag,
  oneLine,
  parseBlocks,
  parseInformation,
  parsePieces,
  formatBlock,
  formatInformation,
  formatResult,
  formatSearch,
  splitQueries,
  wrapResults,
  type PrintedResult,
} from '../../lib/text/tags.js';
import { ANSWER, phrase, roughText, SEARCH, THINK } from './texts.js';

describe('parsePieces', () => {
  it('splits any text without gaps into blocks without inner tags', () => {
    fc.assert(
      fc.property(roughText, (text) => {
        const pieces = parsePieces(text);
        expect(pieces.map((piece) => text.slice(piece.start, piece.end)).join('')).toBe(text);
        pieces.slice(1).forEach((piece, i) => expect(piece.start).toBe(pieces[i].end));
        for (const { body } of parseBlocks(text))
          expect(body).not.toMatch(/<\/?(think|search|information|answer)>/);
      }),
    );
  });

  it('takes the inner block of nested or unclosed tags', () => {
    const blocks = (text: string) => parseBlocks(text).map(({ tag, body }) => [tag, body]);
    expect(blocks('<think> a <search> b </search> </think>')).toEqual([['search', ' b ']]);
    expect(blocks('<search> a <search> b </search>')).toEqual([['search', ' b ']]);
    expect(blocks('<search> a </answer>')).toEqual([]);
  });
});

describe('openTag', () => {
  it.each([
    ['', undefined],
    ['text', undefined],
    ['<think> a', 'think'],
    ['<think> a </thi', 'think'],
    ['<think> a </think>', undefined],
    ['<think> a </think><search> b ## ', 'search'],
  ] as const)('of %j is %j', (text, tag) => expect(openTag(text)).toBe(tag));
});

describe('nextAction', () => {
  it('finds a search and its sub-queries, or an answer', () => {
    const end = THINK.length + SEARCH.length;
    const search = { kind: 'search', queries: ['a', 'b'], end };
    expect(nextAction(`${THINK}${SEARCH} more`)).toEqual(search);
    expect(nextAction(ANSWER)).toEqual({ kind: 'answer', answer: 'x', end: ANSWER.length });
  });

  it.each([
    ['no tag', 'I do not know', 13],
    ['an opening tag only', '<search> a', 10],
    ['a closing tag only', 'a </search> <answer> x </answer>', 11],
    ['tags that do not match', '<search> a </answer> <answer> x </answer>', 20],
    ['a search without a query', '<search> ## </search>', 21],
    ['a thought only', THINK, THINK.length],
  ])('is invalid with %s', (_, text, end) => {
    expect(nextAction(text)).toEqual({ kind: 'invalid', end });
  });

  it('takes the first action and drops the rest', () => {
    const text = `${SEARCH}<information>fake</information>${ANSWER}`;
    expect(nextAction(text)).toMatchObject({ kind: 'search', end: SEARCH.length });
  });

  it('accepts tags fused by a tokenizer', () => {
    const search = { kind: 'search', queries: ['story </'] };
    expect(nextAction('<search> story </</search>')).toMatchObject(search);
  });

  it('does not depend on text after its end', () => {
    fc.assert(
      fc.property(roughText, (text) => {
        const action = nextAction(text);
        expect(action.end).toBeLessThanOrEqual(text.length);
        expect(nextAction(text.slice(0, action.end))).toEqual(action);
      }),
    );
  });
});

describe('formatting and parsing', () => {
  it('reject queries that cannot be parsed back', () => {
    for (const queries of [[], [' '], ['a ## b'], ['a </search>']]) {
      expect(() => formatSearch(queries), JSON.stringify(queries)).toThrow(RangeError);
    }
    expect(() => formatBlock('think', 'a <answer> b')).toThrow('<answer>');
  });

  it.each(['##', ',', ';', '|'])('round-trip searches with separator %s', (separator) => {
    fc.assert(
      fc.property(fc.array(phrase, { minLength: 1, maxLength: 5 }), (phrases) => {
        const queries = phrases.map((text) => text.replaceAll(separator, '.'));
        const text = formatSearch(queries, separator);
        expect(nextAction(text, separator)).toEqual({ kind: 'search', queries, end: text.length });
      }),
    );
    expect(() => formatSearch([`a${separator}b`], separator)).toThrow(separator);
  });

  it('use commas like RAG-R1’s prompt', () => {
    expect(formatSearch(['a', 'b'], ',')).toBe('<search> a,b </search>');
    expect(nextAction('<search> , </search>', ',').kind).toBe('invalid');
  });

  it('keep single hashes in a query', () => {
    expect(splitQueries(' C# history ## # signs ')).toEqual(['C# history', '# signs']);
  });

  it('round-trip information with balanced titles', () => {
    const long = phrase.map((text) => `${text} (film)`);
    const title = fc.oneof(phrase, long);
    const passages = fc.array(fc.record({ title, text: phrase }), { maxLength: 3 });
    const result = fc.oneof(
      passages.map((p) => ({ status: 'ok' as const, passages: p })),
      phrase.map((reason) => ({ status: 'failed' as const, reason })),
    );
    fc.assert(
      fc.property(fc.array(result, { minLength: 1, maxLength: 4 }), (results) => {
        expect(parseInformation(formatInformation(results))).toEqual(results);
      }),
    );
  });

  it('number passages per sub-query and report failures', () => {
    const text = formatInformation([
      { status: 'ok', passages: ['Paris', 'Lyon'].map((title) => ({ title, text: 'A city.' })) },
      { status: 'failed', reason: 'timeout' },
      { status: 'ok', passages: [] },
      { status: 'ok', passages: [{ title: 'Rome', text: 'A city\nin Italy.' }] },
    ]);
    expect(text).toBe(
      '<information>Doc 1(Title: Paris) A city.\nDoc 2(Title: Lyon) A city.\nRetrieval failed: timeout\n' +
        'Nothing found.\nDoc 1(Title: Rome) A city in Italy.</information>',
    );
  });

  it('keep passages inside their block', () => {
    const passage = fc.record({ title: roughText, text: roughText });
    fc.assert(
      fc.property(fc.array(passage, { minLength: 1, maxLength: 3 }), (passages) => {
        const printed = formatInformation([{ status: 'ok', passages }]);
        const block = { kind: 'block', tag: 'information', end: printed.length };
        expect(parsePieces(printed)).toEqual([expect.objectContaining(block)]);
        const [parsed] = parseInformation(printed);
        expect(parsed).toMatchObject({ status: 'ok' });
        expect(parsed.status === 'ok' && parsed.passages.length).toBe(passages.length);
      }),
    );
  });

  it('escape tags within tags', () => {
    expect(oneLine('<<answer>answer>')).toBe('<(answer)answer>');
    expect(oneLine('<sea<search>rch>')).toBe('<sea(search)rch>');
  });
});

describe("other projects' information blocks", () => {
  const [A, B] = ['Doc 1(Title: A) one', 'Doc 2(Title: B) two'];
  const ok = (...passages: [title: string, text: string][]) => ({
    status: 'ok',
    passages: passages.map(([title, text]) => ({ title, text })),
  });

  it.each<[string, string, unknown[]]>([
    ['passages over several lines', `${A}\n  two\n\n${B}`, [ok(['A', 'one two'], ['B', 'two'])]],
    ['an unclosed title', 'Doc 1(Title: A (b) text', [ok(['A (b', 'text'])]],
    ['no title', `${A}\nDoc 2(Title: B`, [ok(['A', 'one Doc 2(Title: B'])]],
    ['a two-digit number', `${A}\nDoc 12(Title: B) two`, [ok(['A', 'one'], ['B', 'two'])]],
    ['a passage named within a line', `${A} ${B}`, [ok(['A', `one ${B}`])]],
    ['a passage named in a continuation line', `${A}\nsee ${B}`, [ok(['A', `one see ${B}`])]],
    ['lines before the first passage', `Found:\n${A}`, [ok(['A', 'one'])]],
    ['only other text', 'Found', []],
    [
      'information tags within a passage',
      `\n <information>\n${A} <information> x </information> y\n</information> \n`,
      [ok(['A', 'one <information> x </information> y'])],
    ],
    ['a tag after the first line', `${A}\n<information> y`, [ok(['A', 'one <information> y'])]],
    ['a one-line block', ' <information>Nothing found.</information> ', [ok()]],
    [
      'lines after a failure',
      `${A}\nRetrieval failed: late \nmore`,
      [ok(['A', 'one']), { status: 'failed', reason: 'late' }],
    ],
    ['a failure without a reason', 'Retrieval failed:', [{ status: 'failed', reason: '' }]],
  ])('are read with %s', (_, text, expected) => {
    expect(parseInformation(text)).toEqual(expected);
  });

  it('are formatted without surrounding white space', () => {
    expect(oneLine(' a \n\n  b ')).toBe('a b');
    const failed = { status: 'failed', reason: ' ' } as const;
    const bare = { status: 'ok', passages: [{ title: 'T', text: ' ' }] } as const;
    const printed = '<information>Retrieval failed:\nDoc 1(Title: T)</information>';
    expect(formatInformation([failed, bare])).toBe(printed);
  });
});

describe('information labelled with its queries', () => {
  const results: PrintedResult[] = [
    { status: 'ok', passages: ['Café "Ö"', '😀 \u2028'].map((title) => ({ title, text: 'A b.' })) },
    { status: 'ok', passages: [] },
    { status: 'failed', reason: 'late' },
  ];
  const label = (queries: readonly string[], shown: readonly PrintedResult[]): string => {
    const texts = shown.map((result) => formatResult(result, 'json'));
    return wrapResults(texts, { form: 'json', queries });
  };

  it("matches Python's json.dumps", () => {
    expect(label(['who é?', 'b', 'c <answer>'], results)).toBe(
      String.raw`
<information>
{
  "query": [
    "who \u00e9?",
    "b",
    "c (answer)"
  ],
  "documents": [
    "Doc 1: Caf\u00e9 \"\u00d6\"   A b.\nDoc 2: \ud83d\ude00   A b.",
    "",
    "Retrieval failed: late"
  ]
}
</information>
`,
    );
  });

  it('round-trips, whole or cut anywhere', () => {
    const title = fc.oneof(phrase, roughText.map(oneLine));
    const passages = fc.array(fc.record({ title, text: roughText.map(oneLine) }), { maxLength: 3 });
    fc.assert(
      fc.property(fc.array(passages, { minLength: 1, maxLength: 3 }), fc.nat(), (lists, end) => {
        const found = lists.map((passages) => ({ status: 'ok' as const, passages }));
        const queries = lists.map((_, i) => `documents ${i}`);
        const text = label(queries, found);
        expect(isLabelled(text)).toBe(true);
        expect(parseInformation(text)).toEqual(found);
        const cut = parseInformation(text.slice(0, end % text.length));
        expect(cut.length).toBeLessThanOrEqual(found.length);
        for (const [i, result] of cut.slice(0, -1).entries()) expect(result).toEqual(found[i]);
      }),
    );
  });

  it.each([
    [
      '{"query": ["documents", "b"], "documents": ["x", "documents"]}',
      [
        ['documents', 'b'],
        ['x', 'documents'],
      ],
    ],
    [String.raw`<information>{"query": ["caf\u00`, [['caf'], []]],
    [String.raw`{"query": ["a\\\u00e`, [['a\\'], []]],
    [String.raw`{"query": ["a\\u00e`, [[String.raw`a\u00e`], []]],
    [String.raw`{"query": ["\q"`, [[String.raw`\q`], []]],
  ])('is parsed, whole or cut: %s', (text, [query, documents]) => {
    expect(parseLabelled(text)).toEqual({ query, documents });
  });

  it("is parsed in RAG-R1's form, without titles", () => {
    const text =
      '<information>\n{"query": ["a"], "documents": ["Doc 1: \\"Paris\\"\\nA city.\\nDoc 2: Rome"]}\n</information>';
    const paris = { title: '"Paris"', text: ' A city.' };
    const passages = [paris, { title: 'Rome', text: '' }];
    expect(parseInformation(text)).toEqual([{ status: 'ok', passages }]);
    expect(isLabelled('<information>{"documents": []}</information>')).toBe(false);
  });
});

it('notices contain no tags', () => {
  expect(INVALID_ACTION_NOTICE + INVALID_ACTION_NOTICE_FULL).not.toMatch(/<|>/);
});
