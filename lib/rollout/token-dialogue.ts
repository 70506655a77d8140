/** How a rollout and a policy with token ids exchange segments. */
import type { Generation, Policy } from '../policy/policy.js';
import { buildPrompt, encodePrompt } from '../text/prompts.js';
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  escapeTags,
  nextAction,
  STOP_STRINGS,
  wrapResults,
} from '../text/tags.js';
import type { Dialogue, Refused, Row } from './dialogue.js';
import { transcriptSeparator, type RolloutOptions } from './options.js';
import { tokenIds, type Segment } from './trajectory.js';

export function tokenDialogue(policy: Policy, options: RolloutOptions): Dialogue {
  const { tokenizer, maxLength } = policy;
  const { promptForm: form, maxNewTokens, maxInformationTokens, onToken } = options;
  const { informationForm } = options;
  if (form === 'tools')
    throw new Error(
      `Expected a prompt form other than tools, because ${policy.name} can't call tools. Use --prompt-form chat or full.`,
    );
  const encode = (kind: Segment['kind'], text: string): Segment => ({
    kind,
    tokenIds: tokenizer.encode(text),
    text,
  });
  const hasRoom = ({ trajectory }: Row): boolean =>
    tokenIds(trajectory).length + maxNewTokens < maxLength;
  return {
    startPrompt(question) {
      const separator = transcriptSeparator(options);
      const text = buildPrompt(options.prompt, question, { form, separator });
      return { kind: 'prompt', ...encodePrompt(text, { form, tokenizer }) };
    },
    async generate(rows) {
      const ready = rows.filter(hasRoom);
      if (ready.length === 0) return rows.map(() => null);
      const generations = await policy.generate(
        ready.map(({ trajectory }) => tokenIds(trajectory)),
        {
          temperature: options.temperature,
          topP: options.topP,
          maxNewTokens,
          stop: STOP_STRINGS,
          randoms: ready.map((row) => row.random),
          signal: options.signal,
          onToken: onToken && (({ row, ...token }) => onToken({ row: ready[row].index, ...token })),
        },
      );
      requireGenerations(generations, ready.length, policy);
      const segments = new Map(
        ready.map((row, i): [Row, Segment | Refused] => {
          const { tokenIds, text, logProbs, refusal } = generations[i];
          if (refusal !== undefined) return [row, { refusal }];
          return [row, { kind: 'policy', tokenIds, text, ...(logProbs && { logProbs }) }];
        }),
      );
      return rows.map((row) => segments.get(row) ?? null);
    },
    formatResults: (_row, queries, texts) =>
      encode('information', wrapResults(texts, { form: informationForm, queries })),
    // The short form suits the small policy, the full form real language models.
    formatNotice: () =>
      encode('notice', form === 'short' ? INVALID_ACTION_NOTICE : INVALID_ACTION_NOTICE_FULL),
    countTokens: (segment) => segment.tokenIds.length,
    cutText(text, maxTokens) {
      const ids = tokenizer.encode(text);
      // Decoding with a normalising tokenizer could produce a tag.
      return ids.length <= maxTokens ? text : escapeTags(tokenizer.decode(ids.slice(0, maxTokens)));
    },
    cutSegment({ kind, tokenIds }, maxTokens) {
      const ids = tokenIds.slice(0, maxTokens);
      return { kind, tokenIds: ids, text: tokenizer.decode(ids) };
    },
    roomForInformation({ trajectory }) {
      const { reservePerTurn } = options;
      if (reservePerTurn === undefined) return maxInformationTokens;
      const turnsLeft = options.maxSearchTurns - trajectory.modelCalls;
      const reserved = maxNewTokens + turnsLeft * reservePerTurn;
      return Math.min(maxInformationTokens, maxLength - 1 - tokenIds(trajectory).length - reserved);
    },
  };
}

function requireGenerations(
  generations: readonly Partial<Generation>[],
  numRows: number,
  { name, tokenizer }: Policy,
): void {
  const count = Array.isArray(generations) ? generations.length : JSON.stringify(generations);
  if (count !== numRows)
    throw new Error(`Expected ${numRows} generations from ${name}, but got ${count}.`);
  for (const { tokenIds, text, refusal } of generations) {
    if (refusal !== undefined) continue;
    if (!Array.isArray(tokenIds) || typeof text !== 'string')
      throw new Error(
        `Expected generations such as { tokenIds: [5, 7], text, finish } from ${name}, but got tokenIds ${typeof tokenIds} and text ${typeof text}.`,
      );
    // The token that completes a stop string may hold more, which is not an action.
    const rest = text.slice(nextAction(text).end);
    if (rest.length > tokenizer.decode(tokenIds.slice(-1)).length)
      throw new Error(
        `Expected ${name} to stop after ${STOP_STRINGS.join(' or ')}, but it continued with ${JSON.stringify(rest.slice(0, 60))}. Pass options.stop to the model.`,
      );
  }
}
