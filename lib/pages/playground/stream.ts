import type { Tokenizer } from '../../text/tokenizer.js';

/**
 * Text of tokens that come one by one. A character of several tokens comes with its last one; the others give an empty text.
 */
export function createTextStream(tokenizer: Tokenizer): (tokenId: number) => string {
  let pending: number[] = [];
  return (tokenId) => {
    pending.push(tokenId);
    const text = tokenizer.decode(pending);
    if (text.endsWith('\uFFFD')) return ''; // a part of a character
    pending = [];
    return text;
  };
}
