import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTokenizer, requireIdsBelow } from '../../lib/text/tokenizer.js';
import REFERENCE from '../fixtures/reference-tokenizer.json' with { type: 'json' };
import { TOKENIZER, TOKENIZER_JSON } from '../training/tiny.js';

const SPECIAL = ['<eos>', '<|im_end|>', '<|eot_id|>', '</s>', '[SEP]', '<unk>'];
const added = (contents: readonly string[], more = {}) =>
  contents.map((content, i) => ({
    id: 100 + i,
    content,
    special: true,
    normalized: false,
    single_word: false,
    lstrip: false,
    rstrip: false,
    ...more,
  }));
const COMMON = {
  version: '1.0',
  truncation: null,
  padding: null,
  normalizer: null,
  pre_tokenizer: { type: 'WhitespaceSplit' },
  post_processor: null,
  decoder: null,
};
const regexSplit = (Regex: string) => ({ type: 'Split', pattern: { Regex }, behavior: 'Removed' });
const words = Object.fromEntries(['<unk>', 'a', '<', '<eos>', '[SEP]'].map((word, i) => [word, i]));
const UNIGRAM = ['<unk>', '</s>', '<', '/', 's', '>', 'a'].map((piece) => [
  piece,
  piece === '</s>' ? 0 : -5,
]);
const { model } = TOKENIZER_JSON as { model: { vocab: Record<string, number> } };
/** {@link SPECIAL} with their ids in a vocabulary, if it has them. */
const specialTokens = (vocab: Record<string, number>, more = {}) =>
  added(SPECIAL, more).map((token) => ({ ...token, id: vocab[token.content] ?? token.id + 300 }));

/**
 * Each kind of tokenizer, with special tokens in the vocabulary or from normalisation.
 */
const KINDS: [string, object][] = [
  [
    'byte-level BPE',
    { ...COMMON, ...TOKENIZER_JSON, model, added_tokens: specialTokens(model.vocab) },
  ],
  [
    'a list of words',
    {
      ...COMMON,
      model: {
        type: 'WordPiece',
        unk_token: '<unk>',
        continuing_subword_prefix: '##',
        max_input_chars_per_word: 100,
        vocab: words,
      },
      added_tokens: specialTokens(words),
    },
  ],
  [
    'a unigram model',
    {
      ...COMMON,
      model: { type: 'Unigram', unk_id: 0, vocab: UNIGRAM },
      added_tokens: [
        ...added(['<unk>', '</s>']).map((token, id) => ({ ...token, id })),
        ...added(['[SEP]']),
      ],
    },
  ],
  [
    'a unigram model that normalises',
    {
      ...COMMON,
      normalizer: { type: 'NFKC' },
      model: { type: 'Unigram', unk_id: 0, vocab: UNIGRAM },
      added_tokens: added(['<unk>', '</s>']).map((token, id) => ({ ...token, id })),
    },
  ],
  [
    'one that normalises',
    {
      ...COMMON,
      ...TOKENIZER_JSON,
      normalizer: { type: 'NFKC' },
      added_tokens: specialTokens(model.vocab, { normalized: true }),
    },
  ],
];

const metaspace = (prepend_scheme: string) => ({
  type: 'Metaspace',
  replacement: '▁',
  prepend_scheme,
  split: false,
});
const prepended = {
  type: 'Sequence',
  normalizers: [
    { type: 'Prepend', prepend: '▁' },
    { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
  ],
};
const LLAMA_DECODER = {
  type: 'Sequence',
  decoders: [
    { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
    { type: 'Fuse' },
    { type: 'Strip', content: ' ', start: 1, stop: 0 },
  ],
};

describe.each(KINDS)('names of special tokens in a text, with %s,', (_, json) => {
  const tokenizer = createTokenizer(json);
  const unknown = tokenizer.tokenId('<unk>');
  const { added_tokens } = json as { added_tokens: { id: number }[] };
  const special = new Set(added_tokens.map(({ id }) => id).filter((id) => id !== unknown));

  it('never become special tokens', () => {
    const part = fc.constantFrom(
      ...SPECIAL,
      '＜eos＞',
      '＜/s＞',
      '<',
      '<|',
      'eos>',
      '|>',
      ' ',
      'a',
      '<eo',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const ids = tokenizer.encode(parts.join(''));
        expect(ids.filter((id) => special.has(id))).toEqual([]);
      }),
    );
  });
});

