/** Checked against recordings of the Rust crate or its documented rules. */
import { expect, it } from 'vitest';
import { createTokenizer } from '../../../lib/text/tokenizer/tokenizer.js';
import REFERENCE from '../../fixtures/reference-tokenizer.json' with { type: 'json' };
import { COMMON, regexSplit } from './tokenizers.js';

/** A tokenizer whose tokens are whole pieces. */
const listPieces = (pieces: readonly string[], settings: object) => {
  const names = ['[UNK]', ...new Set(pieces)];
  const vocab = Object.fromEntries(names.map((name, i) => [name, i]));
  const wordList = { type: 'WordLevel', unk_token: '[UNK]', vocab };
  const tokenizer = createTokenizer({ ...COMMON, ...settings, model: wordList });
  return (text: string): string[] => tokenizer.encode(text).map((id) => names[id]);
};

it.each([
  ['digits of every script', { type: 'Digits', individual_digits: true }, '4½km²Ⅷ', '4 ½ km ² Ⅷ'],
  ['runs of digits', { type: 'Digits', individual_digits: false }, 'a١٨٤a', 'a ١٨٤ a'],
  ['each punctuation mark', { type: 'Punctuation' }, 'a!!b', 'a ! ! b'],
  ['words of every script', { type: 'Whitespace' }, 'Ørsted, दिन!', 'Ørsted , दिन !'],
  [
    'the first word in old files',
    { type: 'Metaspace', replacement: '▁', add_prefix_space: false },
    'a',
    'a',
  ],
])('splits like the reference: %s', (_, preTokenizer, text, joined) => {
  const pieces = joined.split(' ');
  const pre_tokenizer = { type: 'Sequence', pretokenizers: [preTokenizer] };
  expect(listPieces(pieces, { pre_tokenizer })(text)).toEqual(pieces);
});

it.each(REFERENCE.splits)('splits like recordings of the reference: $name', (recorded) => {
  const { normalizer, preTokenizer, text, pieces } = recorded;
  const split = listPieces(pieces, { normalizer, pre_tokenizer: preTokenizer });
  expect(split(text)).toEqual(pieces);
});

it.each(REFERENCE.strips)('strips white space like the reference: $settings, $text', (recorded) => {
  const { settings, text, tokens } = recorded;
  const names = ['?', ...new Set(text), '<s>', '  '];
  const spaces = { content: '  ', normalized: false };
  const added_tokens = [{ content: '<s>', ...settings }, spaces].map((token) => ({
    id: names.lastIndexOf(token.content),
    ...token,
  }));
  const vocab = Object.fromEntries(names.slice(0, -2).map((name, i) => [name, i]));
  const bpe = { type: 'BPE', unk_token: '?', vocab, merges: [] };
  const json = { ...COMMON, pre_tokenizer: null, model: bpe };
  const tokenizer = createTokenizer({ ...json, added_tokens });
  expect(tokenizer.encode(text).map((id) => names[id])).toEqual(tokens);
  // In transformers, the flags in tokenizer_config.json win.
  const plain = added_tokens.map(({ id, content }) => ({ id, content, normalized: false }));
  const decoder = Object.fromEntries(added_tokens.map((token) => [token.id, token]));
  const config = { added_tokens_decoder: decoder };
  const overridden = createTokenizer({ ...json, added_tokens: plain }, config);
  expect(overridden.encode(text).map((id) => names[id])).toEqual(tokens);
});

it('fuses unknown tokens only within a word', () => {
  const bpe = { type: 'BPE', unk_token: '?', fuse_unk: true, vocab: { '?': 0 }, merges: [] };
  expect(createTokenizer({ ...COMMON, model: bpe }).encode('ab c')).toEqual([0, 0]);
});

it('chooses among unigram paths whose scores differ in the last bit as the reference does', () => {
  const scores = {
    '<unk>': 0,
    '▁': -1.903772183456554,
    '.': -4.999424700850605,
    '..': -6.239012212622697,
    '!': -6.2229489121267925,
    '!!': -6.2265291099523985,
  };
  const tokenizer = createTokenizer({
    pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always' },
    model: { type: 'Unigram', unk_id: 0, vocab: Object.entries(scores) },
  });
  // By tokenizers 0.23.3: ▁ .. . ! !!
  expect(tokenizer.encode('...!!!')).toEqual([1, 3, 2, 4, 5]);
});

