/** Parameters of a notebook: typed by the cell tagged `parameters`, injected as a cell after it. */
import { createRequire } from 'node:module';
import type ts from 'typescript';
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
  /** The default, where it is a plain text. */
  text: string | undefined;
}

type TypeScript = typeof ts;

/** The TypeScript that compiles the notebook's cells: tslab's own. It takes half a second to load. */
function loadTypeScript(): TypeScript {
  const tslab = createRequire(import.meta.url).resolve('tslab/package.json');
  return createRequire(tslab)('@tslab/typescript-for-tslab') as TypeScript;
}

/** The variables that the cell tagged `parameters` declares. */
function declarations(notebook: Notebook): Map<string, Declaration> {
  const cell = notebook.cells.find(isParameterCell);
  if (!cell) return new Map();
  const ts = loadTypeScript();
  const { statements } = ts.createSourceFile('cell.ts', textOf(cell.source), ts.ScriptTarget.Latest, true);
  const declared = statements.flatMap((s) =>
    ts.isVariableStatement(s) ? s.declarationList.declarations : [],
  );
  return new Map(
    declared.map(({ name, type, initializer }) => {
      const annotation = type?.getText();
      const text = initializer && ts.isStringLiteralLike(initializer) ? initializer.text : undefined;
      return [name.getText(), { kind: kindOf(ts, annotation, initializer), annotation, text }];
    }),
  );
}

function kindOf(
  ts: TypeScript,
  annotation: string | undefined,
  initializer: ts.Expression | undefined,
): ParameterKind {
  if (annotation === 'string' || annotation === 'number' || annotation === 'boolean') return annotation;
  const value = initializer && ts.isAsExpression(initializer) ? initializer.expression : initializer;
  if (!value) return 'any';
  if (ts.isStringLiteralLike(value) || ts.isTemplateExpression(value)) return 'string';
  if (value.kind === ts.SyntaxKind.TrueKeyword || value.kind === ts.SyntaxKind.FalseKeyword) return 'boolean';
  if (ts.isArrayLiteralExpression(value) || ts.isObjectLiteralExpression(value)) return 'json';
  const isNegative = ts.isPrefixUnaryExpression(value) && ts.isNumericLiteral(value.operand);
  return isNegative || ts.isNumericLiteral(value) ? 'number' : 'any';
}

/** The texts that parameters have when the notebook runs: those of `given`, and defaults written as plain text. */
export function textParameters(notebook: Notebook, given: Parameters): Map<string, string> {
  const texts = new Map<string, string>();
  for (const [name, { text }] of declarations(notebook)) {
    const value = given[name] ?? text;
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
  const declared = declarations(notebook);
  return Object.fromEntries(
    assignments.map((assignment) => {
      const [, name, text] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
      if (name === undefined) throw new Error(`Expected a parameter as name=value, but got ${assignment}.`);
      return [name, parseValue(name, text, declared.get(name)?.kind ?? 'any')];
    }),
  );
}

function parseValue(name: string, text: string, kind: ParameterKind): ParameterValue {
  if (kind === 'string') return text;
  const isNumber = kind === 'number' && text.trim() !== '' && Number.isFinite(Number(text));
  const value = isNumber ? Number(text) : parseJson(text);
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
  return { ...notebook, cells: cells.toSpliced(position, 0, injectedCell(lines)) };
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
