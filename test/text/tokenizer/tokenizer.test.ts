import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTokenizer, requireIdsBelow } from '../../../lib/text/tokenizer/tokenizer.js';
import { TOKENIZER, TOKENIZER_JSON } from '../../training/tiny.js';
import { COMMON, regexSplit } from './tokenizers.js';

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

  it('keeps every character of names of special tokens in a text', () => {
    const text = 'The <eos> of <pad><eos>. <search> a </search>';
    expect(TOKENIZER.decode(TOKENIZER.encode(text))).toBe(text);
    expect(TOKENIZER.encode('</search>')).toEqual([TOKENIZER.tokenId('</search>')]);
    expect(TOKENIZER.decode([TOKENIZER.tokenId('<eos>')!])).toBe('<eos>');
  });

  it('reads a vocabulary without Latin letters', () => {
    const bpe = { type: 'BPE', vocab: { 青: 0 }, merges: [] };
    expect(createTokenizer({ ...COMMON, model: bpe }).encode('青 a')).toEqual([0]);
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

  it('treats a token as special if either file does', () => {
    const [token] = added(['<x>'], { id: 999, special: false });
    const json = { ...TOKENIZER_JSON, added_tokens: [token] };
    const decoder = { [token.id]: { ...token, special: true } };
    expect(createTokenizer(json).encode('<x>')).toEqual([token.id]);
    const other = createTokenizer(json, { added_tokens_decoder: decoder });
    expect(other.encode('<x>')).not.toContain(token.id);
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
    ['\\G is not supported', { pre_tokenizer: regexSplit('\\Ga') }],
    ['give back', { pre_tokenizer: regexSplit('(?>a+)b') }],
    ['give back', { pre_tokenizer: regexSplit('(?:ab)++') }],
    ['CTC', { decoder: { type: 'CTC', pad_token: '<pad>' } }],
    [
      'WordPiece decoder after ByteFallback',
      {
        decoder: {
          type: 'Sequence',
          decoders: [{ type: 'ByteFallback' }, { type: 'WordPiece', prefix: '##' }],
        },
      },
    ],
    [
      '<A> and <a> are normalised alike',
      {
        normalizer: { type: 'Lowercase' },
        added_tokens: ['<A>', '<a>'].map((content, i) => ({
          content,
          id: 9000 + i,
          normalized: true,
        })),
      },
    ],
    [
      '<a> and <b> are normalised alike',
      {
        normalizer: {
          type: 'Sequence',
          normalizers: ['bc', 'ab'].map(([from, content]) => ({
            type: 'Replace',
            pattern: { String: from },
            content,
          })),
        },
        added_tokens: ['<a>', '<b>'].map((content, i) => ({
          content,
          id: 9000 + i,
          normalized: true,
        })),
      },
    ],
  ])('rejects unsupported settings: %s', (name, change) => {
    expect(() => createTokenizer({ ...TOKENIZER_JSON, ...change })).toThrow(name);
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