it('marks only the start of a text, not what follows an added token', () => {
  const names = ['?', '▁', 'a', 'b', '<x>'];
  const vocab = Object.fromEntries(names.slice(0, -1).map((name, i) => [name, i]));
  for (const normalized of [true, false]) {
    const tokenizer = createTokenizer({
      ...COMMON,
      pre_tokenizer: { type: 'Metaspace', prepend_scheme: 'first', split: false },
      added_tokens: [{ id: 4, content: '<x>', normalized }],
      model: { type: 'BPE', unk_token: '?', vocab, merges: [] },
    });
    // As tokenizers 0.23.3.
    const encode = (text: string) => tokenizer.encode(text).map((id) => names[id]);
    expect(encode('a<x>b')).toEqual(['▁', 'a', '<x>', 'b']);
    expect(encode('<x>a b')).toEqual(['<x>', 'a', '▁', 'b']);
    expect(encode('ab')).toEqual(['▁', 'a', 'b']);
  }
});

// By tokenizers 0.23.3.
it.each<[object, Record<string, string>]>([
  [
    { type: 'Strip', strip_left: true },
    { a: '▁ a', ' ba': 'b a' },
  ],
  [
    { type: 'Strip', strip_right: true },
    { ' a': '▁ a', 'b ': '▁ b' },
  ],
  [
    { type: 'Replace', pattern: { String: 'b' }, content: '' },
    { a: '▁ a', ba: 'a' },
  ],
  [
    { type: 'Prepend', prepend: 'b' },
    { a: '▁ b a', ' a': '▁ b ▁ a' },
  ],
])('marks no text whose first character is removed: %j', (normalizer, texts) => {
  const names = ['?', '▁', 'a', 'b'];
  const vocab = Object.fromEntries(names.map((name, i) => [name, i]));
  const tokenizer = createTokenizer({
    ...COMMON,
    normalizer,
    pre_tokenizer: { type: 'Metaspace', prepend_scheme: 'first', split: false },
    model: { type: 'BPE', unk_token: '?', vocab, merges: [] },
  });
  for (const [text, pieces] of Object.entries(texts))
    expect(tokenizer.encode(text).map((id) => names[id])).toEqual(pieces.split(' '));
});

// By tokenizers 0.23.3.
it.each([
  ['<x><x>', ['<x>', '<', 'x', '>']],
  ['a<x>', ['▁', 'a', '<', 'x', '>']],
  ['<x>a', ['<x>', 'a']],
  ['axa', ['▁', 'a', 'x', 'a']],
])('finds normalised added tokens only in their normalised form: %s', (text, pieces) => {
  const names = ['?', '▁', 'a', '<', 'x', '>', '<x>', 'xa'];
  const vocab = Object.fromEntries(names.slice(0, -2).map((name, i) => [name, i]));
  const tokenizer = createTokenizer({
    ...COMMON,
    normalizer: { type: 'Prepend', prepend: '▁' },
    pre_tokenizer: null,
    added_tokens: [6, 7].map((id) => ({ id, content: names[id], normalized: true })),
    model: { type: 'WordPiece', unk_token: '?', continuing_subword_prefix: '', vocab },
  });
  expect(tokenizer.encode(text).map((id) => names[id])).toEqual(pieces);
  expect(tokenizer.tokenId('<x>')).toBe(6);
});

it('finds added tokens that are not normalised before those that are', () => {
  const names = ['?', 'a', '>', ' ', '> ', 'a>'];
  const vocab = Object.fromEntries(names.slice(0, -2).map((name, i) => [name, i]));
  const tokenizer = createTokenizer({
    ...COMMON,
    pre_tokenizer: null,
    added_tokens: [4, 5].map((id) => ({ id, content: names[id], normalized: id === 5 })),
    model: { type: 'BPE', unk_token: '?', vocab, merges: [] },
  });
  // As tokenizers 0.23.3.
  expect(tokenizer.encode('a> a>').map((id) => names[id])).toEqual(['a', '> ', 'a>']);
});

