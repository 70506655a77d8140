/**
 * Audits recorded rollouts: is what is trained exactly what the policy wrote? Each check
 * finds a known mistake of trainers: prefixes broken by templates that strip thinking,
 * masks longer than ids, separators lost at tool boundaries, environment tokens in the
 * loss, log-probs that are not finite.
 */
import { greatest, max, range, sum } from 'd3-array';
import type { ConversationTemplate, TemplateMessage } from '../text/tokenizer/chat-template.js';
import type { Tokenizer } from '../text/tokenizer/tokenizer.js';
import type { TokenPiece, TokenRow } from './token-rows.js';

interface Fault {
  /** Counted from 1; null if unknown. */
  turn: number | null;
  message: string;
}

export interface AuditFault extends Fault {
  check: AuditCheck;
  remedy: string;
}

/** The model's files, which allow further checks. */
export interface AuditModel {
  tokenizer: Pick<Tokenizer, 'decode' | 'vocabSize'>;
  /** Null if the model has none. */
  template: ConversationTemplate | null;
}

/** A check's fault, null if there is none, or undefined if the row does not allow it. */
type Outcome = Fault | null | undefined;
type Check = (row: TokenRow, model: AuditModel | undefined) => Outcome;

const isWritten = ({ kind }: TokenPiece): boolean => kind === 'policy';

/** Pieces with their turn, from 1: the turn of the last generation before them. */
function withTurns(pieces: readonly TokenPiece[]): { piece: TokenPiece; turn: number }[] {
  let turn = 0;
  return pieces.map((piece) => {
    if (piece.kind === 'policy') turn++;
    return { piece, turn: Math.max(1, turn) };
  });
}

const countTrained = (mask: readonly number[]): number =>
  mask.filter((value) => value !== 0).length;

function firstFault(
  { sequences }: TokenRow,
  find: (piece: TokenPiece, turn: number) => Outcome,
): Outcome {
  if (sequences.length === 0) return undefined;
  for (const pieces of sequences)
    for (const { piece, turn } of withTurns(pieces)) {
      const fault = find(piece, turn);
      if (fault) return fault;
    }
  return null;
}

/** Splits responses into runs of equal mask; other pieces are unchanged. */
export function splitResponses(pieces: readonly TokenPiece[]): TokenPiece[] {
  return pieces.flatMap((piece): TokenPiece[] => {
    const { ids, mask, logProbs } = piece;
    if (piece.kind !== 'response' || mask.length !== ids.length) return [piece];
    const runs: TokenPiece[] = [];
    const isPerToken = logProbs?.length === ids.length;
    let trained = 0;
    ids.forEach((id, i) => {
      const kind = mask[i] === 0 ? 'environment' : 'policy';
      if (runs.at(-1)?.kind !== kind) runs.push({ kind, ids: [], mask: [] });
      const run = runs.at(-1)!;
      run.ids.push(id);
      run.mask.push(mask[i]);
      if (kind === 'policy' && logProbs)
        (run.logProbs ??= []).push(logProbs[isPerToken ? i : trained++]);
    });
    return runs;
  });
}

/** The position of the first difference, or null if `whole` begins with `start`. */
const differsAt = <T>(whole: ArrayLike<T>, start: ArrayLike<T>): number | null => {
  for (let i = 0; i < start.length; i++) if (whole[i] !== start[i]) return i;
  return null;
};

/**
 * The first turn before which the template renders an earlier answer differently from how
 * it was written, or from how it was rendered before that turn. Undefined if the template
 * refuses the messages.
 */
function brokenRendering(
  messages: readonly TemplateMessage[],
  render: ConversationTemplate,
): Outcome {
  const answers = messages.flatMap(({ role }, i) => (role === 'assistant' ? [i] : []));
  for (const [t, next] of answers.slice(1).entries()) {
    const turn = t + 1;
    const answer = answers[t];
    let before = '';
    let after = '';
    try {
      before = render(messages.slice(0, answer + 1), { addGenerationPrompt: false });
      after = render(messages.slice(0, next), { addGenerationPrompt: true });
    } catch {
      return undefined;
    }
    const written = messages[answer].content?.trim() ?? '';
    const start = before.lastIndexOf(written);
    if (start < 0)
      return {
        turn: turn + 1,
        message: `the chat template does not render the answer of turn ${turn} as it was written: ${JSON.stringify(written.slice(0, 60))}`,
      };
    // What follows the answer may be the end of the whole conversation.
    const read = written ? before.slice(0, start + written.length) : before.trimEnd();
    const at = differsAt(after, read);
    if (at === null) continue;
    const from = Math.max(0, at - 10);
    return {
      turn: turn + 1,
      message: `the chat template renders turn ${turn} differently once turn ${turn + 1} follows: ${JSON.stringify(before.slice(from, at + 40))} became ${JSON.stringify(after.slice(from, at + 40))}`,
    };
  }
  return null;
}

