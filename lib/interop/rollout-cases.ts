/**
 * Rollouts of a policy that says what a script says, to compare two implementations of
 * Algorithm 1 by.
 */
import { range } from 'd3-array';
import type { Policy } from '../policy/policy.js';
import type { Random } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import type { RolloutConfig } from '../rollout/options.js';
import { rollOut } from '../rollout/rollout.js';
import { lossMask, tokenIds } from '../rollout/trajectory.js';
import { buildPrompt } from '../text/prompts.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { INVALID_ACTION_NOTICE, INVALID_ACTION_NOTICE_FULL, nextAction } from '../text/tags.js';
import { drawGeneration, drawPassage } from './test-cases.js';

/** One token a character, which cuts tags and words as no vocabulary does. */
const CHARACTERS: Tokenizer = {
  encode: (text) => Array.from(text, (character) => character.codePointAt(0)!),
  decode: (ids) => String.fromCodePoint(...ids),
  tokenId: (token) => token.codePointAt(0),
  vocabSize: 0x110000,
};

const QUESTION = { id: 'q', question: 'Who?', goldenAnswers: ['x'], metadata: {} };

type Passages = { title: string; text: string }[];

/** @param script what it writes, generation by generation */
function scriptedPolicy(script: readonly string[], maxLength: number): Policy {
  const left = script.values();
  return {
    name: 'scripted',
    tokenizer: CHARACTERS,
    maxLength,
    generate: async (contexts) =>
      contexts.map(() => {
        const text = left.next().value!;
        // An engine stops there.
        const ids = CHARACTERS.encode(text.slice(0, nextAction(text).end));
        return {
          tokenIds: ids,
          text: CHARACTERS.decode(ids),
          logProbs: ids.map(() => -1),
          finish: 'stop',
        };
      }),
  };
}

/**
 * Draws what is found for each new query, and keeps it in `found`; null is a search that
 * fails.
 */
function drawingRetriever(random: Random, found: Map<string, Passages | null>): Retriever {
  const search = (query: string): Passages | null => {
    if (!found.has(query))
      found.set(
        query,
        random.uniform() < 0.1 ? null : range(random.integer(4)).map(() => drawPassage(random)),
      );
    return found.get(query)!;
  };
  return {
    name: 'drawn',
    retrieve: async (queries, { topK }) => {
      const lists = queries.map(search);
      if (lists.includes(null)) throw new Error('This search fails.');
      return lists.map((passages) =>
        passages!
          .slice(0, topK)
          .map(({ title, text }, i) => ({
            passage: { id: `${i}`, title, text, contents: `${title}\n${text}` },
            score: 1 / (i + 1),
          })),
      );
    },
  };
}

/**
 * A drawn rollout as Python is given it (options, script, what each query finds) and as
 * it has to come out.
 */
export async function drawRolloutCase(random: Random): Promise<object> {
  const config: RolloutConfig = {
    prompt: 'parallel',
    promptForm: random.choice(['short', 'full'] as const),
    maxSearchTurns: random.integer(5),
    topK: 1 + random.integer(3),
    splitQueries: random.uniform() < 0.7,
    maxSubQueries: 1 + random.integer(4),
    maxInformationTokens: random.choice([40, 120, 100_000]),
    maxNewTokens: 50,
    topP: 1,
    retrievalTimeoutMs: 10_000,
  };
  const room = random.choice([200, 600, 100_000]);
  const maxLength =
    buildPrompt(config.prompt, QUESTION.question, { form: config.promptForm }).length + room;
  const script = range(config.maxSearchTurns + 1).map(() => drawGeneration(random));
  const found = new Map<string, Passages | null>();
  const { trajectories } = await rollOut(
    scriptedPolicy(script, maxLength),
    drawingRetriever(random.fork('passages'), found),
    [QUESTION],
    { ...config, temperature: 1, randoms: [random] },
  );
  const [{ segments }] = trajectories;
  const [prompt, ...response] = segments;
  return {
    options: {
      max_search_turns: config.maxSearchTurns,
      top_k: config.topK,
      split_queries: config.splitQueries,
      max_sub_queries: config.maxSubQueries,
      max_new_tokens: config.maxNewTokens,
      max_information_tokens: config.maxInformationTokens,
      notice: config.promptForm === 'short' ? INVALID_ACTION_NOTICE : INVALID_ACTION_NOTICE_FULL,
    },
    max_length: maxLength,
    prompt: prompt.text,
    script,
    found: Object.fromEntries(
      Array.from(found, ([query, passages]) => [
        query,
        passages?.map(({ title, text }) => [title, text]) ?? null,
      ]),
    ),
    expected: {
      segments: response.map(({ kind, text }) => [kind, text]),
      token_ids: tokenIds({ segments: response }),
      mask: lossMask({ segments: response }),
    },
  };
}
