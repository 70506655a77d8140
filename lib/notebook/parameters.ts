/** Parameters of a notebook: typed by the cell tagged `parameters`, injected as a cell after it. */
import { textOf, linesOf, type Cell, type CodeCell, type Notebook } from './nbformat.js';

export type ParameterValue =
  string | number | boolean | null | ParameterValue[] | { [key: string]: ParameterValue };
export type Parameters = Record<string, ParameterValue>;

/** `json`: a list or an object; `any`: what the declaration leaves open, such as `null` or a computed default. */
export type ParameterKind = 'string' | 'number' | 'boolean' | 'json' | 'any';

interface Declaration {
  kind: ParameterKind;
  /** The type as written, if any. */
  annotation: string | undefined;
  /** The default as written; of a default of several lines only the first. */
  source: string;
}

const STRING = String.raw`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\`(?:[^\`\\]|\\.)*\``;
/** One declaration a line. A string is read as a whole, for it may hold `//`. */
const DECLARATION = new RegExp(
  String.raw`^\s*(?:let|const|var)\s+([A-Za-z_$][\w$]*)\s*(?::([^=\n]+))?=\s*(${STRING}|.+?);?\s*(?:\/\/.*)?$`,
  'gm',
);
const IS_STRING = new RegExp(`^(?:${STRING})$`);

function declarations(notebook: Notebook): Map<string, Declaration> {
  const cell = notebook.cells.find(isParameterCell);
  const matches = (cell ? textOf(cell.source) : '').matchAll(DECLARATION);
  return new Map(
    Array.from(matches, ([, name, type, source]) => {
      const annotation = type?.trim();
      return [name, { kind: kindOf(annotation, source), annotation, source }];
    }),
  );
}

function kindOf(annotation: string | undefined, source: string): ParameterKind {
  if (annotation === 'string' || annotation === 'number' || annotation === 'boolean') return annotation;
  if (IS_STRING.test(source)) return 'string';
  if (/^(?:true|false)$/.test(source)) return 'boolean';
  if (/^[[{]/.test(source)) return 'json';
  return Number.isFinite(Number(source.replaceAll('_', ''))) ? 'number' : 'any';
}

/** The parameters that a notebook declares, with the kind of their defaults. */
export function declaredParameters(notebook: Notebook): Map<string, ParameterKind> {
  return new Map(Array.from(declarations(notebook), ([name, { kind }]) => [name, kind]));
}

/** The texts that parameters have when the notebook runs: those of `given`, and defaults written as plain text. */
export function textParameters(notebook: Notebook, given: Parameters): Map<string, string> {
  const texts = new Map<string, string>();
  for (const [name, { source }] of declarations(notebook)) {
    const value = given[name] ?? /^(['"`])([^\\]*)\1$/.exec(source)?.[2];
    if (typeof value === 'string') texts.set(name, value);
  }
  return texts;
}

/**
 * Reads `name=value` of a command line as the type that the notebook declares for `name`: text as it is, numbers,
 * `true` or `false`, JSON for lists and objects. Where the type is open, JSON if it is that, else text.
 * @throws Error naming the parameter and its type when the value is of another
 */
export function parseParameters(assignments: readonly string[], notebook: Notebook): Parameters {
  const declared = declaredParameters(notebook);
  return Object.fromEntries(
    assignments.map((assignment) => {
      const [, name, text] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
      if (name === undefined) throw new Error(`Expected a parameter as name=value, but got ${assignment}.`);
      return [name, parseValue(name, text, declared.get(name) ?? 'any')];
    }),
  );
}

function parseValue(name: string, text: string, kind: ParameterKind): ParameterValue {
  if (kind === 'string') return text;
  if (kind === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  if (kind === 'number' && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
  const value = kind === 'json' || kind === 'any' ? parseJson(text) : undefined;
  if (kind === 'any') return value === undefined ? text : value;
  if (value !== undefined && isOfKind(value, kind)) return value;
  throw new Error(`Expected ${name} to be ${describeKind(kind)}, but got ${text}.`);
}

/** The value of a JSON text, or undefined where it is none. */
function parseJson(text: string): ParameterValue | undefined {
  try {
    return JSON.parse(text) as ParameterValue;
  } catch {
    return undefined;
  }
}

function isOfKind(value: ParameterValue, kind: ParameterKind): boolean {
  if (kind === 'any') return true;
  return kind === 'json' ? typeof value === 'object' && value !== null : typeof value === kind;
}

const describeKind = (kind: ParameterKind): string =>
  kind === 'json' ? 'a list or an object in JSON, such as [1, 2] or {"a": 1}' : `a ${kind}`;

/**
 * A copy of the notebook with a cell of `parameters` after the one tagged `parameters`; an earlier such cell is
 * replaced. Throws for a name that the notebook does not declare, or a value of another type.
 */
export function injectParameters(notebook: Notebook, parameters: Parameters): Notebook {
  const cells = notebook.cells.filter((cell) => !cell.metadata.tags?.includes('injected-parameters'));
  if (Object.keys(parameters).length === 0) return { ...notebook, cells };
  const declared = declarations(notebook);
  const lines = Object.entries(parameters).map(([name, value]) => assignment(name, value, declared));
  const position = cells.findIndex(isParameterCell) + 1;
  return { ...notebook, cells: [...cells.slice(0, position), injectedCell(lines), ...cells.slice(position)] };
}

/** The line that gives a parameter its value, with the type that its declaration has. */
function assignment(name: string, value: ParameterValue, declared: Map<string, Declaration>): string {
  const declaration = declared.get(name);
  if (!declaration) {
    const known = [...declared.keys()].join(', ') || 'none';
    throw new Error(
      `Expected ${name} to be declared in the cell tagged "parameters", which declares ${known}.`,
    );
  }
  const { kind, annotation } = declaration;
  if (!isOfKind(value, kind))
    throw new Error(`Expected ${name} to be ${describeKind(kind)}, but got ${JSON.stringify(value)}.`);
  const type = annotation ?? (kind === 'json' || kind === 'any' ? undefined : kind);
  return `let ${name}${type ? `: ${type}` : ''} = ${JSON.stringify(value)};`;
}

function isParameterCell(cell: Cell): boolean {
  return cell.cell_type === 'code' && (cell.metadata.tags?.includes('parameters') ?? false);
}

function injectedCell(lines: readonly string[]): CodeCell {
  return {
    cell_type: 'code',
    id: 'injected-parameters',
    metadata: { tags: ['injected-parameters'] },
    source: linesOf(lines.join('\n')),
    execution_count: null,
    outputs: [],
  };
}
