/** One trajectory as HTML that needs no script, with the viewer's look. */
import type { Trajectory } from '../rollout/trajectory.js';
import { markup, markupHtml } from './markup.js';
import { segmentsMarkup } from './segments.js';
import { TRANSCRIPT_STYLE } from './styles.js';

/** What `display` shows of a trajectory. */
export interface Transcript {
  kind: 'transcript';
  html: string;
  text: string;
}

/**
 * A trajectory segment by segment, to be shown by `display`. @param address of a page
 * with more on it, which is linked below
 */
export function transcriptOf(
  { question, segments, searchTurns }: Pick<Trajectory, 'question' | 'segments' | 'searchTurns'>,
  address?: string,
): Transcript {
  const attributes = { role: 'group', 'aria-label': `Rollout: ${question}` };
  const link =
    address !== undefined && markup('p', markup('a', { href: address }, 'Open in the viewer'));
  const list = markup('div.ps-transcript', attributes, segmentsMarkup(segments, searchTurns), link);
  const text = segments.map(({ kind, text }) => `[${kind}] ${text.trim()}`).join('\n');
  return {
    kind: 'transcript',
    html: `<style>${TRANSCRIPT_STYLE}</style>${markupHtml(list)}`,
    text,
  };
}
