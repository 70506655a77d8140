/** A policy that follows a script. */
import type { Generation, Policy, SamplingOptions } from '../../lib/policy/policy.js';
import type { Tokenizer } from '../../lib/text/tokenizer/tokenizer.js';

/** One token per character, so that re-encoded ids would show. */
export const CHARACTERS: Tokenizer = {
  encode: (text) => Array.from(text, (c) => c.codePointAt(0)!),
  decode: (ids) => String.fromCodePoint(...ids),
  tokenId: (token) => (Array.from(token).length === 1 ? token.codePointAt(0) : undefined),
  vocabSize: 0x110000,
};

export interface ScriptedPolicy extends Policy {
  /** The contexts of each call, as text. */
  calls: string[][];
  /** The options of each call. */
  options: SamplingOptions[];
}

/** @param scripts texts by question, turn by turn; the last one repeats */
export function scriptedPolicy(
  scripts: Record<string, readonly string[]>,
  maxLength = 100_000,
): ScriptedPolicy {
  const turns = new Map<string, number>();
  const sayTo = (context: string): string => {
    const question = Object.keys(scripts).find((text) => context.includes(`Question: ${text}\n`));
    if (question === undefined) throw new Error(`Expected a script for ${context}`);
    const turn = turns.get(question) ?? 0;
    turns.set(question, turn + 1);
    return scripts[question][Math.min(turn, scripts[question].length - 1)];
  };
  const calls: string[][] = [];
  const options: SamplingOptions[] = [];
  return {
    name: 'scripted',
    tokenizer: CHARACTERS,
    maxLength,
    calls,
    options,
    generate: async (contexts, given) => {
      const texts = contexts.map((ids) => CHARACTERS.decode(ids));
      calls.push(texts);
      options.push(given);
      const said = texts.map((context): Generation => {
        const text = sayTo(context);
        const tokenIds = CHARACTERS.encode(text);
        return { tokenIds, text, logProbs: tokenIds.map((_, i) => -i / 100), finish: 'stop' };
      });
      for (const [row, { tokenIds, logProbs }] of said.entries()) {
        for (const [i, tokenId] of tokenIds.entries()) {
          await given.onToken?.({ row, tokenId, logProb: logProbs![i] });
        }
      }
      return said;
    },
  };
}
