import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ambiguity,
  executedSearches,
  finalAnswer,
  formatFault,
  splitTranscript,
  type TextSegment,
} from '../../lib/text/response.js';
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  formatBlock,
  formatSearch,
  wrapResults,
} from '../../lib/text/tags.js';
import { cases } from '../full.js';
import { ANSWER, INFORMATION, phrase, roughText, SEARCH, THINK } from './texts.js';

const policy = (text: string): TextSegment => ({ kind: 'policy', text });
const fromEnvironment = (text: string): TextSegment => ({ kind: 'information', text });
const fromPrompt = (text: string): TextSegment => ({ kind: 'prompt', text });
const TURN = `${THINK}${SEARCH}${INFORMATION}`;

describe('formatFault of a recorded response', () => {
  it.each([
    ['one search', `${THINK}\n${SEARCH}\n${INFORMATION}\n\n${THINK}${ANSWER}\n`],
    ['two searches', `${TURN}${TURN}${THINK}${ANSWER}`],
    ['no search', `${THINK}${ANSWER}`],
    ['an empty thought', `<think></think>${ANSWER}`],
    [
      'tags in information',
      `${THINK}${SEARCH}<information>${ANSWER}</information>${THINK}${ANSWER}`,
    ],
  ])('is null for %s', (_, response) => {
    expect(formatFault(splitTranscript(response))).toBeNull();
  });

  it.each([
    ['an empty response', '', 'not an answer'],
    ['no thought', ANSWER, 'expected think after start, but got answer'],
    [
      'two thoughts',
      `${THINK}${THINK}${ANSWER}`,
      'expected search or answer after think, but got think',
    ],
    ['no thought after information', `${TURN}${ANSWER}`, 'think after information'],
    ['no information', `${THINK}${SEARCH}${THINK}${ANSWER}`, 'information after search'],
    ['fake information', `${THINK}${INFORMATION}${THINK}${ANSWER}`, 'policy wrote'],
    ['a search at the end', `${THINK}${SEARCH}`, 'not an answer'],
    ['text after the answer', `${THINK}${ANSWER} done`, 'text outside of blocks: "done"'],
    ['a long text', `${'x'.repeat(80)}${ANSWER}`, `text outside of blocks: "${'x'.repeat(60)}"`],
    ['an unclosed thought', `<think> a ${ANSWER}`, 'text outside of blocks'],
    ['a thought after the answer', `${THINK}${ANSWER}${THINK}`, 'nothing after answer'],
    ['an empty search', `${THINK}<search> </search>${INFORMATION}`, 'without a query'],
    ['empty queries', `${THINK}<search> ## </search>${INFORMATION}`, 'without a query'],
    ['a notice', `${THINK}${INVALID_ACTION_NOTICE}${THINK}${ANSWER}`, 'not valid'],
    ['the long notice', `${THINK}${INVALID_ACTION_NOTICE_FULL}${THINK}${ANSWER}`, 'not valid'],
  ])('gives the reason for %s', (_, response, reason) => {
    expect(formatFault(splitTranscript(response))).toContain(reason);
  });
});

describe('segments', () => {
  it('treat environment text as one block and ignore the prompt', () => {
    const segments = [
      fromPrompt('Use <search> query </search>.'),
      policy(`${THINK} ${SEARCH}`),
      fromEnvironment('<information> </information> <answer> cut off'),
      policy(`${THINK} ${ANSWER}`),
    ];
    expect(formatFault(segments)).toBeNull();
  });

  it('ignore information blocks written by the policy', () => {
    const segments = [policy(`${TURN}${THINK}${ANSWER}`)];
    expect(formatFault(segments)).toBe('the policy wrote an information tag');
    expect(executedSearches(segments)).toEqual([]);
  });

  it('are well-formed until any block is removed', () => {
    const turns = fc.array(fc.array(phrase, { minLength: 1, maxLength: 3 }), { maxLength: 4 });
    fc.assert(
      fc.property(turns, phrase, fc.nat(), (searches, finalText, cut) => {
        const blocks: TextSegment[] = searches.flatMap((queries) => [
          policy(THINK),
          policy(formatSearch(queries)),
          fromEnvironment(INFORMATION),
        ]);
        blocks.push(policy(THINK), policy(formatBlock('answer', finalText)));
        const recorded = splitTranscript(blocks.map(({ text }) => text).join('\n'));
        for (const segments of [blocks, recorded]) {
          expect(formatFault(segments)).toBeNull();
          expect(executedSearches(segments)).toEqual(searches);
          expect(finalAnswer(segments)).toBe(finalText);
        }
        expect(formatFault(blocks.toSpliced(cut % blocks.length, 1))).not.toBeNull();
      }),
    );
  });
});

