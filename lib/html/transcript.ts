/** One trajectory as HTML that needs no script, with the viewer's look. */
import type { SearchTurn, Trajectory } from '../rollout/trajectory.js';
import { escapeHtml } from './cells.js';
import type { TextSegment } from '../text/format.js';
import type { Markup, MarkupChild } from './markup.js';
import { segmentsMarkup } from './segments.js';
import { TRANSCRIPT_STYLE } from '../pages/viewer/styles.js';

/** What `display` shows of a trajectory. */
export interface Transcript {
  kind: 'transcript';
  html: string;
  text: string;
}

/** A markup as HTML; all texts in it are escaped. */
export function markupHtml({ name, attributes, children }: Markup): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== null && value !== false)
    .map(([key, value]) => (value === true ? ` ${key}` : ` ${key}="${escapeHtml(String(value))}"`));
  const html = (child: MarkupChild): string =>
    child === null ? '' : typeof child === 'string' ? escapeHtml(child) : markupHtml(child);
  return `<${name}${written.join('')}>${children.map(html).join('')}</${name}>`;
}

/** The list of a trajectory's segments. */
export function segmentsHtml(segments: readonly TextSegment[], turns: readonly SearchTurn[]): string {
  return markupHtml(segmentsMarkup(segments, turns));
}

/** A trajectory segment by segment, to be shown by `display`. */
export function transcriptOf({
  question,
  segments,
  searchTurns,
}: Pick<Trajectory, 'question' | 'segments' | 'searchTurns'>): Transcript {
  const label = `Rollout: ${question}`;
  const list = segmentsHtml(segments, searchTurns);
  const html = `<style>${TRANSCRIPT_STYLE}</style><div class="ps-transcript" role="group" aria-label="${escapeHtml(label)}">${list}</div>`;
  const text = segments.map(({ kind, text }) => `[${kind}] ${text.trim()}`).join('\n');
  return { kind: 'transcript', html, text };
}