const checkPrefix: Check = ({ turns, forkTurn, sequences, messages }, model) => {
  if (forkTurn !== undefined)
    return {
      turn: forkTurn,
      message: `the context of turn ${forkTurn} does not begin with the turns before it: the rollout forked into ${sequences.length} sequences`,
    };
  for (const [i, { context }] of (turns ?? []).entries()) {
    if (i === 0) continue;
    const previous = turns![i - 1];
    const read = [...previous.context, ...previous.generation];
    const at = differsAt(context, read);
    if (at === null) continue;
    const inAnswer = at - previous.context.length;
    const where =
      inAnswer < 0
        ? 'context'
        : `answer, at its token ${inAnswer + 1} of ${previous.generation.length}`;
    return {
      turn: i + 1,
      message: `the context does not begin with turn ${i}'s context and answer: token ${at + 1} differs (in that turn's ${where})`,
    };
  }
  if (sequences.length > 0) return null;
  return messages && model?.template ? brokenRendering(messages, model.template) : undefined;
};

/**
 * The turn in which mask and ids diverge: where the mask contradicts the log-probs, which
 * are 0 for environment tokens; else where the shorter one ends.
 */
function partingTurn({ ids, mask, logProbs = [] }: TokenPiece): number {
  const end = Math.min(mask.length, ids.length);
  const sampled =
    logProbs.length === ids.length ? logProbs.map((value) => Number(value !== 0)) : mask;
  const at = sampled.slice(0, end).findIndex((value, i) => (value !== 0) !== (mask[i] !== 0));
  return turnAt(sampled, at < 0 ? end - 1 : at);
}

const checkMaskLength: Check = (row) =>
  firstFault(row, (piece, turn) => {
    const { kind, ids, mask } = piece;
    if (mask.length === ids.length) return null;
    return {
      turn: kind === 'response' ? partingTurn(piece) : turn,
      message: `the mask has ${mask.length} values for ${ids.length} token ids`,
    };
  });

const checkTokenIds: Check = (row, model) =>
  firstFault(row, ({ kind, ids, mask, text }, turn) => {
    const size = model?.tokenizer.vocabSize ?? Infinity;
    const at = ids.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < size));
    if (at >= 0)
      return {
        turn: kind === 'response' ? turnAt(mask, at) : turn,
        message: `${ids[at]} is not a token id${model ? ` (vocabulary size ${size})` : ''}`,
      };
    if (!model || text === undefined || ids.length === 0) return null;
    const decoded = model.tokenizer.decode(ids);
    // Engines cut a text at a stop string, but never the ids; a character may be cut.
    if (decoded.trimStart().startsWith(text.trim()) || decoded.includes('\uFFFD')) return null;
    return {
      turn,
      message: `the ids decode to ${JSON.stringify(decoded.slice(0, 60))}, but the text is ${JSON.stringify(text.slice(0, 60))}`,
    };
  });

const SENTINELS = ['Sentinel question.', 'Sentinel answer.', 'Sentinel result.'] as const;

/** The template's text between an answer and a result, and before the next answer. */
interface Separators {
  before: string;
  after: string;
}

/** The separators of results as messages of a tool, and of the user. */
function templateSeparators(render: ConversationTemplate): Separators[] {
  const [question, answer, result] = SENTINELS;
  return ['tool', 'user'].flatMap((role) => {
    const messages = [
      { role: 'user', content: question },
      { role: 'assistant', content: answer },
      { role, content: result },
    ];
    try {
      const text = render(messages, { addGenerationPrompt: true });
      const [start, end] = [text.indexOf(answer), text.indexOf(result)];
      if (start < 0 || end < 0) return [];
      const before = text.slice(start + answer.length, end);
      return [{ before, after: text.slice(end + result.length) }];
    } catch {
      return []; // the template refuses the role
    }
  });
}

/** Whether the environment's text follows an answer with one of these separators. */
const follows = (answer: string, text: string, before: string): boolean =>
  range(before.length + 1).some(
    (cut) => answer.endsWith(before.slice(0, cut)) && text.startsWith(before.slice(cut)),
  );

/** The separators of the role that the text most likely has. */
const nearest = (separators: readonly Separators[], text: string): Separators =>
  greatest(separators, ({ before }) =>
    range(before.length, 0, -1).find((n) => text.includes(before.slice(-n))),
  ) ?? separators[0];

const SEARCH_IN_TAGS = /<information>/;