/** A simple implementation with regular expressions, in quadratic time. */
function splitByPattern(response: string): TextSegment[] {
  const escaped = (text: string): string => text.trim().replace(/[.]/g, '\\.');
  const pattern = new RegExp(
    '((?<=</search>)\\s*<information>.*?</information>)|' +
      `${escaped(INVALID_ACTION_NOTICE)}|${escaped(INVALID_ACTION_NOTICE_FULL)}|` +
      'My previous action is invalid\\. If I want to search.*?Let me try again\\.',
    'gs',
  );
  const oneSearch =
    /^(?:(?!<\/(?:search|answer)>).)*<search>(?:(?!<\/?(?:think|search|information|answer)>).)*<\/search>$/s;
  const segments: TextSegment[] = [];
  let position = 0;
  for (let match; (match = pattern.exec(response)); ) {
    const { index, 0: text, 1: information } = match;
    const run = response.slice(position, index);
    pattern.lastIndex = index + 1;
    if (information && !oneSearch.test(run)) continue;
    segments.push(policy(run), { kind: information ? 'information' : 'notice', text });
    position = pattern.lastIndex = index + text.length;
  }
  return [...segments, policy(response.slice(position))].filter(({ text }) => text !== '');
}

/** Complete and partial blocks and notices, and text between them. */
const PARTS = [
  ...['search', 'information', 'answer'].flatMap((tag) => [`<${tag}>`, `</${tag}>`]),
  ...Array.from(' \na'),
  ' ## ',
  SEARCH,
  INFORMATION,
  THINK,
  ANSWER,
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  'My previous action is invalid. If I want to search',
  ' Let me try again.',
  'My previous action is',
];
const soup = fc.array(fc.constantFrom(...PARTS), { maxLength: 30 }).map((parts) => parts.join(''));

describe('executedSearches', () => {
  const found = fromEnvironment('Nothing found.');

  it('are the last search before each information block', () => {
    const twice = policy('<search> a </search> <search> b ## c </search>');
    expect(executedSearches([twice, found, policy('<answer> x </answer>')])).toEqual([['b', 'c']]);
    for (const texts of [
      ['<search> a </search>', ' <answer> x </answer>'],
      ['<search> a </sea', 'rch>'],
    ])
      expect(executedSearches([...texts.map(policy), found])).toEqual([['a']]);
  });

  it('are split at commas if results are labelled with queries, or at the recorded separator', () => {
    const turn = policy('<search> a ## b, c </search>');
    const results = wrapResults(['', ''], { form: 'json', queries: ['a ## b', 'c'] });
    const labelled = fromEnvironment(results);
    expect(executedSearches([turn, labelled])).toEqual([['a ## b', 'c']]);
    expect(executedSearches([turn, labelled], '##')).toEqual([['a', 'b, c']]);
    expect(executedSearches([turn, found])).toEqual([['a', 'b, c']]);
    expect(executedSearches([turn, found], ',')).toEqual([['a ## b', 'c']]);
    const empty = policy('<think> a </think><search> , </search>');
    expect(formatFault([empty, labelled])).toBe('a search without a query');
    expect(formatFault([empty, found])).toContain('last block');
  });

  it('are read from transcripts of RAG-R1', () => {
    const response = `<think> a </think>\n<search> a, b </search>${wrapResults(['Doc 1: A   a', 'Doc 1: B   b'], { form: 'json', queries: ['a', 'b'] })}<think> c </think><answer> x </answer>`;
    const segments = splitTranscript(response);
    expect(segments.map(({ kind }) => kind)).toEqual(['policy', 'information', 'policy']);
    expect(executedSearches(segments)).toEqual([['a', 'b']]);
    expect(formatFault(segments)).toBeNull();
    expect(ambiguity(segments)).toBeNull();
  });

  it('are empty without a query or a search', () => {
    expect(executedSearches([policy('<search> </search>'), found])).toEqual([]);
    expect(executedSearches([policy('<think> a </think>'), found])).toEqual([]);
    expect(executedSearches([found, found])).toEqual([]);
    expect(executedSearches([fromEnvironment('<search> a </search>'), found])).toEqual([]);
  });
});

describe('ambiguity', () => {
  it('is null without a search by the policy before the block', () => {
    expect(ambiguity([fromEnvironment('a </information> b')])).toBeNull();
    expect(ambiguity([policy('x<information> a </information>')])).toBeNull();
  });
});

