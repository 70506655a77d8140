import { describe, expect, it } from 'vitest';
import { createLiveLog, outputCollector } from '../../lib/notebook/kernel-outputs.js';
import type { KernelOutput } from '../../lib/notebook/kernel.js';
import type { CellOutput } from '../../lib/notebook/nbformat.js';

const message = (type: KernelOutput['type'], content: KernelOutput['content']): KernelOutput => {
  return { type, content };
};

it('an update changes the display with its id, in the cell that shows it', () => {
  const collect = outputCollector();
  const [first, second]: CellOutput[][] = [[], []];
  const display = (text: string, id?: string) => ({
    data: { 'text/plain': text, 'application/a+json': { a: 1 } },
    metadata: {},
    transient: id ? { display_id: id } : {},
  });
  collect(first, message('display_data', display('old', 'x')));
  collect(first, message('display_data', display('other')));
  collect(second, message('update_display_data', display('new\nlines', 'x')));
  expect(second).toEqual([]);
  expect(first.map((output) => 'data' in output && output.data)).toEqual([
    { 'text/plain': ['new\n', 'lines'], 'application/a+json': { a: 1 } },
    { 'text/plain': ['other'], 'application/a+json': { a: 1 } },
  ]);
});

describe('live log', () => {
  it('indents output, also of partial lines, and starts progress on a new line', () => {
    const written: [string, string][] = [];
    const live = createLiveLog((text, stream) => void written.push([stream, text]));
    live.progress('[1/1] cell');
    live.output(message('stream', { name: 'stdout', text: 'a' }));
    live.output(message('stream', { name: 'stderr', text: 'b\nc' }));
    live.progress('done');
    expect(written).toEqual([
      ['stderr', '[1/1] cell\n'],
      ['stdout', '        a'],
      ['stderr', 'b\n        c'],
      ['stderr', '\ndone\n'],
    ]);
  });

  it('shows the plain text of a display, if any', () => {
    let text = '';
    const live = createLiveLog((part) => (text += part));
    live.output(message('display_data', { data: { 'text/plain': 'table', 'text/html': '<b>' } }));
    live.output(message('display_data', { data: { 'text/html': '<b>' } }));
    expect(text).toBe('        table\n');
  });
});
