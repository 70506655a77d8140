/** Converts a kernel's messages to cell outputs in nbformat, and to terminal text. */
import type { KernelOutput } from './kernel.js';
import { isJsonMime, splitLines, joinLines, type CellOutput } from './nbformat.js';

type Display = Extract<CellOutput, { output_type: 'display_data' }>;

/**
 * Returns a function that adds a kernel's messages to a cell's outputs. Streams are
 * joined; an update of a display changes all cells that show it.
 */
export function outputCollector(): (outputs: CellOutput[], output: KernelOutput) => void {
  const displays = new Map<unknown, Display[]>();
  return (outputs, { type, content }) => {
    if (type === 'stream') return addStream(outputs, content);
    const display = displayOutput(content);
    const id = (content.transient as { display_id?: unknown } | undefined)?.display_id;
    const sameId = displays.get(id) ?? [];
    if (type === 'update_display_data') {
      for (const earlier of sameId) Object.assign(earlier, display);
      return;
    }
    outputs.push(display);
    if (id !== undefined) displays.set(id, [...sameId, display]);
  };
}

function addStream(outputs: CellOutput[], content: KernelOutput['content']): void {
  const name = content.name === 'stderr' ? 'stderr' : 'stdout';
  const text = String(content.text);
  const last = outputs.at(-1);
  if (last?.output_type === 'stream' && last.name === name)
    last.text = splitLines(joinLines(last.text) + text);
  else outputs.push({ output_type: 'stream', name, text: splitLines(text) });
}

/** Outputs with consecutive parts of a stream joined: nbclient writes each on its own. */
export function joinStreams(outputs: readonly CellOutput[]): CellOutput[] {
  const joined: CellOutput[] = [];
  for (const output of outputs)
    if (output.output_type !== 'stream') joined.push(output);
    else addStream(joined, { name: output.name, text: joinLines(output.text) });
  return joined;
}

/** nbformat has JSON under JSON MIME types, and lists of lines under all others. */
function displayOutput({ data = {}, metadata = {} }: KernelOutput['content']): Display {
  const entries = Object.entries(data as Display['data']).map(([mime, value]) => {
    if (isJsonMime(mime)) return [mime, value];
    return [mime, splitLines(typeof value === 'string' ? value : JSON.stringify(value))];
  });
  return {
    output_type: 'display_data',
    data: Object.fromEntries(entries) as Display['data'],
    metadata: metadata as Display['metadata'],
  };
}

/** Everything that a cell has written to stderr. */
export const stderrText = (outputs: readonly CellOutput[]): string =>
  outputs
    .flatMap((output) =>
      output.output_type === 'stream' && output.name === 'stderr' ? joinLines(output.text) : [],
    )
    .join('')
    .trim();

/** Receives text as it arrives: progress and errors for stderr, the rest for stdout. */
export type Log = (text: string, stream: 'stdout' | 'stderr') => void;

export const toTerminal: Log = (text, stream) => void process[stream].write(text);

export interface LiveLog {
  /** Writes a line of progress, on a new line. */
  progress(line: string): void;
  /** Writes what a cell prints or shows as text, indented. */
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
    output(output) {
      const text = plainText(output);
      if (text === '') return;
      const stream = output.content.name === 'stderr' ? 'stderr' : 'stdout';
      log(`${isLineStart ? INDENT : ''}${text.replace(/\n(?=[^])/g, `\n${INDENT}`)}`, stream);
      isLineStart = text.endsWith('\n');
    },
  };
}

function plainText({ type, content }: KernelOutput): string {
  if (type === 'stream') return String(content.text);
  const text = (content.data as Display['data'] | undefined)?.['text/plain'];
  return typeof text === 'string' ? text.replace(/\n?$/, '\n') : '';
}