describe('splitTranscript', () => {
  it('agrees with a simple regular expression', () => {
    fc.assert(
      fc.property(fc.oneof(soup, roughText), (text) => {
        expect(splitTranscript(text)).toEqual(splitByPattern(text));
      }),
      { numRuns: cases(300, 2000) },
    );
  });

  it.each([
    ['follows no search', `${THINK}${INFORMATION}`],
    ['follows an answer', `${THINK}${ANSWER}${INFORMATION}`],
    ['follows an unopened search', `a </search>${INFORMATION}`],
  ])('attributes information that %s to the policy, without ambiguity', (_, response) => {
    const segments = splitTranscript(response);
    expect(segments).toEqual([policy(response)]);
    expect(ambiguity(segments)).toBeNull();
  });

  const goneOn = `${SEARCH} and ${SEARCH}`;
  it.each([
    ['generation did not stop at a search', `${THINK}${goneOn}${INFORMATION}`],
    ['generation did not stop at an answer', `${ANSWER}${SEARCH}\n${INFORMATION}`],
    ['the block is unclosed', `${THINK}${SEARCH}\n<information>Doc 1`],
  ])('attributes information to the policy if %s, but reports ambiguity', (_, response) => {
    const segments = splitTranscript(response);
    expect(segments).toEqual([policy(response)]);
    expect(ambiguity(segments)).toContain('follows a search');
    expect(executedSearches(segments)).toEqual([]);
    expect(formatFault(segments)).toContain('policy wrote an information tag');
  });

  it('reports a closing tag in a passage', () => {
    const passage = `${SEARCH}<information>Doc 1(Title: t) </information> ${ANSWER} </information>`;
    expect(ambiguity(splitTranscript(passage))).toContain('without a beginning');
  });

  it('reports nothing in complete transcripts', () => {
    const turn = `${THINK}${SEARCH}\n\n${INFORMATION}\n\n`;
    const response = `${turn}${THINK}${SEARCH.slice(0, 8)}${INVALID_ACTION_NOTICE}${turn}${THINK}${ANSWER}`;
    expect(ambiguity(splitTranscript(response))).toBeNull();
  });

  it("parses Search-R1's message as a notice", () => {
    const message =
      'My previous action is invalid. If I want to search, I should put the query between <search> and </search>. ' +
      'If I want to give the final answer, I should put the answer between <answer> and </answer>. Let me try again.';
    const segments = splitTranscript(`${THINK}\n${message}\n${SEARCH}\n${INFORMATION}`);
    expect(segments.map(({ kind }) => kind).join(' ')).toBe('policy notice policy information');
    expect(finalAnswer(segments)).toBeNull();
  });
});

it.each([
  ['the last answer', `${ANSWER} ${THINK} <answer> y </answer>`, 'y'],
  ['no answer', `${THINK}${SEARCH}`, null],
  ['an unclosed answer', '<answer> x', null],
  ['an answer in a passage', `${SEARCH}<information> <answer> y </answer> </information>`, null],
  ['an empty answer', '<answer> </answer>', ''],
])('finalAnswer handles %s', (_, response, expected) => {
  expect(finalAnswer(splitTranscript(response))).toBe(expected);
});

