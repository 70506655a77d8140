/** What a terminal shows while a notebook runs: progress, and below it the output of cells, indented. */
import type { Message } from './protocol.js';

/** Takes text as it comes; `stream` is where it belongs: progress and cells' errors to stderr, their output to stdout. */
export type Log = (text: string, stream: 'stdout' | 'stderr') => void;

export interface LiveLog {
  /** A line of progress; it begins on a line of its own. */
  progress(line: string): void;
  /** What a cell printed or shows, as far as a terminal can show it. */
  output(message: Message): void;
}

const INDENT = '        ';

export function createLiveLog(log: Log): LiveLog {
  let isLineStart = true;
  return {
    progress(line) {
      log(`${isLineStart ? '' : '\n'}${line}\n`, 'stderr');
      isLineStart = true;
    },
    output(message) {
      const text = textOfMessage(message);
      if (text === '') return;
      const indented = text.replace(/\n(?=[^])/g, `\n${INDENT}`);
      log(`${isLineStart ? INDENT : ''}${indented}`, message.content.name === 'stderr' ? 'stderr' : 'stdout');
      isLineStart = text.endsWith('\n');
    },
  };
}

/** Streams as they are, displays as their plain text. */
function textOfMessage({ header, content }: Message): string {
  if (header.msg_type === 'stream') return String(content.text);
  const text = (content.data as Record<string, unknown> | undefined)?.['text/plain'];
  return typeof text === 'string' ? text.replace(/\n?$/, '\n') : '';
}
