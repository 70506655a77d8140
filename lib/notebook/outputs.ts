/** Turns a kernel's messages into the outputs of cells, as nbformat wants them. */
import { isJsonMime, linesOf, textOf, type CellOutput } from './nbformat.js';
import type { Message } from './protocol.js';

export interface OutputCollector {
  /** Takes in one message that belongs to cell `id`. */
  add(id: string, message: Message): void;
  /** What a cell has shown so far. */
  of(id: string): CellOutput[];
}

type Display = Extract<CellOutput, { output_type: 'display_data' }>;

/** Collects outputs by cell: streams are joined, an updated display changes where it was first shown. */
export function collectOutputs(): OutputCollector {
  const outputs = new Map<string, CellOutput[]>();
  const displays = new Map<string, Display[]>();
  const listOf = (id: string): CellOutput[] => {
    if (!outputs.has(id)) outputs.set(id, []);
    return outputs.get(id)!;
  };
  return {
    of: (id) => listOf(id),
    add(id, { header, content }) {
      if (header.msg_type === 'stream') addStream(listOf(id), content);
      if (header.msg_type !== 'display_data' && header.msg_type !== 'update_display_data') return;
      const shown = displayOf(content);
      const displayId = displayIdOf(content);
      const known = displays.get(displayId) ?? [];
      if (header.msg_type === 'update_display_data') {
        for (const earlier of known) Object.assign(earlier, shown);
        return;
      }
      listOf(id).push(shown);
      if (displayId) displays.set(displayId, [...known, shown]);
    },
  };
}

function addStream(outputs: CellOutput[], content: Message['content']): void {
  const name = content.name === 'stderr' ? 'stderr' : 'stdout';
  const text = String(content.text);
  const last = outputs.at(-1);
  if (last?.output_type === 'stream' && last.name === name) last.text = linesOf(textOf(last.text) + text);
  else outputs.push({ output_type: 'stream', name, text: linesOf(text) });
}

/** JSON stays as it is, texts become lists of lines; nbformat allows nothing else under other MIME types. */
function displayOf(content: Message['content']): Display {
  const data = Object.entries((content.data ?? {}) as Record<string, unknown>).map(([mime, value]) => {
    if (isJsonMime(mime)) return [mime, value];
    return [mime, linesOf(typeof value === 'string' ? value : JSON.stringify(value))];
  });
  const metadata = (content.metadata ?? {}) as Record<string, unknown>;
  return { output_type: 'display_data', data: Object.fromEntries(data) as Record<string, unknown>, metadata };
}

function displayIdOf(content: Message['content']): string {
  const id = (content.transient as { display_id?: unknown } | undefined)?.display_id;
  return typeof id === 'string' ? id : '';
}
