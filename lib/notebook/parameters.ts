/**
 * Parameters as in papermill: the cell tagged `parameters` declares them with defaults,
 * and a cell tagged `injected-parameters` after it overrides them.
 */
import { runInNewContext } from 'node:vm';
import { parseJson, tryParseJson } from '../io/json.js';
import { hasTag, splitLines, joinLines, type Cell, type Notebook } from './nbformat.js';
import { loadTypeScript } from './tslab.js';

type ParameterValue =
  | string
  | number
  | boolean
  | null
  | ParameterValue[]
  | { [key: string]: ParameterValue };
export type Parameters = Record<string, ParameterValue>;

interface Declaration {
  /** Type of the value; `object` is a list or an object, `undefined` any type. */
  kind: 'string' | 'number' | 'boolean' | 'object' | 'undefined';
  /** The type as written. */
  annotation?: string;
  /** The default, if it is a literal. */
  value: unknown;
}

const INJECTED = 'injected-parameters';
const isDeclaring = (cell: Cell): boolean =>
  cell.cell_type === 'code' && hasTag(cell, 'parameters');

/** The variables declared by the cell tagged `parameters`. */
function declarations(notebook: Notebook): Map<string, Declaration> {
  const cell = notebook.cells.find(isDeclaring);
  if (!cell) return new Map();
  const ts = loadTypeScript();
  const source = ts.createSourceFile(
    'cell.ts',
    joinLines(cell.source),
    ts.ScriptTarget.Latest,
    true,
  );
  const declared = source.statements.flatMap((statement) =>
    ts.isVariableStatement(statement) ? statement.declarationList.declarations : [],
  );
  return new Map(
    declared.map(({ name, type, initializer }): [string, Declaration] => {
      const annotation = type?.getText();
      const value = literalValue(initializer?.getText());
      const isPrimitive = ['string', 'number', 'boolean'].includes(annotation ?? '');
      const kind = isPrimitive ? annotation : typeof (value ?? undefined);
      return [name.getText(), { kind: kind as Declaration['kind'], annotation, value }];
    }),
  );
}

/** The value of a literal; undefined for any other expression. */
function literalValue(expression = ''): unknown {
  try {
    return runInNewContext(`(${expression})`, Object.create(null) as object, { timeout: 100 });
  } catch {
    return undefined;
  }
}

/**
 * Returns a copy of the notebook with a cell that sets parameters, replacing an earlier
 * one.
 * @param given values by name, or `name=value` texts parsed as the declared type:
 * numbers, `true` or `false`, JSON for lists and objects; if any type is allowed, JSON or
 * else text
 * @returns the copy, and the parameters whose value is text
 * @throws Error for an undeclared name, or a value of another type
 */
export function withParameters(
  notebook: Notebook,
  given: Parameters | readonly string[],
): { notebook: Notebook; texts: Map<string, string> } {
  const declared = declarations(notebook);
  const values = new Map(isList(given) ? given.map(readAssignment) : Object.entries(given));
  const lines = [...values].map(([name, value]) => {
    const { kind, annotation } = declaration(name);
    if (!isOfKind(value, kind)) throw kindError(name, kind, JSON.stringify(value));
    const type = annotation ?? (['object', 'undefined'].includes(kind) ? undefined : kind);
    return `let ${name}${type ? `: ${type}` : ''} = ${JSON.stringify(value)};`;
  });
  const cells = notebook.cells.filter((cell) => !hasTag(cell, INJECTED));
  if (lines.length > 0) cells.splice(cells.findIndex(isDeclaring) + 1, 0, injectedCell(lines));
  const texts = [...declared].flatMap(([name, { value: byDefault }]): [string, string][] => {
    const value = values.get(name) ?? byDefault;
    return typeof value === 'string' ? [[name, value]] : [];
  });
  return { notebook: { ...notebook, cells }, texts: new Map(texts) };

  function declaration(name: string): Declaration {
    const parameter = declared.get(name);
    if (parameter) return parameter;
    const names = [...declared.keys()].join(', ') || 'none';
    throw new Error(
      `Expected ${name} to be declared in the cell tagged "parameters", which declares ${names}.`,
    );
  }

  function readAssignment(assignment: string): [name: string, value: ParameterValue] {
    const [, name, text] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
    if (name === undefined)
      throw new Error(`Expected a parameter as name=value, but got ${assignment}.`);
    const { kind } = declaration(name);
    if (kind === 'string') return [name, text];
    if (!isExact(text))
      throw new Error(`Expected ${name} to have integers up to 2^53 - 1, but got ${text}.`);
    const value =
      kind === 'number' && text.trim()
        ? Number(text)
        : (tryParseJson(text) as ParameterValue | undefined);
    if (kind === 'undefined') return [name, value ?? (text === 'null' ? null : text)];
    if (!isOfKind(value, kind)) throw kindError(name, kind, text);
    return [name, value];
  }
}

const isList = (given: Parameters | readonly string[]): given is readonly string[] =>
  Array.isArray(given);

const isOfKind = (value: unknown, kind: Declaration['kind']): value is ParameterValue =>
  (kind === 'undefined' || (typeof value === kind && value !== null)) &&
  (typeof value !== 'number' || Number.isFinite(value));

function kindError(name: string, kind: Declaration['kind'], value: string): Error {
  const expected = kind === 'object' ? 'a list or an object in JSON' : `a ${kind}`;
  return new Error(`Expected ${name} to be ${expected}, but got ${value}.`);
}

/** Whether JSON keeps all digits; true for other text. */
function isExact(text: string): boolean {
  const value = tryParseJson(text);
  return value === undefined || JSON.stringify(parseJson(text)) === JSON.stringify(value);
}

const injectedCell = (lines: readonly string[]): Cell => ({
  cell_type: 'code',
  id: INJECTED,
  metadata: { tags: [INJECTED] },
  source: splitLines(lines.join('\n')),
  execution_count: null,
  outputs: [],
});