it('keeps names of special tokens that normalisation produces', () => {
  const tokenizer = createTokenizer(new Map(KINDS).get('one that normalises')!);
  const part = fc.constantFrom(
    '＜eos＞',
    '＜|im_end|＞',
    '<eos>',
    '＜',
    'eos',
    ' a reed, '.repeat(9),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
      const text = parts.join('');
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text.normalize('NFKC'));
    }),
  );
  expect(tokenizer.encode('＜eos＞'.repeat(5000)).length).toBeGreaterThan(5000);
});

describe('createTokenizer', () => {
  const [eos, pad] = ['<eos>', '<pad>'].map((token) => TOKENIZER.tokenId(token)!);
  /** Puts `<eos>` before a text, and `<pad>` after it. */
  const postProcessor = {
    type: 'TemplateProcessing',
    single: [
      { SpecialToken: { id: '<eos>', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: '<pad>', type_id: 0 } },
    ],
    pair: [],
    special_tokens: {
      '<eos>': { id: '<eos>', ids: [eos], tokens: ['<eos>'] },
      '<pad>': { id: '<pad>', ids: [pad], tokens: ['<pad>'] },
    },
  };

  it('keeps every character of names of special tokens in a text', () => {
    const text = 'The <eos> of <pad><eos>. <search> a </search>';
    expect(TOKENIZER.decode(TOKENIZER.encode(text))).toBe(text);
    expect(TOKENIZER.encode('</search>')).toEqual([TOKENIZER.tokenId('</search>')]);
    expect(TOKENIZER.decode([TOKENIZER.tokenId('<eos>')!])).toBe('<eos>');
  });

  it('exposes surrounding tokens without adding them', () => {
    const around = createTokenizer({ ...TOKENIZER_JSON, post_processor: postProcessor });
    expect(around.around).toEqual({ before: [eos], after: [pad] });
    expect(around.encode('A Reed')).toEqual(TOKENIZER.encode('A Reed'));
    expect(around.encode('')).toEqual([]);
    expect(createTokenizer(TOKENIZER_JSON).around).toEqual({ before: [], after: [] });
    const unreadable = { type: 'BPE', vocab: { '<eos>': eos, '<pad>': pad, A: 1 }, merges: [] };
    const json = { ...COMMON, post_processor: postProcessor, model: unreadable };
    expect(createTokenizer(json).around).toEqual({ before: [eos, pad], after: [] });
  });

  it('has a begin token if the config or the post-processor adds it', () => {
    const begin = { bos_token: '<eos>' };
    const create = (config: object, json: object = TOKENIZER_JSON) =>
      createTokenizer(json, config).beginToken;
    const processed = { ...TOKENIZER_JSON, post_processor: postProcessor };
    expect(create(begin)).toBeUndefined();
    expect(create({ ...begin, add_bos_token: true })).toBe('<eos>');
    expect(create(begin, processed)).toBe('<eos>');
    expect(create({ ...begin, add_bos_token: false }, processed)).toBeUndefined();
    expect(create({}, processed)).toBeUndefined();
  });

  it('adds no surrounding tokens to a chat', () => {
    const json = { ...TOKENIZER_JSON, post_processor: postProcessor };
    const template = { chat_template: 'User: {{ messages[0].content }}<eos>' };
    const { encodeChat } = createTokenizer(json, template);
    for (const message of ['A Reed', 'A <eos> Reed'])
      expect(encodeChat!(message)).toEqual({
        text: `User: ${message}<eos>`,
        tokenIds: [...TOKENIZER.encode(`User: ${message}`), eos],
      });
  });

  it("encodes a message together with the template's text unless it contains a special token", () => {
    const names = ['<unk>', 'Q:a', 'Q:', 'a', 'Q:A', '<eos>', '<', 'eos>'];
    const vocab = Object.fromEntries(names.map((name, i) => [name, i]));
    const json = {
      ...COMMON,
      normalizer: { type: 'NFKC' },
      model: { type: 'WordLevel', unk_token: '<unk>', vocab },
    };
    const config = { eos_token: '<eos>', chat_template: 'Q:{{ messages[0].content }}<eos>' };
    const chat = (message: string) =>
      createTokenizer(json, config).encodeChat!(message).tokenIds.map((id) => names[id]);
    expect(chat('a')).toEqual(['Q:a', '<eos>']);
    expect(chat('z')).toEqual(['<unk>', '<eos>']);
    expect(chat('a <eos>')).toEqual(['Q:', 'a', '<', 'eos>', '<eos>']);
    expect(chat('a ＜eos＞')).toEqual(['Q:', 'a', '<unk>', '<unk>', '<eos>']);
  });

  it('rejects a chat template without the message', () => {
    const { encodeChat } = createTokenizer(TOKENIZER_JSON, { chat_template: 'Hello' });
    const fault = `${JSON.stringify('a'.repeat(40))} is missing`;
    expect(() => encodeChat!('a'.repeat(50))).toThrow(fault);
    expect(() => encodeChat!(' ')).toThrow('"" is missing');
  });

  it('decodes for others with a space in quoted names of special tokens', () => {
    const ids = [eos, eos, ...TOKENIZER.encode('a <eos> b'), pad];
    expect(TOKENIZER.decodeForOthers(ids)).toBe('<eos><eos>a < eos> b<pad>');
    expect(TOKENIZER.decodeForOthers([])).toBe('');
  });

  // Llama 2's normalizer adds a space after each special token; Mistral's pre-tokenizer
  // only adds one to the text.
  it.each([
    ['Mistral', { pre_tokenizer: metaspace('first') }, '</s>a</s> a'],
    ['Llama 2', { normalizer: prepended }, '</s>a</s> a'],
  ])('texts for other servers are encoded alike: %s', (_, steps, text) => {
    const model = {
      type: 'BPE',
      vocab: { '</s>': 0, '▁': 1, a: 2, '▁a': 3, '▁▁': 4, '▁▁a': 5 },
      merges: ['▁ a', '▁ ▁a'],
    };
    const chat_template = '</s>a</s> {{ messages[0].content }}';
    const tokenizer = createTokenizer(
      {
        model,
        decoder: LLAMA_DECODER,
        added_tokens: [{ id: 0, content: '</s>', special: true }],
        ...steps,
      },
      { chat_template },
    );
    expect(tokenizer.decodeForOthers(tokenizer.encodeChat!('a').tokenIds)).toBe(text);
  });

  it('ignores special tokens of the config that are missing from the vocabulary', () => {
    const tokenizer = createTokenizer(TOKENIZER_JSON, { eos_token: '<nowhere>' });
    expect(tokenizer.vocabSize).toBe(TOKENIZER.vocabSize);
    expect(tokenizer.decode(tokenizer.encode('a <nowhere>'))).toBe('a <nowhere>');
  });

  it('encodes added tokens that are not special', () => {
    const [token] = added(['<x>'], { id: 999, special: false });
    const tokenizer = createTokenizer({ ...TOKENIZER_JSON, added_tokens: [token] });
    expect(tokenizer.encode('a<x>')).toEqual([...TOKENIZER.encode('a'), 999]);
  });

  it('decodes exactly, including every space', () => {
    for (const text of ['a , b .', " do n't ", ''])
      expect(TOKENIZER.decode(TOKENIZER.encode(text))).toBe(text);
  });

  it('keeps the unknown token', () => {
    const [, [, json]] = KINDS;
    const ids = { '<unk>': words['<unk>'], '[SEP]': words['[SEP]'] };
    const [unknown, end] = added(Object.keys(ids));
    const added_tokens = [
      { ...unknown, id: ids['<unk>'] },
      { ...end, id: ids['[SEP]'] },
    ];
    const tokenizer = createTokenizer({ ...json, added_tokens });
    expect(tokenizer.encode('zzz a')).toEqual([0, 1]);
    expect(tokenizer.encode('a [SEP]')).not.toContain(ids['[SEP]']);
  });

  it('decodes ids without a token as nothing, like tokenizers', () => {
    const [, [, json]] = KINDS;
    const tokenizer = createTokenizer(json);
    const ids = tokenizer.encode('a');
    expect(tokenizer.decode([...ids, tokenizer.vocabSize + 7])).toBe(tokenizer.decode(ids));
    expect(tokenizer.decode([tokenizer.vocabSize])).toBe('');
  });

  it.each<[string, object]>([
    ['eos_token', { eos_token: '</s>' }],
    ['a pad_token object', { pad_token: { content: '</s>' } }],
    ['additional_special_tokens', { additional_special_tokens: ['</s>'] }],
    ['extra_special_tokens', { extra_special_tokens: { mine: '</s>' } }],
  ])('reads special tokens from %s', (_, config) => {
    const [, , [, json]] = KINDS;
    const ordinary = { ...json, added_tokens: [] };
    const id = createTokenizer(ordinary).tokenId('</s>')!;
    expect(createTokenizer(ordinary).encode('a</s>')).toContain(id);
    expect(createTokenizer(ordinary, config).encode('a</s>')).not.toContain(id);
    // A single character cannot be distinguished from text.
    const filled = createTokenizer(ordinary, { pad_token: 'a' });
    expect(filled.encode('a')).toEqual(createTokenizer(ordinary).encode('a'));
  });

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

  it.each(REFERENCE.strips)(
    'strips white space like the reference: $settings, $text',
    (recorded) => {
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
    },
  );

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

  it('finds added tokens before those of the normalised text', () => {
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

  it.each([
    ['eos_token', { eos_token: '</s>' }, '</s>', 3],
    ['added_tokens_decoder', { added_tokens_decoder: { 9: { content: '<new>' } } }, '<new>', 9],
  ])('adds tokens that only the config lists: %s', (_, config, token, id) => {
    const vocab = ['<unk>', 'a', '<', '</s>'].map((piece) => [piece, -1]);
    const json = { ...COMMON, model: { type: 'Unigram', unk_id: 0, vocab } };
    const template = { chat_template: `{{ messages[0].content }}${token}` };
    const tokenizer = createTokenizer(json, { ...config, ...template });
    expect(tokenizer.encodeChat!('a').tokenIds).toEqual([1, id]);
  });

  it.each([
    ['do_lower_case', { normalizer: { type: 'BertNormalizer', lowercase: true } }, false],
    ['add_prefix_space', { pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false } }, true],
    [
      'strip_accents',
      {
        normalizer: {
          type: 'Sequence',
          normalizers: [{ type: 'BertNormalizer', strip_accents: false }],
        },
      },
      true,
    ],
    [
      'add_prefix_space',
      {
        pre_tokenizer: {
          type: 'Sequence',
          pretokenizers: [{ type: 'ByteLevel', add_prefix_space: true }],
        },
      },
      false,
    ],
    ['add_prefix_space', { pre_tokenizer: { type: 'Metaspace', prepend_scheme: 'never' } }, true],
    ['add_prefix_space', { pre_tokenizer: { type: 'Metaspace', prepend_scheme: 'always' } }, false],
    ['add_prefix_space', { pre_tokenizer: { type: 'Metaspace', add_prefix_space: false } }, true],
    ['add_prefix_space', { pre_tokenizer: { type: 'Metaspace' } }, false],
    ['add_prefix_space', { normalizer: { type: 'Prepend', prepend: '▁' } }, false],
  ])('rejects a config that contradicts tokenizer.json: %s', (name, settings, value) => {
    const json = { ...COMMON, ...settings, model };
    expect(() => createTokenizer(json, { [name]: value })).toThrow(name);
    expect(() => createTokenizer(json, { [name]: !value })).not.toThrow();
    const plain = { tokenizer_class: 'PreTrainedTokenizerFast', [name]: value };
    expect(() => createTokenizer(json, plain)).not.toThrow();
  });

  it("applies the defaults of BERT's class, which lower-cases", () => {
    const cased = { type: 'BertNormalizer', lowercase: false, handle_chinese_chars: true };
    const create = (config: object) =>
      createTokenizer({ ...COMMON, normalizer: cased, model }, config);
    for (const name of ['BertTokenizer', 'DistilBertTokenizerFast', 'MPNetTokenizer']) {
      expect(() => create({ tokenizer_class: name })).toThrow('do_lower_case');
      expect(() => create({ tokenizer_class: name, do_lower_case: false })).not.toThrow();
    }
    expect(() => create({ tokenizer_class: 'HerbertTokenizerFast' })).not.toThrow();
  });

  it.each([
    [[{ id: 9, content: 'a' }], {}, '"a" has both 9 and'],
    [[{ id: 0, content: '<new>' }], {}, '0 is both "<new>" and'],
    [added(['<x>', '<x>']), {}, '"<x>" has both 101 and 100'],
    [added(['<x>']), { 100: { content: '<y>' } }, '100 is both'],
    [added(['<x>']), { 101: { content: '<x>' } }, '"<x>" has both'],
  ])('rejects conflicting ids: %j %j', (added_tokens, decoder, fault) => {
    const json = { ...COMMON, model: { type: 'WordLevel', unk_token: '<', vocab: words } };
    const config = { added_tokens_decoder: decoder };
    expect(() => createTokenizer({ ...json, added_tokens }, config)).toThrow(fault);
  });

  it('names unsupported flags of added tokens in tokenizer_config.json', () => {
    const decoder = { 100: { content: '<x>', single_word: true } };
    expect(() => createTokenizer({ ...COMMON, model }, { added_tokens_decoder: decoder })).toThrow(
      'added_tokens_decoder.100.single_word',
    );
  });

  it.each([
    ['single_word', { added_tokens: added(['<a>'], { single_word: true }) }],
    ['type', { model: { ...model, type: 'Other' } }],
    ['dropout', { model: { ...model, dropout: 0.1 } }],
    ['byte_fallback', { model: { type: 'Unigram', vocab: [['a', -1]], byte_fallback: true } }],
    [
      'tokens that stand for bytes',
      { model: { ...model, byte_fallback: true }, added_tokens: added(['<0x0A>'], {}) },
    ],
    ['continuing_subword_prefix', { model: { ...model, continuing_subword_prefix: '##' } }],
    ['end_of_word_suffix', { model: { ...model, unk_token: null, end_of_word_suffix: '</w>' } }],
    ['behavior', { pre_tokenizer: { type: 'Split', pattern: { String: 'a' }, behavior: 'Else' } }],
    [
      'prepend_scheme',
      {
        pre_tokenizer: {
          type: 'Sequence',
          pretokenizers: [
            { type: 'WhitespaceSplit' },
            { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first' },
          ],
        },
      },
    ],
    ['pattern', { pre_tokenizer: { type: 'Split', pattern: {}, behavior: 'Removed' } }],
    ['give back', { pre_tokenizer: regexSplit('(?>a+)b') }],
    ['give back', { pre_tokenizer: regexSplit('(?:ab)++') }],
  ])('rejects unsupported settings: %s', (name, change) => {
    expect(() => createTokenizer({ ...TOKENIZER_JSON, ...change })).toThrow(name);
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

  it('may have fewer ids than the model, not more', () => {
    expect(() => requireIdsBelow({ ...TOKENIZER, vocabSize: 7 }, 7)).not.toThrow();
    expect(() => requireIdsBelow({ ...TOKENIZER, vocabSize: 8 }, 7)).toThrow(/size 7\b.*id 7\b/);
  });

  it('has a vocabulary size above the largest id', () => {
    const size = Object.keys(model.vocab).length;
    expect(createTokenizer(TOKENIZER_JSON).vocabSize).toBe(size);
    const token = { ...added(['<far>'])[0], id: size + 10 };
    expect(createTokenizer({ ...TOKENIZER_JSON, added_tokens: [token] }).vocabSize).toBe(size + 11);
  });

  it('maps a very long unlisted word to the unknown token at once', () => {
    const model = { type: 'WordLevel', vocab: { a: 0, '<unk>': 1 }, unk_token: '<unk>' };
    expect(createTokenizer({ ...COMMON, model }).encode('a'.repeat(100_000))).toEqual([1]);
  });

  it('rejects a tokenizer that splits special tokens', () => {
    const config = { split_special_tokens: true };
    expect(() => createTokenizer(TOKENIZER_JSON, config)).toThrow('split_special_tokens');
  });

  it('rejects invalid JSON', () => {
    const broken = { ...TOKENIZER_JSON, pre_tokenizer: { type: 'Nonsense' } };
    expect(() => createTokenizer(broken)).toThrow('Expected the JSON of a tokenizer.json, but');
  });

  it.each([
    ['no model', { model: undefined }, 'at model'],
    ['an absurd id', { model: { ...model, vocab: { a: 2 ** 31 } } }, 'at model.vocab'],
    [
      'an absurd added id',
      { added_tokens: [{ id: 2 ** 31, content: 'x' }] },
      'at added_tokens[0].id',
    ],
    ['a negative id', { model: { ...model, vocab: { a: -1 } } }, 'at model.vocab'],
  ])('rejects %s', (_, change, message) => {
    expect(() => createTokenizer({ ...TOKENIZER_JSON, ...change })).toThrow(message);
  });
});
