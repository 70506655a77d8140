/** JSON with integers of any size. */

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const HAS_LONG_NUMBER = /\d{16}/;

/**
 * Parses JSON as `JSON.parse` does, but integers beyond 2^53 become texts with all their
 * digits, such as 64-bit ids.
 */
export function parseJson(text: string): unknown {
  if (!HAS_LONG_NUMBER.test(text)) return JSON.parse(text);
  const exact = text.replace(TOKENS, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token,
  );
  return JSON.parse(exact);
}
