/** Small notebooks for tests. */
import { writeFileSync } from 'node:fs';
import type { Cell, Notebook } from '../../lib/notebook/nbformat.js';

/** A code cell; a list of tags may follow. */
export function code(source: string, ...tags: string[]): Cell {
  return { cell_type: 'code', metadata: { tags }, source, execution_count: 7, outputs: [] };
}

export function markdown(source: string): Cell {
  return { cell_type: 'markdown', metadata: {}, source };
}

export function notebookOf(...cells: Cell[]): Notebook {
  const kernelspec = { display_name: 'TypeScript', language: 'typescript', name: 'tslab' };
  return { nbformat: 4, nbformat_minor: 5, metadata: { kernelspec }, cells };
}

/** Writes a notebook of these cells and returns the file's name. */
export function writeCells(file: string, ...cells: Cell[]): string {
  writeFileSync(file, JSON.stringify(notebookOf(...cells)));
  return file;
}
