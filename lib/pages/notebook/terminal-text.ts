/** What a terminal shows of a text with control characters. */
import { stripVTControlCharacters } from 'node:util';

/** Carriage return, backspace, and the codes that erase a line or the rest of it. */
const CONTROLS = /(\r|[\b]|\p{Cc}\[[02]?K)/u;

/** A line as a terminal shows it: text overwrites what is at the cursor. */
function shownLine(line: string): string {
  const parts = line.split(CONTROLS);
  if (parts.length === 1) return stripVTControlCharacters(line);
  const shown: string[] = [];
  let cursor = 0;
  for (const [i, part] of parts.entries()) {
    if (i % 2 === 0) for (const letter of stripVTControlCharacters(part)) shown[cursor++] = letter;
    else if (part === '\r') cursor = 0;
    else if (part === '\b') cursor = Math.max(0, cursor - 1);
    else if (part.includes('2')) shown.fill(' ');
    else shown.length = cursor;
  }
  return shown.join('').trimEnd();
}

/** Terminal text without colours, and progress bars in their last state. */
export const terminalText = (text: string): string =>
  text.replaceAll('\r\n', '\n').split('\n').map(shownLine).join('\n');
