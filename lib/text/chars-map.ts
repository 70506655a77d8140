/**
 * SentencePiece's precompiled character maps, such as `nmt_nfkc`, in base 64: a
 * double-array trie over UTF-8 (darts-clone), followed by its replacement texts.
 */
import { segmentText } from './segments.js';

/** Longer graphemes are mapped character by character, as in the reference. */
const MAX_GRAPHEME_BYTES = 5;

/** Normalises as the reference's `spm_precompiled` does; an empty map changes nothing. */
export function createCharsMap(base64: string): (text: string) => string {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  if (bytes.length === 0) return (text) => text;
  const view = new DataView(bytes.buffer);
  const numUnits = view.getUint32(0, true) / 4;
  const units = Array.from({ length: numUnits }, (_, i) => view.getUint32(4 + 4 * i, true));
  const texts = bytes.subarray(4 + 4 * numUnits);
  const encoder = new TextEncoder();
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const offset = (unit: number): number => (unit >>> 10) << ((unit & 512) >>> 6);

  /** Finds the replacement of the shortest prefix in the trie. */
  const find = (key: Uint8Array): string | undefined => {
    let node = offset(units[0]);
    for (const byte of key) {
      node ^= byte;
      const unit = units[node];
      if (unit === undefined || (unit & 0x800000ff) >>> 0 !== byte) return undefined;
      node ^= offset(unit);
      if (((unit >>> 8) & 1) === 0) continue;
      const start = units[node] & 0x7fffffff;
      return decoder.decode(texts.subarray(start, texts.indexOf(0, start)));
    }
    return undefined;
  };
  const cache = new Map<string, string>();
  const mapGrapheme = (grapheme: string): string => {
    const key = encoder.encode(grapheme);
    const whole = key.length <= MAX_GRAPHEME_BYTES ? find(key) : undefined;
    return whole ?? Array.from(grapheme, (c) => find(encoder.encode(c)) ?? c).join('');
  };
  const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return (text) =>
    Array.from(segmentText(segmenter, text), (segment) => {
      const cached = cache.get(segment);
      if (cached !== undefined) return cached;
      const mapped = mapGrapheme(segment);
      if (cache.size < 1e5) cache.set(segment, mapped);
      return mapped;
    }).join('');
}
