import { describe, expect, it } from 'vitest';
import { createLiveLog } from '../../lib/notebook/live.js';
import type { Message } from '../../lib/notebook/protocol.js';

const message = (msg_type: string, content: Record<string, unknown>): Message => ({
  header: { msg_id: 'a', msg_type, session: 's' },
  parent: {},
  content,
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
    live.output(message('status', {}));
    expect(text).toBe('        table\n');
  });
});