const checkSeparators: Check = ({ sequences }, model) => {
  if (!model?.template || sequences.length === 0) return undefined;
  const separators = templateSeparators(model.template);
  if (separators.length === 0) return undefined;
  let isChecked = false;
  for (const pieces of sequences) {
    const filled = withTurns(splitResponses(pieces)).filter(({ piece }) => piece.ids.length > 0);
    const parts = filled.map(({ piece, turn }) => {
      const isResult = piece.kind === 'environment';
      return { isResult, turn, text: model.tokenizer.decode(piece.ids) };
    });
    // Searches in tags continue one message, so the template adds nothing.
    if (parts.some(({ isResult, text }) => isResult && SEARCH_IN_TAGS.test(text))) continue;
    // A result and the next start are one text of the environment.
    const merged = joinAdjacent(parts, (a, b) => a.isResult && b.isResult);
    for (const [i, { isResult, text, turn }] of merged.entries()) {
      if (!isResult) continue;
      isChecked = true;
      const answer = merged[i - 1]?.text ?? '';
      const isLast = i === merged.length - 1;
      const fits = ({ before, after }: Separators): boolean =>
        follows(answer, text, before) && (isLast || text.endsWith(after));
      if (separators.some(fits)) continue;
      const { before, after } = nearest(separators, text);
      return {
        turn,
        message: `after the answer the template writes ${JSON.stringify(before)} and before the next one ${JSON.stringify(after)}, but the ids are ${JSON.stringify(`${answer.slice(-20)}${text.slice(0, 40)}`)} ... ${JSON.stringify(text.slice(-40))}`,
      };
    }
  }
  return isChecked ? null : undefined;
};

/** Merges adjacent items that belong together, concatenating their texts. */
function joinAdjacent<T extends { text: string }>(
  items: readonly T[],
  isSame: (item: T, next: T) => boolean,
): T[] {
  const joined: T[] = [];
  for (const item of items) {
    const last = joined.at(-1);
    if (last && isSame(last, item)) last.text += item.text;
    else joined.push({ ...item });
  }
  return joined;
}

/** An action that ends a turn, and the environment's answer, in one trained run. */
const TRAINED_RESULT =
  /<\/(?:search|tool_call)>\s*(?:<\|[^|>]*\|>\s*\w*\s*)*<(?:information|tool_response)>/;

const checkInformation: Check = (row, model) => {
  const trained = firstFault(row, ({ kind, mask, logProbs }, turn) => {
    if (kind !== 'prompt' && kind !== 'environment') return null;
    const numTrained = countTrained(mask);
    const origin = kind === 'prompt' ? 'the prompt' : 'the environment';
    if (numTrained > 0) return { turn, message: `${numTrained} tokens of ${origin} have mask 1` };
    return logProbs?.some((value) => value !== null && value !== 0)
      ? { turn, message: `tokens of ${origin} have log-probs, as if the policy had sampled them` }
      : null;
  });
  if (trained !== null) return trained;
  for (const pieces of row.sequences) {
    const response = pieces.find(({ kind }) => kind === 'response');
    if (!response || response.mask.length !== response.ids.length) continue;
    const runs = splitResponses([response]);
    const inText = trainedResult(runs, model);
    if (inText) return inText;
    const segments =
      response.segments && joinAdjacent(response.segments, (a, b) => a.isPolicy === b.isPolicy);
    // The last generation may be empty.
    const expected = segments?.filter(({ isPolicy, text }) => isPolicy && text !== '').length;
    const numTrained = runs.filter(isWritten).length;
    if (expected !== undefined && numTrained < expected)
      return {
        turn: firstDifferentRun(runs, segments!, model),
        message: `the mask has ${numTrained} runs of trained tokens, but the policy wrote ${expected} times`,
      };
  }
  return null;
};

function trainedResult(runs: readonly TokenPiece[], model: AuditModel | undefined): Outcome {
  if (!model) return null;
  for (const { piece, turn } of withTurns(runs)) {
    if (piece.kind !== 'policy') continue;
    const text = model.tokenizer.decode(piece.ids);
    const match = TRAINED_RESULT.exec(text);
    if (match)
      return {
        turn,
        message: `a result of the environment has mask 1: ${JSON.stringify(text.slice(match.index, match.index + 60))}`,
      };
  }
  return null;
}

/** The turn of the first run that differs from its segment; null without a tokenizer. */
function firstDifferentRun(
  runs: readonly TokenPiece[],
  segments: readonly { isPolicy: boolean; text: string }[],
  model: AuditModel | undefined,
): number | null {
  if (!model) return null;
  const texts = segments.filter(({ isPolicy }) => isPolicy).map(({ text }) => text.trim());
  const isLonger = ({ ids }: TokenPiece, i: number): boolean =>
    model.tokenizer.decode(ids).trim().length > (texts[i]?.length ?? 0) + 20;
  return Math.max(0, runs.filter(isWritten).findIndex(isLonger)) + 1;
}

