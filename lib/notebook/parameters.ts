/**
 * Parameters of a notebook: typed by the cell tagged `parameters`, injected as a cell
 * after it.
 */
import { createRequire } from 'node:module';
import path from 'node:path';
import type ts from 'typescript';
import { optionalFolder } from '../io/optional.js';
import { textOf, linesOf, type Cell, type CodeCell, type Notebook } from './nbformat.js';

export type ParameterValue =
  string | number | boolean | null | ParameterValue[] | { [key: string]: ParameterValue };
export type Parameters = Record<string, ParameterValue>;

/**
 * `json`: a list or an object; `any`: what the declaration leaves open, such as `null` or
 * a computed default.
 */
type ParameterKind = 'string' | 'number' | 'boolean' | 'json' | 'any';

interface Declaration {
  kind: ParameterKind;
  /** The type as written, if any. */
  annotation: string | undefined;
  /** The default, where it is a plain text. */
  text: string | undefined;
}

type TypeScript = typeof ts;

/**
 * The TypeScript that compiles the notebook's cells: tslab's own. It takes half a second
 * to load.
 */
function loadTypeScript(): TypeScript {
  return createRequire(path.join(optionalFolder('tslab'), 'package.json'))(
    '@tslab/typescript-for-tslab',
  ) as TypeScript;
}

/** The variables that the cell tagged `parameters` declares. */
function declarations(notebook: Notebook): Map<string, Declaration> {
  const cell = notebook.cells.find(isParameterCell);
  if (!cell) return new Map();
  const ts = loadTypeScript();
  const { statements } = ts.createSourceFile(
    'cell.ts',
    textOf(cell.source),
    ts.ScriptTarget.Latest,
    true,
  );
  const declared = statements.flatMap((s) =>
    ts.isVariableStatement(s) ? s.declarationList.declarations : [],
  );
  return new Map(
    declared.map(({ name, type, initializer }) => {
      const annotation = type?.getText();
      const text =
        initializer && ts.isStringLiteralLike(initializer) ? initializer.text : undefined;
      return [name.getText(), { kind: kindOf(ts, annotation, initializer), annotation, text }];
    }),
  );
}

function kindOf(
  ts: TypeScript,
  annotation: string | undefined,
  initializer: ts.Expression | undefined,
): ParameterKind {
  if (annotation === 'string' || annotation === 'number' || annotation === 'boolean')
    return annotation;
  const value =
    initializer && ts.isAsExpression(initializer) ? initializer.expression : initializer;
  if (!value) return 'any';
  if (ts.isStringLiteralLike(value) || ts.isTemplateExpression(value)) return 'string';
  if (value.kind === ts.SyntaxKind.TrueKeyword || value.kind === ts.SyntaxKind.FalseKeyword)
    return 'boolean';
  if (ts.isArrayLiteralExpression(value) || ts.isObjectLiteralExpression(value)) return 'json';
  const isNegative = ts.isPrefixUnaryExpression(value) && ts.isNumericLiteral(value.operand);
  return isNegative || ts.isNumericLiteral(value) ? 'number' : 'any';
}

/**
 * A copy of the notebook with a cell of parameters after the one tagged `parameters`; an
 * earlier such cell is replaced.
 * @param given values by name, or `name=value` of a command line, read as the type that
 * the notebook declares for `name`:
 *   text as it is, numbers, `true` or `false`, JSON for lists and objects; where the type is open, JSON if it is that, else text
 * @returns the copy, and what parameters are in it that are texts: values given, and
 * defaults written as plain text
 * @throws Error for a name that the notebook does not declare, or a value of another type
 */
export function withParameters(
  notebook: Notebook,
  given: Parameters | readonly string[],
): { notebook: Notebook; texts: Map<string, string> } {
  const declared = declarations(notebook);
  const isList = (value: typeof given): value is readonly string[] => Array.isArray(value);
  const values = new Map(
    isList(given) ? given.map((text) => parseAssignment(text, declared)) : Object.entries(given),
  );
  const cells = notebook.cells.filter(
    (cell) => !cell.metadata.tags?.includes('injected-parameters'),
  );
  if (values.size > 0) {
    const lines = [...values].map(([name, value]) => assignment(name, value, declared));
    cells.splice(cells.findIndex(isParameterCell) + 1, 0, injectedCell(lines));
  }
  const texts = [...declared].flatMap(([name, { text }]): [string, string][] => {
    const value = values.get(name) ?? text;
    return typeof value === 'string' ? [[name, value]] : [];
  });
  return { notebook: { ...notebook, cells }, texts: new Map(texts) };
}

function parseAssignment(
  assignment: string,
  declared: ReadonlyMap<string, Declaration>,
): [name: string, value: ParameterValue] {
  const [, name, text] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
  if (name === undefined)
    throw new Error(`Expected a parameter as name=value, but got ${assignment}.`);
  const kind = declared.get(name)?.kind ?? 'any';
  if (kind === 'string') return [name, text];
  const isNumber = kind === 'number' && text.trim() !== '' && Number.isFinite(Number(text));
  const value = isNumber ? Number(text) : parseJson(text);
  if (kind === 'any') return [name, value === undefined ? text : value];
  if (value !== undefined && isOfKind(value, kind)) return [name, value];
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

/** The line that gives a parameter its value, with the type that its declaration has. */
function assignment(
  name: string,
  value: ParameterValue,
  declared: ReadonlyMap<string, Declaration>,
): string {
  const declaration = declared.get(name);
  if (!declaration) {
    const known = [...declared.keys()].join(', ') || 'none';
    throw new Error(
      `Expected ${name} to be declared in the cell tagged "parameters", which declares ${known}.`,
    );
  }
  const { kind, annotation } = declaration;
  if (!isOfKind(value, kind))
    throw new Error(
      `Expected ${name} to be ${describeKind(kind)}, but got ${JSON.stringify(value)}.`,
    );
  const type = annotation ?? (kind === 'json' || kind === 'any' ? undefined : kind);
  return `let ${name}${type ? `: ${type}` : ''} = ${JSON.stringify(value)};`;
}

const isParameterCell = (cell: Cell): boolean =>
  cell.cell_type === 'code' && (cell.metadata.tags?.includes('parameters') ?? false);

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
