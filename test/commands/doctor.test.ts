import { describe, expect, it } from 'vitest';
import { runDoctor } from '../../lib/commands/doctor.js';
import type { Check, Diagnosis } from '../../lib/doctor/check.js';

const check = (status: Check['status'], required: boolean): Check => ({
  id: 'part',
  title: 'Part',
  status,
  required,
  detail: 'found',
});

async function doctor(checks: Check[], json = false): Promise<{ exitCode: number; text: string }> {
  let text = '';
  const exitCode = await runDoctor(
    { json },
    (part) => (text += part),
    async () => checks,
  );
  return { exitCode, text };
}

describe('doctor', () => {
  it('returns 1 exactly when something required is missing', async () => {
    expect((await doctor([check('ok', true), check('missing', false)])).exitCode).toBe(0);
    const { exitCode, text } = await doctor([check('missing', true)]);
    expect(exitCode).toBe(1);
    expect(text).toContain('Required, but missing: Part.');
  });

  it('prints the diagnosis as JSON', async () => {
    const checks = [check('ok', true), check('warning', false)];
    const { text } = await doctor(checks, true);
    expect(JSON.parse(text) as Diagnosis).toEqual({ ok: true, checks });
  });
});
