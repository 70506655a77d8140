import { describe, expect, it } from 'vitest';
import type { CellOutput } from '../../lib/notebook/nbformat.js';
import { createLiveLog, outputCollector } from '../../lib/notebook/outputs.js';
import type { KernelOutput } from '../../lib/notebook/kernel.js';

const message = (type: KernelOutput['type'], content: KernelOutput['content']): KernelOutput => ({
  type,
  content,
});

it('an updated display changes in the cell that has shown it, and no other display does', () => {
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
  it('indents the output of cells, also when a line comes in pieces, and begins progress on a new line', () => {
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

  it('shows of a display its text, and nothing of one that has none', () => {
    let text = '';
    const live = createLiveLog((part) => (text += part));
    live.output(message('display_data', { data: { 'text/plain': 'table', 'text/html': '<b>' } }));
    live.output(message('display_data', { data: { 'text/html': '<b>' } }));
    expect(text).toBe('        table\n');
  });
});
