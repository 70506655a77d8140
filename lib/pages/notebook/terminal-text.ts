/** What a terminal shows of a text with control characters. */
import { stripVTControlCharacters } from 'node:util';

/** A line as a terminal shows it: text after a carriage return overwrites its start. */
const overwrite = (line: string): string =>
  line
    .split('\r')
    .reduceRight((shown, earlier) =>
      earlier.length > shown.length ? shown + earlier.slice(shown.length) : shown,
    );

/** Applies backspaces, which remove the character before them in the line. */
function erase(text: string): string {
  const kept: string[] = [];
  for (const character of text)
    if (character !== '\b') kept.push(character);
    else if (kept.length > 0 && kept.at(-1) !== '\n') kept.pop();
  return kept.join('');
}

/** Erase the line, or all of it if at its start. */
const ERASED = /\p{Cc}\[2K|\r\p{Cc}\[0?K/u;

/** Terminal text without colours, and progress bars in their last state. */
export function terminalText(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const plain = stripVTControlCharacters(lines.map((line) => line.split(ERASED).at(-1)).join('\n'));
  const shown = plain.includes('\b') ? erase(plain) : plain;
  return shown.split('\n').map(overwrite).join('\n');
}
