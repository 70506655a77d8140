import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkFormat,
  checkTrajectoryFormat,
  executedSearches,
  extractAnswer,
  finalAnswer,
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  nextAction,
  oneLine,
  parseBlocks,
  parseInformation,
  parsePieces,
  printBlock,
  printInformation,
  printSearch,
  splitQueries,
  splitTranscript,
  type PrintedResult,
  type TextSegment,
} from '../../lib/text/tags.js';

/** Texts that are likely to break a tag grammar. */
const roughText = fc
  .array(
    fc.oneof(
      fc.constantFrom('<think>', '</think>', '<search>', '</search>', '<information>', '</information>'),
      fc.constantFrom('<answer>', '</answer>', '##', '#', '</', '<', '>', '\n', ' ', 'Doc 1(Title: a) b'),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join(''));

const word = fc.stringMatching(/^[a-z0-9?'é,.-]{1,8}$/);
const phrase = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(' '));

const think = '<think> reason </think>';
const search = '<search> a ## b </search>';
const information = '<information>Doc 1(Title: t) text</information>';
const answer = '<answer> x </answer>';

describe('parsePieces', () => {
  it('cuts a text into pieces without gaps, whatever the text', () => {
    fc.assert(
      fc.property(roughText, (text) => {
        const pieces = parsePieces(text);
        expect(pieces.map((piece) => text.slice(piece.start, piece.end)).join('')).toBe(text);
        pieces.slice(1).forEach((piece, i) => expect(piece.start).toBe(pieces[i].end));
      }),
    );
  });

  it('finds no tag within a body', () => {
    fc.assert(
      fc.property(roughText, (text) => {
        for (const block of parseBlocks(text)) {
          expect(block.body).not.toMatch(/<\/?(think|search|information|answer)>/);
        }
      }),
    );
  });

  it('takes the inner block where tags are nested or not closed', () => {
    expect(parseBlocks('<think> a <search> b </search> </think>').map((b) => [b.tag, b.body])).toEqual([
      ['search', ' b '],
    ]);
    expect(parseBlocks('<search> a <search> b </search>').map((b) => b.body)).toEqual([' b ']);
    expect(parseBlocks('<search> a </answer>')).toEqual([]);
  });
});

describe('nextAction', () => {
  it('finds a search and its sub-queries, or an answer', () => {
    const end = think.length + search.length;
    expect(nextAction(`${think}${search} more`)).toEqual({ kind: 'search', queries: ['a', 'b'], end });
    expect(nextAction(answer)).toEqual({ kind: 'answer', answer: 'x', end: answer.length });
  });

  it.each([
    ['no tag', 'I do not know', 13],
    ['an opening tag only', '<search> a', 10],
    ['a closing tag only', 'a </search> <answer> x </answer>', 11],
    ['tags that do not match', '<search> a </answer> <answer> x </answer>', 20],
    ['a search without a query', '<search> ## </search>', 21],
    ['a thought only', think, think.length],
  ])('is invalid with %s', (_, text, end) => {
    expect(nextAction(text)).toEqual({ kind: 'invalid', end });
  });

  it('takes the first action and drops what follows its closing tag', () => {
    const text = `${search}<information>fake</information>${answer}`;
    expect(nextAction(text)).toMatchObject({ kind: 'search', end: search.length });
  });

  it('searches with what a tokenizer welded to the closing tag', () => {
    expect(nextAction('<search> story </</search>')).toMatchObject({ kind: 'search', queries: ['story </'] });
  });

  it('does not change when what follows its end is dropped', () => {
    fc.assert(
      fc.property(roughText, (text) => {
        const action = nextAction(text);
        expect(action.end).toBeLessThanOrEqual(text.length);
        expect(nextAction(text.slice(0, action.end))).toEqual(action);
      }),
    );
  });
});

describe('printing and parsing', () => {
  it('are inverse for searches', () => {
    fc.assert(
      fc.property(fc.array(phrase, { minLength: 1, maxLength: 5 }), (queries) => {
        const text = printSearch(queries);
        expect(nextAction(text)).toEqual({ kind: 'search', queries, end: text.length });
      }),
    );
  });

  it('refuses queries that would not come back', () => {
    for (const queries of [[], [' '], ['a ## b'], ['a </search>']]) {
      expect(() => printSearch(queries), JSON.stringify(queries)).toThrow(RangeError);
    }
    expect(() => printBlock('think', 'a <answer> b')).toThrow('<answer>');
  });

  it('keeps single hashes of a query', () => {
    expect(splitQueries(' C# history ## # signs ')).toEqual(['C# history', '# signs']);
  });

  it('are inverse for information whose titles have balanced parentheses', () => {
    const title = fc.oneof(
      phrase,
      phrase.map((t) => `${t} (film)`),
    );
    const passages = fc.array(fc.record({ title, text: phrase }), { maxLength: 3 });
    const result: fc.Arbitrary<PrintedResult> = fc.oneof(
      passages.map((p) => ({ status: 'ok' as const, passages: p })),
      phrase.map((reason) => ({ status: 'failed' as const, reason })),
    );
    fc.assert(
      fc.property(fc.array(result, { minLength: 1, maxLength: 4 }), (results) => {
        expect(parseInformation(printInformation(results))).toEqual(results);
      }),
    );
  });

  it('numbers passages from 1 again for every sub-query and says where retrieval failed', () => {
    const text = printInformation([
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

  it('keeps passages within their block, whatever they hold', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(roughText, roughText), { minLength: 1, maxLength: 3 }), (pairs) => {
        const passages = pairs.map(([title, text]) => ({ title, text }));
        const printed = printInformation([{ status: 'ok', passages }]);
        expect(parsePieces(printed)).toEqual([
          expect.objectContaining({ kind: 'block', tag: 'information', end: printed.length }),
        ]);
        const [parsed] = parseInformation(printed);
        expect(parsed).toMatchObject({ status: 'ok' });
        expect(parsed.status === 'ok' && parsed.passages.length).toBe(passages.length);
      }),
    );
  });

  it('defuses tags that hide in tags', () => {
    expect(oneLine('<<answer>answer>')).toBe('<(answer)answer>');
    expect(oneLine('<sea<search>rch>')).toBe('<sea(search)rch>');
  });
});

describe('checkFormat', () => {
  it.each([
    ['one search', `${think}\n${search}\n${information}\n\n${think}${answer}\n`],
    ['two searches', `${think}${search}${information}${think}${search}${information}${think}${answer}`],
    ['no search', `${think}${answer}`],
    ['tags in information', `${think}${search}<information>${answer}</information>${think}${answer}`],
  ])('is right with %s', (_, response) => {
    expect(checkFormat(response)).toEqual({ ok: true });
  });

  it.each([
    ['nothing', '', 'not an answer'],
    ['no thought', answer, 'expected think after start, but found answer'],
    ['two thoughts', `${think}${think}${answer}`, 'after think, but found think'],
    ['no thought after information', `${think}${search}${information}${answer}`, 'think after information'],
    ['no information', `${think}${search}${think}${answer}`, 'information after search'],
    ['fake information', `${think}${information}${think}${answer}`, 'policy wrote'],
    ['a search at the end', `${think}${search}`, 'not an answer'],
    ['text after the answer', `${think}${answer} done`, 'text outside of blocks: "done"'],
    ['a thought left open', `<think> a ${answer}`, 'text outside of blocks'],
    ['something after the answer', `${think}${answer}${think}`, 'nothing after answer'],
    ['an empty search', `${think}<search> </search>${information}${think}${answer}`, 'without a query'],
    ['a notice', `${think}${INVALID_ACTION_NOTICE}${think}${answer}`, 'not valid'],
    ['the long notice', `${think}${INVALID_ACTION_NOTICE_FULL}${think}${answer}`, 'not valid'],
  ])('is wrong with %s', (_, response, reason) => {
    expect(checkFormat(response)).toEqual({ ok: false, reason: expect.stringContaining(reason) as string });
  });
});

describe('checkTrajectoryFormat', () => {
  const policy = (text: string): TextSegment => ({ kind: 'policy', text });
  const fromEnvironment = (text: string): TextSegment => ({ kind: 'information', text });

  it("takes the environment's segments as blocks, whatever they hold, and leaves the prompt out", () => {
    const segments = [
      { kind: 'prompt' as const, text: 'Use <search> query </search>.' },
      policy(`${think} ${search}`),
      fromEnvironment('<information> </information> <answer> cut off'),
      policy(`${think} ${answer}`),
    ];
    expect(checkTrajectoryFormat(segments)).toEqual({ ok: true });
  });

  it('never counts information that the policy wrote, even right after its search', () => {
    const segments = [policy(`${think}${search}${information}${think}${answer}`)];
    expect(checkTrajectoryFormat(segments)).toMatchObject({ ok: false });
    expect(executedSearches(segments)).toEqual([]);
  });

  it('is wrong with a notice', () => {
    const segments = [policy(think), { kind: 'notice' as const, text: 'no' }, policy(`${think}${answer}`)];
    expect(checkTrajectoryFormat(segments)).toMatchObject({ ok: false, reason: 'an action was not valid' });
  });

  it('judges a generated well-formed trajectory right, and wrong once any block is missing', () => {
    const turns = fc.array(fc.array(phrase, { minLength: 1, maxLength: 3 }), { maxLength: 4 });
    fc.assert(
      fc.property(turns, phrase, fc.nat(), (searches, finalText, cut) => {
        const blocks: TextSegment[] = searches.flatMap((queries) => [
          policy(think),
          policy(printSearch(queries)),
          fromEnvironment(information),
        ]);
        blocks.push(policy(think), policy(printBlock('answer', finalText)));
        expect(checkTrajectoryFormat(blocks)).toEqual({ ok: true });
        expect(executedSearches(blocks)).toEqual(searches);
        expect(finalAnswer(blocks)).toBe(finalText);
        const recorded = blocks.map(({ text }) => text).join('\n');
        expect(checkFormat(recorded)).toEqual({ ok: true });
        expect(executedSearches(splitTranscript(recorded))).toEqual(searches);
        expect(checkTrajectoryFormat(blocks.toSpliced(cut % blocks.length, 1)).ok).toBe(false);
      }),
    );
  });
});

describe('splitTranscript', () => {
  it('loses nothing', () => {
    fc.assert(
      fc.property(roughText, (text) => {
        expect(
          splitTranscript(text)
            .map((segment) => segment.text)
            .join(''),
        ).toBe(text);
      }),
    );
  });

  it("takes Search-R1's message as a notice, whose tags are no action", () => {
    const message =
      'My previous action is invalid. If I want to search, I should put the query between <search> and </search>. ' +
      'If I want to give the final answer, I should put the answer between <answer> and </answer>. Let me try again.';
    const response = `${think}\n${message}\n${search}\n${information}`;
    const kinds = splitTranscript(response).map((segment) => segment.kind);
    expect(kinds.join(' ')).toBe('policy notice policy information');
    expect(extractAnswer(response)).toBeNull();
  });
});

it('notices hold no tag, so they are no action', () => {
  expect(INVALID_ACTION_NOTICE + INVALID_ACTION_NOTICE_FULL).not.toMatch(/<|>/);
});

describe('extractAnswer', () => {
  it.each([
    ['the last answer', `${answer} ${think} <answer> y </answer>`, 'y'],
    ['no answer', `${think}${search}`, null],
    ['an answer left open', '<answer> x', null],
    ['an answer in a retrieved passage', `${search}<information> <answer> y </answer> </information>`, null],
    ['an empty answer', '<answer> </answer>', ''],
  ])('gives the right thing for %s', (_, response, expected) => {
    expect(extractAnswer(response)).toBe(expected);
  });
});
