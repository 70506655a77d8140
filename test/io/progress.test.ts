import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startProgress } from '../../lib/io/progress.js';

describe('startProgress where there is no terminal', () => {
  let lines: string[];
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
    lines = [];
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
    process.stderr.isTTY = false;
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  const after = (seconds: number): void => void vi.advanceTimersByTime(seconds * 1000);

  it('writes a line every ten seconds and one at the end', () => {
    const progress = startProgress('Test', 100);
    after(5);
    progress.update(5);
    after(5);
    progress.update(10, 'here');
    after(1);
    progress.update(100);
    expect(lines).toEqual(['Test: 10/100, 1 min 30 s left, here\n', 'Test: 100/100, 0 s left\n']);
  });

  it.each([
    ['counts from what was done before', 80, 90, '10 s'],
    ['says that it does not know while nothing has been done', 0, 0, '?'],
  ])('%s', (_, first, done, left) => {
    const progress = startProgress('Test', 100, first);
    after(10);
    progress.update(done);
    expect(lines).toEqual([`Test: ${done}/100, ${left} left\n`]);
  });

  it('forgets after two minutes what came at a go', () => {
    const progress = startProgress('Test', 1000);
    after(10);
    progress.update(500);
    for (let done = 501; done <= 520; done++) {
      after(10);
      progress.update(done);
    }
    expect(lines[0]).toBe('Test: 500/1000, 10 s left\n');
    expect(lines.at(-1)).toBe('Test: 520/1000, 80 min 0 s left\n');
  });
});