it('prepends nothing to a text that normalises to nothing', () => {
  const normalizers = [
    { type: 'Strip', strip_left: true },
    { type: 'Prepend', prepend: '▁' },
  ];
  const bpe = { type: 'BPE', vocab: { '▁': 0, a: 1 }, merges: [] };
  const normalizer = { type: 'Sequence', normalizers };
  const json = { ...COMMON, normalizer, pre_tokenizer: null, model: bpe };
  const tokenizer = createTokenizer(json);
  expect([' a', ' '].map((text) => tokenizer.encode(text))).toEqual([[0, 1], []]);
});

it.each(REFERENCE.joins)('decodes like recordings of the reference: $name', (recorded) => {
  const { decoder, tokens, text } = recorded;
  const vocab = Object.fromEntries(['?', ...tokens].map((token, i) => [token, i]));
  const wordList = { type: 'WordLevel', unk_token: '?', vocab };
  const tokenizer = createTokenizer({ ...COMMON, decoder, model: wordList });
  expect(tokenizer.decode(tokens.map((_, i) => i + 1))).toBe(text);
});

it.each([
  [{ add_prefix_space: false }, ' a', 'a ▁b'],
  [{ add_prefix_space: true }, 'a', '▁a ▁b'],
])('supports old Metaspace settings: %j', (settings, decoded, pieces) => {
  const spaces = { type: 'Metaspace', ...settings };
  expect(listPieces(pieces.split(' '), { pre_tokenizer: spaces })('a b')).toEqual(
    pieces.split(' '),
  );
  const bpe = { type: 'BPE', vocab: { '▁': 0, a: 1 }, merges: [] };
  const json = { ...COMMON, pre_tokenizer: spaces, decoder: spaces, model: bpe };
  expect(createTokenizer(json).decode([0, 1])).toBe(decoded);
});

it('normalises nothing with an empty precompiled_charsmap', () => {
  const normalizer = { type: 'Precompiled', precompiled_charsmap: '' };
  expect(listPieces(['ﬁ'], { normalizer })('ﬁ')).toEqual(['ﬁ']);
});

it('gives the unknown token for words missing from a word list', () => {
  const pieces = listPieces(['a', '##b', 'ab', 'b'], {});
  expect(pieces('ab a ba bab')).toEqual(['ab', 'a', '[UNK]', '[UNK]']);
});

it('gives nothing back of an optional match that is possessive', () => {
  const vocab = { '<unk>': 0, x: 1, b: 2, xb: 3, xbb: 4 };
  const pre_tokenizer = { ...regexSplit('xb?+b|x|b'), behavior: 'Isolated' };
  const whole = { type: 'WordLevel', unk_token: '<unk>', vocab };
  const tokenizer = createTokenizer({ ...COMMON, pre_tokenizer, model: whole });
  expect(tokenizer.encode('xb')).toEqual([1, 2]);
  expect(tokenizer.encode('xbb')).toEqual([4]);
});

it('applies byte_fallback of BPE', () => {
  const vocab = { '<0xC3>': 0, '<0xA9>': 1, a: 2 };
  const bpe = { type: 'BPE', byte_fallback: true, vocab, merges: [] };
  expect(createTokenizer({ ...COMMON, model: bpe }).encode('aé')).toEqual([2, 0, 1]);
});

// By tokenizers 0.23.3.
it.each<[object, number[][]]>([
  [{}, [[2], [2], []]],
  [{ byte_fallback: true, vocab: { '<0x7A>': 4 } }, [[0, 4, 1], [2], [4]]],
  [{ ignore_merges: true, vocab: { azb: 4 } }, [[4], [2], []]],
  [{ unk_token: '?' }, [[0, 3, 1], [0, 3, 1], [3]]],
])('drops characters that BPE does not know before merging: %j', (settings, ids) => {
  const { vocab, ...more } = { vocab: {}, ...settings };
  const known = { a: 0, b: 1, ab: 2, '?': 3, ...vocab };
  const bpe = { type: 'BPE', ...more, vocab: known, merges: [['a', 'b']] };
  const tokenizer = createTokenizer({ ...COMMON, model: bpe });
  expect(['azb', 'aéb', 'z'].map((text) => tokenizer.encode(text))).toEqual(ids);
});

it('maps a very long unlisted word to the unknown token at once', () => {
  const model = { type: 'WordLevel', vocab: { a: 0, '<unk>': 1 }, unk_token: '<unk>' };
  expect(createTokenizer({ ...COMMON, model }).encode('a'.repeat(100_000))).toEqual([1]);
});