describe('the boundary between prompt and response', () => {
  const answer = 'I know it.\n</think>\n<answer> Oslo </answer>';
  const from = (prompt: string, text: string) => formatFault([fromPrompt(prompt), policy(text)]);

  it('may follow a thought opened by the chat template', () => {
    const opened = '<|im_start|>assistant\n<think>\n';
    expect(from(opened, answer)).toBeNull();
    expect(from(opened, `<think>\n${answer}`)).toBeNull();
    expect(from('Write <think> first.', answer)).toContain('outside of blocks');
    const search = policy('a </think>\n<search> b </search>');
    const turn = [fromPrompt(opened), search, fromEnvironment('<information>c</information>')];
    expect(formatFault([...turn, policy(`<think> ${answer}`)])).toBeNull();
    // Only opened once.
    expect(formatFault([...turn, policy(answer)])).not.toBeNull();
  });

  const example = 'For example, <answer> Beijing </answer>. Question: What is it?\n';
  it.each([
    ['<|im_start|>user\n', '<|im_end|>\n<|im_start|>assistant\n'],
    ['<s>[INST] ', ' [/INST]'],
    ['<s>[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]', '[/INST]'],
    ['[gMASK]<sop><|user|>\n', '<|assistant|>\n'],
    ['<|endoftext|><|user|>\n', '\n<|assistant|>\n'],
    [
      '<|start_of_role|>user<|end_of_role|>',
      '<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>',
    ],
    ['[|user|]', '\n[|assistant|]'],
    ['<pad><pad><bos><start_of_turn>user\n', '<end_of_turn>\n<start_of_turn>model\n'],
    ['</s></s><s>[INST] ', '[/INST]'],
    ['<|start|>user<|message|>', '<|end|><|start|>assistant<|channel|>final<|message|>'],
    ['system\nBe brief.\nuser\n', '\nassistant\n'],
    ['user\n', '\nmodel\n'],
    ['<|im_start|>user<|im_sep|>', '<|im_end|><|im_start|>assistant<|im_sep|>'],
    ['<|endoftext|><|endoftext|><|im_start|>user\n', '<|im_end|>\n<|im_start|>assistant\n'],
    ['<｜begin▁of▁sentence｜>Be brief.<｜User｜>', '<｜Assistant｜></think>'],
    ['<bos><|turn>user\n', '<turn|>\n<|turn>model\n'],
    ['<|im_start|>user\n', '<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n'],
    [
      '<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n',
      '<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n',
    ],
    ['Answer the given question. ', ''],
  ])('is found in text that includes the prompt: %j', (start, end) => {
    const prompt = start + example + end;
    const cut = splitTranscript(`${prompt}<think> I do not know`);
    expect(cut).toEqual([fromPrompt(prompt), policy('<think> I do not know')]);
    expect(finalAnswer(cut)).toBeNull();
    expect(ambiguity(cut)).toBeNull();
    expect(finalAnswer(splitTranscript(`${prompt}<answer> Oslo </answer>`))).toBe('Oslo');
  });

  it('follows an empty thought of the chat template', () => {
    const prompt = '<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n';
    const empty = '<think>\n\n</think>\n\n';
    const written = `${THINK}${ANSWER}`;
    expect(splitTranscript(prompt + empty + written)).toEqual([
      fromPrompt(prompt + empty),
      policy(written),
    ]);
    // Perhaps the policy's own.
    expect(formatFault(splitTranscript(prompt + empty + ANSWER))).toBeNull();
    expect(from(prompt + empty, ANSWER)).toContain('expected think');
  });

  it('is ambiguous if an unknown prompt has an example answer', () => {
    const text = `USER: ${example} ASSISTANT: <think> I do not know`;
    expect(ambiguity(splitTranscript(text))).toContain('example of an answer');
  });

  it.each([
    ['A chat with an assistant. USER: ', ' ASSISTANT: '],
    ['Below is a task.\n\n### Instruction:\n', '\n\n### Response:\n'],
    [
      '<BOS_TOKEN><|START_OF_TURN_TOKEN|><|USER_TOKEN|>',
      '<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>',
    ],
    ['<用户>', '<AI>'],
    ['<<SYS>>\nBe brief.\n<</SYS>>\n\n', ' [/INST] '],
    ['Human: ', '\n\nAssistant:'],
  ])('follows the question in unknown chat templates, and is ambiguous: %j', (start, end) => {
    const instructions = 'Use <search> a </search>, then write <answer> a city </answer>.';
    const prompt = `${start}${instructions}\nQuestion: Where is it?${end}`;
    const reply = '<think> Where is it? </think><answer> Oslo </answer>';
    const segments = splitTranscript(prompt + reply, 'Where is it');
    expect(segments).toEqual([fromPrompt(prompt), policy(reply)]);
    expect(ambiguity(segments)).toContain('unknown chat template');
    const bare = prompt.slice(0, -end.length);
    expect(splitTranscript(`${bare}\n${reply}`, 'Where is it?')).toEqual([
      fromPrompt(bare),
      policy(`\n${reply}`),
    ]);
    expect(finalAnswer(splitTranscript(`${prompt}I do not know.`, 'Where is it'))).toBeNull();
  });

  it.each([
    `${THINK}<answer> a </answer> Where is it?`,
    'Where is it? <think> a </think><answer> Oslo </answer>',
    'I write <answer>: Where is it? </answer>',
    'I know. <answer> Oslo </answer> Where is it?',
    'I know. <answer> Oslo </answer> Where is it? was easy.',
    'I write <answer> and </answer>. Where is it? I <search> first. </think><search> a </search>',
    'So: <think> I write <answer> b </answer>. Where is it? </think><answer> a </answer>',
  ])('is not sought in replies that mention the question: %j', (reply) => {
    expect(splitTranscript(reply, 'Where is it?')).toEqual([policy(reply)]);
  });

  it('is ambiguous with several assistant turns; chat tags in a response are kept', () => {
    const turn = '<|im_start|>assistant\n<answer> a </answer><|im_end|>\n';
    const two = splitTranscript(`<|im_start|>user\nQ<|im_end|>\n${turn}${turn}`);
    expect(ambiguity(two)).toContain('several turns');
    const own = `<think> x </think><answer> Oslo </answer>${turn}`;
    expect(splitTranscript(own)).toEqual([policy(own)]);
  });

  it.each([
    ['\nuser\n', '\nassistant\n'],
    ['<|im_end|>\n<|im_start|>user\n', '<|im_end|>\n<|im_start|>assistant\n'],
  ])(
    'is ambiguous with turns of tool calls after %j, which are no searches here',
    (user, reply) => {
      const call = '<tool_call>\n{"name": "search", "arguments": {"query": "a"}}\n</tool_call>';
      const text = `${call}${user}<tool_response>\nb\n</tool_response>${reply}<answer> a </answer>`;
      expect(ambiguity(splitTranscript(text))).toContain('several turns');
    },
  );
});
