/** Characters segmented at a time. */
const WINDOW = 4096;
/** Characters that may decide whether there is a boundary before them. */
const LOOKAHEAD = 256;

/**
 * The segments of a text, in windows: Node's segmenter takes quadratic time, half a
 * minute for a megabyte.
 */
export function* segmentText(segmenter: Intl.Segmenter, text: string): Generator<string> {
  let size = WINDOW;
  for (let start = 0; start < text.length; ) {
    const part = text.slice(start, start + size);
    const end = start + part.length === text.length ? part.length : part.length - LOOKAHEAD;
    let read = 0;
    for (const { segment } of segmenter.segment(part)) {
      if (read + segment.length > end) break;
      read += segment.length;
      yield segment;
    }
    start += read;
    size = read > 0 ? WINDOW : 2 * size;
  }
}
