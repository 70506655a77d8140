import { describe, expect, it } from 'vitest';
import { diagnose, formatDiagnosis, type Check } from '../../lib/doctor/check.js';

const check = (status: Check['status'], required: boolean, remedy?: string): Check => ({
  id: 'part',
  title: 'Part',
  status,
  required,
  detail: 'what was found',
  remedy,
});

describe('diagnose', () => {
  it('fails on what is missing and required, on nothing else', () => {
    expect(diagnose([check('ok', true), check('missing', false), check('warning', true)]).ok).toBe(true);
    expect(diagnose([check('ok', false), check('missing', true)]).ok).toBe(false);
  });
});

describe('formatDiagnosis', () => {
  it('gives each check a line, its remedy below, and a verdict', () => {
    const text = formatDiagnosis(diagnose([check('ok', true), check('missing', true, 'Do this.')]));
    expect(text.split('\n')).toEqual([
      'ok       Part  what was found',
      'MISSING  Part  what was found',
      '               -> Do this.',
      '',
      'Required, but missing: Part.',
      '',
    ]);
    expect(formatDiagnosis(diagnose([check('missing', false)]))).toContain('absent   Part');
  });
});
