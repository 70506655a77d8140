/**
 * What a kernel sends becomes outputs of cells, as nbformat wants them, and text in a
 * terminal as it comes.
 */
import { isJsonMime, linesOf, textOf, type CellOutput } from './nbformat.js';
import type { KernelOutput } from './kernel.js';

type Display = Extract<CellOutput, { output_type: 'display_data' }>;

/**
 * A function that adds what a kernel sends to the outputs of its cell: streams are
 * joined, an updated display changes where it was first shown, also in an earlier cell.
 */
export function outputCollector(): (outputs: CellOutput[], output: KernelOutput) => void {
  const displays = new Map<unknown, Display[]>();
  return (outputs, { type, content }) => {
    if (type === 'stream') return addStream(outputs, content);
    const shown = displayOf(content);
    const id = (content.transient as { display_id?: unknown } | undefined)?.display_id;
    const known = displays.get(id) ?? [];
    if (type === 'update_display_data') {
      for (const earlier of known) Object.assign(earlier, shown);
      return;
    }
    outputs.push(shown);
    if (id !== undefined) displays.set(id, [...known, shown]);
  };
}

function addStream(outputs: CellOutput[], content: KernelOutput['content']): void {
  const name = content.name === 'stderr' ? 'stderr' : 'stdout';
  const text = String(content.text);
  const last = outputs.at(-1);
  if (last?.output_type === 'stream' && last.name === name)
    last.text = linesOf(textOf(last.text) + text);
  else outputs.push({ output_type: 'stream', name, text: linesOf(text) });
}

/**
 * JSON stays as it is, texts become lists of lines; nbformat allows nothing else under
 * other MIME types.
 */
function displayOf({ data = {}, metadata = {} }: KernelOutput['content']): Display {
  const lines = Object.entries(data as Display['data']).map(([mime, value]) => {
    if (isJsonMime(mime)) return [mime, value];
    return [mime, linesOf(typeof value === 'string' ? value : JSON.stringify(value))];
  });
  const shown = Object.fromEntries(lines) as Display['data'];
  return { output_type: 'display_data', data: shown, metadata: metadata as Display['metadata'] };
}

/**
 * Takes text as it comes; `stream` is where it belongs: progress and cells' errors to
 * stderr, their output to stdout.
 */
export type Log = (text: string, stream: 'stdout' | 'stderr') => void;

export interface LiveLog {
  /** A line of progress; it begins on a line of its own. */
  progress(line: string): void;
  /**
   * What a cell printed or shows, as far as a terminal can show it: indented below the
   * progress.
   */
  output(output: KernelOutput): void;
}

const INDENT = '        ';

export function createLiveLog(log: Log): LiveLog {
  let isLineStart = true;
  return {
    progress(line) {
      log(`${isLineStart ? '' : '\n'}${line}\n`, 'stderr');
      isLineStart = true;
    },
    output({ type, content }) {
      const text = textOfOutput({ type, content });
      if (text === '') return;
      const indented = text.replace(/\n(?=[^])/g, `\n${INDENT}`);
      log(
        `${isLineStart ? INDENT : ''}${indented}`,
        content.name === 'stderr' ? 'stderr' : 'stdout',
      );
      isLineStart = text.endsWith('\n');
    },
  };
}

/** Streams as they are, displays as their plain text. */
function textOfOutput({ type, content }: KernelOutput): string {
  if (type === 'stream') return String(content.text);
  const text = (content.data as Display['data'] | undefined)?.['text/plain'];
  return typeof text === 'string' ? text.replace(/\n?$/, '\n') : '';
}
