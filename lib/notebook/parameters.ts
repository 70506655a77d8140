/** Parameters of a notebook: typed by the cell tagged `parameters`, injected as a cell after it. */
import { textOf, linesOf, type Cell, type CodeCell, type Notebook } from './nbformat.js';

export type ParameterValue = string | number | boolean;
export type Parameters = Record<string, ParameterValue>;

const DECLARATION = /^\s*(?:let|const|var)\s+([A-Za-z_$][\w$]*)\s*(?::[^=]+)?=\s*(.+?);?\s*(?:\/\/.*)?$/gm;

/** The parameters that a notebook declares, with the kind of their defaults. */
export function declaredParameters(notebook: Notebook): Map<string, 'string' | 'number' | 'boolean'> {
  const cell = notebook.cells.find(isParameterCell);
  const declared = new Map<string, 'string' | 'number' | 'boolean'>();
  for (const [, name, value] of (cell ? textOf(cell.source) : '').matchAll(DECLARATION)) {
    if (/^['"`]/.test(value)) declared.set(name, 'string');
    else if (/^(true|false)$/.test(value)) declared.set(name, 'boolean');
    else if (Number.isFinite(Number(value))) declared.set(name, 'number');
  }
  return declared;
}

/** Reads `name=value` of a command line as the type that the notebook declares for `name`. */
export function parseParameters(assignments: readonly string[], notebook: Notebook): Parameters {
  const declared = declaredParameters(notebook);
  return Object.fromEntries(
    assignments.map((assignment) => {
      const [, name, text] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
      if (name === undefined) throw new Error(`Expected a parameter as name=value, but got ${assignment}.`);
      return [name, parseValue(name, text, declared.get(name))];
    }),
  );
}

function parseValue(
  name: string,
  text: string,
  kind: 'string' | 'number' | 'boolean' | undefined,
): ParameterValue {
  if (kind === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  if (kind === 'number' && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
  if (kind === 'number' || kind === 'boolean')
    throw new Error(`Expected ${name} to be a ${kind}, but got ${text}.`);
  return text;
}

/**
 * A copy of the notebook with a cell of `parameters` after the one tagged `parameters`; an earlier such cell is
 * replaced. Throws for a name that the notebook does not declare, or a value of another type.
 */
export function injectParameters(notebook: Notebook, parameters: Parameters): Notebook {
  const cells = notebook.cells.filter((cell) => !cell.metadata.tags?.includes('injected-parameters'));
  if (Object.keys(parameters).length === 0) return { ...notebook, cells };
  const declared = declaredParameters(notebook);
  for (const [name, value] of Object.entries(parameters)) {
    const kind = declared.get(name);
    if (kind === undefined) {
      const known = [...declared.keys()].join(', ') || 'none';
      throw new Error(
        `Expected ${name} to be declared in the cell tagged "parameters", which declares ${known}.`,
      );
    }
    if (kind !== typeof value)
      throw new Error(`Expected ${name} to be a ${kind}, but got ${JSON.stringify(value)}.`);
  }
  const position = cells.findIndex(isParameterCell) + 1;
  return {
    ...notebook,
    cells: [...cells.slice(0, position), injectedCell(parameters), ...cells.slice(position)],
  };
}

function isParameterCell(cell: Cell): boolean {
  return cell.cell_type === 'code' && (cell.metadata.tags?.includes('parameters') ?? false);
}

function injectedCell(parameters: Parameters): CodeCell {
  const lines = Object.entries(parameters).map(
    ([name, value]) => `let ${name}: ${typeof value} = ${JSON.stringify(value)};`,
  );
  return {
    cell_type: 'code',
    id: 'injected-parameters',
    metadata: { tags: ['injected-parameters'] },
    source: linesOf(lines.join('\n')),
    execution_count: null,
    outputs: [],
  };
}
