import { describe, expect, it } from 'vitest';
import type { Finding } from '../../lib/commands/doctor-backends.js';
import { runDoctor } from '../../lib/commands/doctor.js';
import type { Part } from '../../lib/commands/doctor.js';
import { captured } from './tiny-world.js';

const part = (title: string, required: boolean, check: () => Finding): Part => ({
  id: title.toLowerCase(),
  title,
  required,
  check,
  remedy: 'Do this.',
});
const good = part('Good', true, () => '1.0');
const slow = part('Slow', true, () => ({
  status: 'warning',
  detail: 'little',
  remedy: 'Do that.',
}));
const optional = part('Optional', false, () => ({ status: 'missing', detail: 'nothing' }));
const broken = part('Broken', true, () => {
  throw new Error('Cannot find it\nat line 3');
});

/** Runs the command; JSON comes back parsed. */
async function doctor(parts: Part[], json = false) {
  const printed = captured('stdout');
  const exitCode = await runDoctor({ json }, parts);
  return {
    exitCode,
    lines: printed().split('\n'),
    found: json ? (JSON.parse(printed()) as unknown) : null,
  };
}

describe('doctor', () => {
  it('prints one line per part with its remedy below, and a verdict', async () => {
    const { exitCode, lines } = await doctor([good, slow, optional]);
    expect(exitCode).toBe(0);
    expect(lines).toEqual([
      'ok       Good      1.0',
      'warning  Slow      little',
      '                   -> Do that.',
      'absent   Optional  nothing',
      '                   -> Do this.',
      '',
      'Everything required is installed.',
      '',
    ]);
  });

  it('returns 1 if something required cannot be loaded', async () => {
    const { exitCode, lines } = await doctor([broken, good]);
    expect(exitCode).toBe(1);
    expect(lines[0]).toBe('MISSING  Broken  Cannot find it');
    expect(lines.at(-2)).toBe('Missing: Broken.');
  });

  it('prints the diagnosis as JSON', async () => {
    const { found } = await doctor([good, optional], true);
    const checks = [
      { id: 'good', title: 'Good', required: true, status: 'ok', detail: '1.0' },
      {
        id: 'optional',
        title: 'Optional',
        required: false,
        status: 'missing',
        detail: 'nothing',
        remedy: 'Do this.',
      },
    ];
    expect(found).toEqual({ ok: true, checks });
  });
});
