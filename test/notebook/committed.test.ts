/** The notebooks of the repository are valid and short; outputs are current. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, type FormatConfig } from 'oxfmt';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { codeCells, joinLines, readNotebook, splitLines } from '../../lib/notebook/nbformat.js';
import type { Notebook } from '../../lib/notebook/nbformat.js';
import { findStaleOutputs, MAX_STORED_BYTES } from '../../lib/notebook/stored-outputs.js';
import { shownResult } from '../../lib/pages/notebook/reports.js';

const MAX_LINES = 20;
const isBuilt = existsSync(fileURLToPath(new URL('../../dist/index.d.ts', import.meta.url)));
const folder = fileURLToPath(new URL('../../', import.meta.url));
const FORMAT = JSON.parse(readFileSync(path.join(folder, '.oxfmtrc.json'), 'utf8')) as FormatConfig;
const files = ['notebooks', 'data/templates', 'data/templates/project'].flatMap((place) =>
  readdirSync(path.join(folder, place))
    .filter((name) => name.endsWith('.ipynb'))
    .map((name) => path.join(place, name)),
);

/** Named functions with statements, and classes, which belong in the library. */
function definitionsIn(source: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const isInline =
      ts.isArrowFunction(node) && (!ts.isBlock(node.body) || ts.isCallExpression(node.parent));
    if ((ts.isFunctionLike(node) || ts.isClassLike(node)) && !isInline) found.push(node.getText());
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('cell.ts', source, ts.ScriptTarget.Latest, true));
  return found;
}

describe.each(files)('%s', (name) => {
  const file = path.join(folder, name);
  const text = readFileSync(file, 'utf8');
  const notebook = readNotebook(file);
  const sources = codeCells(notebook).map(({ source }) => joinLines(source));

  it('is nbformat 4.5 with cell ids, in the layout of Jupyter', () => {
    const raw = JSON.parse(text) as Notebook;
    expect([raw.nbformat, raw.nbformat_minor]).toEqual([4, 5]);
    for (const { id, source } of raw.cells) {
      expect(id).toBeDefined();
      expect(source).toEqual(splitLines(joinLines(source)));
    }
    expect(text).toBe(`${JSON.stringify(raw, null, 1)}\n`);
    // JupyterLab selects the kernel by name; VS Code highlights by language.
    expect(raw.metadata).toMatchObject({
      kernelspec: { name: 'tslab', language: 'typescript' },
      language_info: { name: 'typescript' },
    });
  });

  it('has formatted code', async () => {
    for (const source of sources)
      expect(`${source}\n`).toBe((await format('cell.ts', source, FORMAT)).code);
  });

  it('has no outputs, or small ones that match its cells and result', () => {
    const experiment = /^\d\d-(.+)\.ipynb$/.exec(path.basename(name))?.[1] ?? '';
    // The result is known once `npm start` has computed it.
    const result = shownResult(path.join(folder, 'reports'), experiment);
    const stale = findStaleOutputs(notebook, result);
    expect(stale, 'run npm start and commit the notebook').toBeNull();
    expect(text.length).toBeLessThanOrEqual(MAX_STORED_BYTES);
    const hasOutputs = codeCells(notebook).some(({ outputs }) => outputs.length > 0);
    if (hasOutputs) expect(name).toMatch(/^notebooks/);
  });

  it(`has cells of at most ${MAX_LINES} lines that define no functions`, () => {
    for (const source of sources) {
      expect(definitionsIn(source)).toEqual([]);
      expect(source.split('\n').length).toBeLessThanOrEqual(MAX_LINES);
    }
  });

  it('starts with a title and an introduction, and declares its parameters', () => {
    const [first] = notebook.cells;
    expect(first.cell_type).toBe('markdown');
    expect(joinLines(first.source)).toMatch(/^# .+\n\n\S/);
    const tagged = notebook.cells.filter(({ metadata }) => metadata.tags?.includes('parameters'));
    expect(tagged.length).toBeLessThanOrEqual(1);
  });
});

/**
 * The cells of a notebook as one module. Each cell is a block inside the previous cell's,
 * because a cell may declare a name again.
 */
function moduleOf(notebook: Notebook): string {
  const imports = new Set<string>();
  const cells = codeCells(notebook).map(({ source }) =>
    joinLines(source).replace(/^import .*;$/gm, (line) => (imports.add(line), '')),
  );
  return `${[...imports].join('\n')}\n${cells.map((cell) => `{${cell}`).join('\n')}${'}'.repeat(cells.length)}`;
}

it.skipIf(!isBuilt)("all notebooks compile against the package's types (needs dist/)", () => {
  const modules = new Map(
    files.map((name) => {
      const file = path.join(folder, name);
      return [file.replace(/ipynb$/, 'mts'), moduleOf(readNotebook(file))];
    }),
  );
  const libraries = { lib: ['ES2023', 'DOM'], types: ['node'], skipLibCheck: true };
  const strict = { target: 'ES2022', module: 'NodeNext', strict: true, noEmit: true };
  const { options } = ts.convertCompilerOptionsFromJson({ ...libraries, ...strict }, folder);
  const disk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...disk,
    readFile: (file) => modules.get(file) ?? disk.readFile(file),
    fileExists: (file) => modules.has(file) || disk.fileExists(file),
    getSourceFile: (file, version, ...rest) => {
      const text = modules.get(file);
      return text === undefined
        ? disk.getSourceFile(file, version, ...rest)
        : ts.createSourceFile(file, text, version);
    },
  };
  const program = ts.createProgram([...modules.keys()], options, host);
  const complaints = [...modules.keys()].flatMap((file) => {
    const source = program.getSourceFile(file);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  });
  expect(ts.formatDiagnostics(complaints, host)).toBe('');
});
