import { beforeEach, describe, expect, it, vi } from 'vitest';
import { startProgress } from '../../lib/io/progress.js';

describe('startProgress without a terminal', () => {
  let lines: string[];
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] });
    lines = [];
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
    process.stderr.isTTY = false;
  });
  const after = (seconds: number): void => void vi.advanceTimersByTime(seconds * 1000);

  it('writes a line every ten seconds and at the end', () => {
    const progress = startProgress('Test', 100);
    after(5);
    progress.update(5, 'here');
    after(15);
    progress.update(100);
    progress.update(100, 'told again');
    after(60);
    expect(lines).toEqual(['Test: 5/100, 3 min 10 s left, here\n', 'Test: 100/100, 0 s left\n']);
  });

  it('estimates slow items from the last one, and only repeats a line every minute', () => {
    const progress = startProgress('Test', 3);
    after(200);
    progress.update(1);
    after(80);
    progress.update(2);
    after(10);
    expect(lines).toEqual([
      'Test: 0/3, ? left\n',
      'Test: 0/3, ? left\n',
      'Test: 0/3, ? left\n',
      'Test: 0/3, ? left\n',
      'Test: 1/3, 7 min 0 s left\n',
      'Test: 1/3, 6 min 0 s left\n',
      'Test: 2/3, 2 min 25 s left\n',
    ]);
  });

  it('writes nothing after stop', () => {
    const progress = startProgress('Test', 100);
    progress.stop();
    after(60);
    expect(lines).toEqual([]);
  });

  it.each([
    ['starts at the items done before', 80, 90, '10 s'],
    ['gives no estimate before the first item', 0, 0, '?'],
  ])('%s', (_, first, done, left) => {
    const progress = startProgress('Test', 100, first);
    progress.update(done);
    after(10);
    expect(lines).toEqual([`Test: ${done}/100, ${left} left\n`]);
  });

  it('forgets a burst after two minutes', () => {
    const progress = startProgress('Test', 1000);
    progress.update(500);
    after(10);
    for (let done = 501; done <= 520; done++) {
      progress.update(done);
      after(10);
    }
    expect(lines[0]).toBe('Test: 500/1000, 10 s left\n');
    expect(lines.at(-1)).toBe('Test: 520/1000, 80 min 0 s left\n');
  });
});

describe('startProgress on a terminal', () => {
  let text: string;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
    text = '';
    vi.spyOn(process.stderr, 'write').mockImplementation((part) => Boolean((text += String(part))));
    process.stderr.isTTY = true;
    process.stderr.columns = 90;
    return () => (process.stderr.isTTY = false);
  });

  it('redraws one line that fits, and sets no mode that Ctrl-C would leave behind', () => {
    const progress = startProgress('Test', 10, 4);
    vi.advanceTimersByTime(120_000);
    progress.update(8, 'reward 0.50');
    progress.update(9, 'x'.repeat(90));
    progress.stop();
    const [start, ...redrawn] = text.split('\r').slice(1);
    const bar = (length: number): string => '='.repeat(length).padEnd(40, '-');
    expect(start).toBe(`Test ${bar(16)} 4/10, ? left\x1b[K`);
    expect(redrawn).toEqual([
      `Test ${bar(32)} 8/10, 1 min 0 s left, reward 0.50\x1b[K`,
      `${`Test ${bar(36)} 9/10, 24 s left, ${'x'.repeat(90)}`.slice(0, 89)}\x1b[K\n`,
    ]);
  });
});
