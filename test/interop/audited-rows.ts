/** Rollouts of two searches as each trainer records them, for tests of the audit. */
import { readTokenizerConfig } from '../../lib/io/tokenizer-config.js';
import { readTokenizer } from '../../lib/policy/folders/limited-tokenizer.js';
import { LocalPolicy } from '../../lib/policy/local-policy.js';
import { createRandom } from '../../lib/random.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { rollOut } from '../../lib/rollout/rollout.js';
import { conversationTemplate } from '../../lib/text/tokenizer/chat-template.js';
import { chattyModel, PASSAGES, QUESTIONS, tinyTraining } from '../training/tiny.js';

/** Sampled rollouts of the tiny model, and its tokenizer. */
export async function rollOutTiny() {
  const { weights, config, tokenizer } = chattyModel();
  const policy = new LocalPolicy('tiny', weights, config, tokenizer);
  const { trajectories } = await rollOut(policy, createBm25Retriever(PASSAGES), QUESTIONS, {
    ...tinyTraining().rollout,
    temperature: 1,
    randoms: QUESTIONS.map((_, i) => createRandom(i)),
  });
  policy.dispose();
  return { trajectories, tokenizer };
}

export const CHATML = 'test/fixtures/chat/chatml';
export const model = {
  tokenizer: await readTokenizer(CHATML),
  template: conversationTemplate(await readTokenizerConfig(CHATML)),
};

/** Ids of a rendered text, in which ChatML's tokens are special. */
export async function encode(text: string): Promise<number[]> {
  const tokenizer = await readTokenizer(CHATML);
  return text
    .split(/(<\|im_start\|>|<\|im_end\|>)/)
    .flatMap((part) =>
      part.startsWith('<|im_') ? [tokenizer.tokenId(part)!] : tokenizer.encode(part),
    );
}

/** Texts of the policy and the tool, turn by turn. */
const PROMPT = '<|im_start|>user\nWho was born first?<|im_end|>\n<|im_start|>assistant\n';
export const GENERATIONS = [
  '<think> both </think><tool_call>Ada</tool_call><|im_end|>',
  '<think> now Bo </think><tool_call>Bo</tool_call><|im_end|>',
  '<think> 1904 </think>Bo Reed<|im_end|>',
];
const result = (text: string): string =>
  `\n<|im_start|>user\n<tool_response>${text}</tool_response><|im_end|>\n<|im_start|>assistant\n`;
export const RESULTS = ['Ada was born in 1922.', 'Bo was born in 1904.'].map(result);

export interface Tokens {
  prompt: number[];
  /** Alternating: generation, result, generation, ... */
  parts: number[][];
}
export async function tokens(results = RESULTS): Promise<Tokens> {
  const texts = GENERATIONS.flatMap((text, i) =>
    i < results.length ? [text, results[i]] : [text],
  );
  return { prompt: await encode(PROMPT), parts: await Promise.all(texts.map(encode)) };
}
export const fill = (length: number, value: number): number[] =>
  Array.from({ length }, () => value);
const isGeneration = (i: number): number => Number(i % 2 === 0);
const response = ({ prompt, parts }: Tokens) => ({
  prompt,
  ids: parts.flat(),
  mask: parts.flatMap((part, i) => fill(part.length, isGeneration(i))),
  logProbs: parts.flatMap((part, i) => fill(part.length, isGeneration(i) ? -0.5 : 0)),
});
export const trlRow = (all: Tokens) => {
  const { prompt, ids, mask, logProbs } = response(all);
  return { prompt_ids: prompt, completion_ids: ids, env_mask: mask, logprobs: logProbs };
};
/** As tensors of a `DataProto`, padded on both sides. */
export const verlRow = (all: Tokens) => {
  const { prompt, ids, mask, logProbs } = response(all);
  const pad = fill(3, 0);
  return {
    prompts: [...pad, ...prompt],
    responses: [...ids, ...pad],
    response_mask: [...mask, ...pad],
    rollout_log_probs: [...logProbs, ...pad],
    attention_mask: [...pad, ...fill(prompt.length + ids.length, 1), ...pad],
  };
};
export const stepsRow = ({ prompt, parts }: Tokens) => ({
  trajectory: parts.flatMap((part, i) => {
    if (!isGeneration(i)) return [];
    const context = [...prompt, ...parts.slice(0, i).flat()];
    const tokens = {
      prompt_ids: context,
      prompt_mask: fill(context.length, 0),
      completion_ids: part,
      completion_mask: fill(part.length, 1),
      completion_logprobs: fill(part.length, -0.5),
    };
    return [{ tokens }];
  }),
});
export const traceRow = ({ prompt, parts }: Tokens) => {
  const start = prompt.slice(-1);
  const node = (parent: number | null, role: string, ids: number[], numSampled = 0) => ({
    parent,
    message: { role, content: 'x' },
    sampled: numSampled > 0,
    token_ids: ids,
    mask: ids.map((_, i) => i >= ids.length - numSampled),
    logprobs: fill(numSampled, -0.5),
  });
  const nodes = [node(null, 'user', prompt.slice(0, -1))];
  parts.forEach((part, i) => {
    const ids = i === 0 ? [...start, ...part] : part;
    nodes.push(node(i, i % 2 === 0 ? 'assistant' : 'user', ids, i % 2 === 0 ? part.length : 0));
  });
  return { id: 'episode', traces: [{ id: 'trace', nodes }] };
};

export const LAYOUTS = {
  trl: trlRow,
  verl: verlRow,
  'legacy verifiers': stepsRow,
  verifiers: traceRow,
};