/** In half precision, log-probs can exceed 0 by rounding. */
const MAX_LOG_PROB = 1e-2;

const checkLogProbs: Check = (row) => {
  const pieces = row.sequences.flat();
  const hasLogProbs = pieces.some(({ logProbs }) => logProbs);
  if (!hasLogProbs && pieces.every(({ weights = {} }) => Object.keys(weights).length === 0))
    return undefined;
  return firstFault(row, ({ kind, ids, mask, logProbs, weights = {} }, turn) => {
    const numTrained = countTrained(mask);
    const isResponse = kind === 'policy' || kind === 'response';
    if (isResponse && numTrained > 0 && !logProbs && hasLogProbs)
      return { turn, message: `${numTrained} trained tokens have no log-probs` };
    for (const [name, values] of Object.entries({ logprobs: logProbs, ...weights })) {
      if (!values || !isResponse) continue;
      const isPerToken = values.length === ids.length;
      // One weight may apply to the whole rollout.
      const isOne = name !== 'logprobs' && values.length === 1;
      if (!isPerToken && !isOne && values.length !== numTrained)
        return {
          turn: kind === 'response' ? turnAt(mask, values.length - 1) : turn,
          message: `there are ${values.length} ${name} for ${ids.length} tokens, ${numTrained} of them trained`,
        };
      // vLLM's server writes -9999 for minus infinity, which no sampled token has.
      const isWrong = (value: number | null): boolean =>
        value === null ||
        !Number.isFinite(value) ||
        (name === 'logprobs' && (value > MAX_LOG_PROB || Math.exp(value) === 0));
      const at = values.findIndex((value, i) => (!isPerToken || mask[i] !== 0) && isWrong(value));
      if (at < 0) continue;
      const inTurn = kind === 'response' && isPerToken ? turnAt(mask, at) : turn;
      return { turn: inTurn, message: `${name}[${at}] is ${values[at]}` };
    }
    return null;
  });
};

/** The turn of a position in a response: the number of trained runs up to it. */
const turnAt = (mask: readonly number[], at: number): number =>
  Math.max(1, mask.slice(0, at + 1).filter((value, i) => value !== 0 && !mask[i - 1]).length);

/** `notChecked`: why a check did not apply. */
export const CHECKS = {
  prefix: {
    find: checkPrefix,
    notChecked: 'no token ids, and no messages that the chat template of --model accepts',
    remedy:
      'Build each context by appending token ids to the last one instead of rendering the messages again, or use a chat template that keeps earlier turns as they were.',
  },
  mask_length: {
    find: checkMaskLength,
    notChecked: 'no token ids',
    remedy:
      'Build the mask together with the ids, one value for each token, and cut both at the same place.',
  },
  token_ids: {
    find: checkTokenIds,
    notChecked: 'no token ids',
    remedy:
      'Record the ids that the engine sampled, and pass --model the folder whose tokenizer it used; never encode a text again.',
  },
  separators: {
    find: checkSeparators,
    notChecked: 'needs --model with a chat template, and results outside of tags',
    remedy:
      'Append what the chat template writes between two messages (end of turn, line break, start of the next) to the ids of the environment.',
  },
  information: {
    find: checkInformation,
    notChecked: 'no token ids',
    remedy: 'Set the mask of every token that the policy did not sample to 0.',
  },
  log_probs: {
    find: checkLogProbs,
    notChecked: 'none recorded',
    remedy:
      'Ask the engine for the log-prob of each sampled token, and record it where the id is recorded.',
  },
} satisfies Record<string, { find: Check; notChecked: string; remedy: string }>;

export type AuditCheck = keyof typeof CHECKS;
export const AUDIT_CHECKS = Object.keys(CHECKS) as AuditCheck[];

/** A row's faults by check: null if there is none, undefined if it cannot be checked. */
export function auditRow(
  row: TokenRow,
  model?: AuditModel,
): Record<AuditCheck, AuditFault | null | undefined> {
  const outcomes = AUDIT_CHECKS.map((check) => {
    const { find, remedy } = CHECKS[check];
    const fault = find(row, model);
    return [check, fault && { check, ...fault, remedy }] as const;
  });
  return Object.fromEntries(outcomes) as Record<AuditCheck, AuditFault | null | undefined>;
}

export const numTurns = ({ sequences }: TokenRow): number =>
  max(sequences, (pieces) => splitResponses(pieces).filter(isWritten).length) ?? 0;

export const numTrainedTokens = ({ sequences }: TokenRow): number =>
  sum(sequences.flat(), ({ mask }) => countTrained(mask));
