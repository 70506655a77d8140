import { describe, expect, it } from 'vitest';
import { describeQuestions, openingBundle, setupText } from '../../lib/report/result.js';
import type { About, Prediction } from '../../lib/report/result.js';

const ABOUT: About = { finding: '', summary: 'Some answers.', provenance: {} };
const plain = (about: Partial<About>): string =>
  openingBundle({ ...ABOUT, ...about })['text/plain'];
const prediction = (prediction: string, holds: Prediction['holds']) => {
  return { prediction, found: '0.5 [0.4, 0.6]', holds };
};

describe('the introduction of a report', () => {
  it('names the questions and the commit that drew them', () => {
    expect(describeQuestions({ questions: 'dev: no test' })).toContain('dev: no test');
    const drawn = { questions: 'test', testDrawnFrom: '0123456789abcdef' };
    expect(describeQuestions(drawn)).toMatch(/test.*0123456789ab\)/);
    expect(describeQuestions({})).toBe('');
  });

  it('puts answers, questions and seeds at the end', () => {
    const provenance = { questions: 'dev: no test', warmUps: [1, 2], seeds: [1] };
    const text = setupText({ ...ABOUT, provenance });
    expect(text).toMatch(/^Some answers\. .*dev: no test.*2 seeds.*1 seed\./);
    // Other reports count something else in these fields.
    expect(setupText({ ...ABOUT, provenance: { warmUps: 3, seeds: [1] } })).toBe('Some answers.');
  });

  it('starts with the finding or else the summary, with a short name of the questions', () => {
    const finding = 'It is better: 0.5 [0.4, 0.6].';
    const text = plain({ finding, provenance: { questions: 'dev, looked at: no test' } });
    expect(text.split('\n')[0]).toBe(finding);
    expect(text).toMatch(/Small world.*dev, looked at\.$/);
    const ofModel = plain({ finding, provenance: { model: 'SmolLM2', questions: 'test: ten' } });
    expect(ofModel).toMatch(/SmolLM2.*test\.$/);
    expect(plain({})).toBe('Some answers.');
  });

  it('lists only failed predictions', () => {
    const predictions = [prediction('A <', false), prediction('B', true)];
    expect(plain({ predictions })).toMatch(/\n1 of 2 .*\n- A <: 0\.5 \[0\.4, 0\.6\]$/);
    expect(openingBundle({ ...ABOUT, predictions })['text/html']).toContain(
      '<details><summary>1 of 2 predictions failed</summary><ul><li>A &lt;: 0.5 [0.4, 0.6]</li>',
    );
    expect(plain({ predictions: [prediction('B', true)] })).not.toContain('- B');
  });

  it('counts predictions based on one training separately', () => {
    const predictions = [prediction('A', false), prediction('B', 'one training')];
    expect(plain({ predictions })).toMatch(/\n.* failed:\n- A: .*\n1 prediction .*\n- B: /);
    expect(plain({ predictions: predictions.slice(1) })).not.toContain('hold');
  });
});
