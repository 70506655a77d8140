/** The styles of pages, each in a file next to the module that uses it. */
import { readFileSync } from 'node:fs';

export const readStyles = (file: string, module: string): string =>
  readFileSync(new URL(file, module), 'utf8');

export const SEGMENT_STYLE = readStyles('segments.css', import.meta.url);

/** Light and dark colours of segments and verdicts. */
const KIND_COLORS = {
  think: ['#6b4fbb', '#c3b1ff'],
  search: ['#0b6e4f', '#6fd6ae'],
  information: ['#57606a', '#a3adba'],
  answer: ['#0b5cad', '#7ab8ff'],
  bad: ['#b42318', '#ff9d92'],
  good: ['#0b6e4f', '#6fd6ae'],
} as const;

const kindColors = (print: (light: string, dark: string) => string): string =>
  Object.entries(KIND_COLORS)
    .map(([kind, [light, dark]]) => `--${kind}: ${print(light, dark)};`)
    .join(' ');

/** Colours of segments and verdicts in a page, light and dark. */
export const KIND_STYLE = `
:root { ${kindColors((light) => light)} --tint: 7%; }
@media screen and (prefers-color-scheme: dark) {
  :root { ${kindColors((_, dark) => dark)} --tint: 14%; }
}
`;

/** Styles for segments in notebook front ends, which announce a dark theme. */
export const TRANSCRIPT_STYLE = `
.ps-transcript {
  ${kindColors((light, dark) => `light-dark(${light}, ${dark})`)} --tint: 9%;
  ${SEGMENT_STYLE}
}
[data-jp-theme-light=false] .ps-transcript, .vscode-dark .ps-transcript { color-scheme: dark; }
`;
