import { describe, expect, it } from 'vitest';
import { createTranscript } from '../../lib/report/display.js';
import type { Trajectory } from '../../lib/rollout/trajectory.js';
import { INJECTION, syntheticQuestion, trajectoryLine } from '../pages/viewer/synthetic.js';

describe('createTranscript', () => {
  const question = { ...syntheticQuestion(0), question: `Which? ${INJECTION}` };
  const line = trajectoryLine(question, [{ queries: ['Town0', INJECTION] }], 'Town0');
  const { html, text } = createTranscript(line as Trajectory);

  it('shows every segment in order, with passages by sub-query', () => {
    const kinds = [...html.matchAll(/class="segment (\w+)"/g)].map(([, kind]) => kind);
    expect(kinds).toEqual(['prompt', 'think', 'search', 'information', 'think', 'answer']);
    expect(html).toContain('information for 2 sub-queries');
    expect(html).toContain('wiki-Town0 · score 7.250');
    expect(text).toMatch(
      /^\[prompt\] Answer with search\.[^]*\[policy\] .*<answer> Town0 <\/answer>$/,
    );
  });

  it('escapes everything', () => {
    expect(html).not.toContain('<img');
    expect(html).not.toContain('<script');
    expect(html).toContain('&lt;img src=x');
  });
});
