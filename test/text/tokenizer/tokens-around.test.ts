/** The tokens that a post-processor puts around texts, and a template around messages. */
import { describe, expect, it } from 'vitest';
import { createTokenizer } from '../../../lib/text/tokenizer/tokenizer.js';
import { TOKENIZER, TOKENIZER_JSON } from '../../training/tiny.js';
import { COMMON } from './tokenizers.js';

describe('tokens around', () => {
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

  it('exposes surrounding tokens without adding them', () => {
    const around = createTokenizer({ ...TOKENIZER_JSON, post_processor: postProcessor });
    expect(around.around).toEqual({ before: [eos], after: [pad] });
    expect(around.encode('A Reed')).toEqual(TOKENIZER.encode('A Reed'));
    expect(around.encode('')).toEqual([]);
    expect(createTokenizer(TOKENIZER_JSON).around).toEqual({ before: [], after: [] });
    const unreadable = { type: 'BPE', vocab: { '<eos>': eos, '<pad>': pad, A: 1 }, merges: [] };
    const json = { ...COMMON, post_processor: postProcessor, model: unreadable };
    expect(createTokenizer(json).around).toEqual({ before: [eos], after: [pad] });
  });

  it('takes the ids of surrounding tokens from the post-processor, as tokenizers 0.23.3', () => {
    const around = (post_processor: object) =>
      createTokenizer({ ...TOKENIZER_JSON, post_processor }).around;
    const both = { id: '<both>', ids: [eos, pad], tokens: ['<eos>', '<pad>'] };
    const template = {
      ...postProcessor,
      single: [{ SpecialToken: { id: '<both>', type_id: 0 } }, ...postProcessor.single.slice(1)],
      special_tokens: { ...postProcessor.special_tokens, '<both>': both },
    };
    const expected = { before: [eos, pad], after: [pad] };
    expect(around(template)).toEqual(expected);
    const processors = [{ type: 'ByteLevel', trim_offsets: true }, template];
    expect(around({ type: 'Sequence', processors })).toEqual(expected);
    expect(() => around({ ...template, special_tokens: {} })).toThrow('special_tokens');
    const ends = { sep: ['<eos>', pad], cls: ['<pad>', eos] };
    for (const type of ['BertProcessing', 'RobertaProcessing'])
      expect(around({ type, ...ends })).toEqual({ before: [eos], after: [pad] });
  });

  // transformers 5.24 takes them from tokenizer_config.json.
  const ends = { type: 'BertProcessing', cls: ['<eos>', eos], sep: ['<pad>', pad] };
  it.each([
    ['BertTokenizer', { cls_token: '<pad>' }, 'cls_token is "<pad>" in the latter'],
    ['DistilBertTokenizerFast', { cls_token: '<eos>', sep_token: '<eos>' }, 'sep_token'],
    ['RobertaTokenizer', { sep_token: '<eos>' }, 'sep_token'],
    ['XLMRobertaTokenizer', { bos_token: '<pad>' }, 'bos_token'],
    ['XLMRobertaTokenizerFast', { eos_token: '<eos>' }, 'eos_token'],
  ])('rejects %s with other tokens around a text: %j', (className, tokens, fault) => {
    const config = { ...tokens, tokenizer_class: className };
    const json = { ...TOKENIZER_JSON, post_processor: ends };
    expect(() => createTokenizer(json, config)).toThrow(fault);
  });

  it.each([
    ['BertTokenizer', { cls_token: '<eos>', sep_token: '<pad>', bos_token: '<pad>' }],
    ['XLMRobertaTokenizer', { bos_token: '<eos>', eos_token: '<pad>', cls_token: '<pad>' }],
    ['RobertaTokenizer', {}],
    ['PreTrainedTokenizerFast', { cls_token: '<pad>', bos_token: '<pad>' }],
    ['OtherRobertaTokenizer', { cls_token: '<pad>' }],
    ['OtherXLMRobertaTokenizer', { bos_token: '<pad>' }],
    [undefined, { cls_token: '<pad>' }],
  ])('keeps the tokens around a text in tokenizer.json for %s with %j', (className, tokens) => {
    const config = { ...tokens, tokenizer_class: className };
    const json = { ...TOKENIZER_JSON, post_processor: ends };
    expect(createTokenizer(json, config).around).toEqual({ before: [eos], after: [pad] });
  });

  it('rejects a BERT tokenizer that puts several tokens around a text', () => {
    const [space, text, end] = postProcessor.single;
    const json = {
      ...TOKENIZER_JSON,
      post_processor: { ...postProcessor, single: [space, space, text, end] },
    };
    const config = { tokenizer_class: 'BertTokenizer', cls_token: '<eos>' };
    expect(() => createTokenizer(json, config)).toThrow('cls_token is "<eos>"');
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
    const cutting = {
      eos_token: '<eos>',
      chat_template: '{{ messages[0].content[:7] }}…{{ messages[0].content }}',
    };
    const cut = createTokenizer(TOKENIZER_JSON, cutting).encodeChat!;
    expect(() => cut('A <eos> Reed')).toThrow('"A <eos> Reed" is changed. Use --prompt-form full');
    expect(cut('A Bo Cy Reed').text).toBe('A Bo Cy…A Bo Cy Reed');
  });
});
