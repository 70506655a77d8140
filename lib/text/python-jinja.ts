/** Python's meaning of what `@huggingface/jinja` computes in JavaScript's way. */
import type { Template } from '@huggingface/jinja';

/** A value in a running template. */
interface Value {
  type: string;
  value: unknown;
}

/** A part of a parsed template. */
interface Node {
  type: string;
  [field: string]: unknown;
}

/** White space in Python: with some separators, without a byte order mark. */
const SPACE =
  '\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000';

/** Removes characters from the ends of a text, by default white space. */
const stripper =
  (...ends: ('left' | 'right')[]) =>
  ([text, characters]: readonly Value[]): string => {
    const removed = new Set((characters?.value as string | null | undefined) ?? SPACE);
    const letters = [...toText(text)];
    let [from, to] = [0, letters.length];
    while (ends.includes('left') && from < to && removed.has(letters[from])) from++;
    while (ends.includes('right') && from < to && removed.has(letters[to - 1])) to--;
    return letters.slice(from, to).join('');
  };

/** As Python's `repr`, with an exponent from 1e16 and below 1e-4. */
function formatFloat(value: number): string {
  const [digits, exponent] = value.toExponential().split('e');
  if (Number(exponent) < -4 || Number(exponent) >= 16)
    return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
  const text = Object.is(value, -0) ? '-0' : String(value);
  return text.includes('.') ? text : `${text}.0`;
}

const ESCAPES = new Map([
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

function escapeCharacter(character: string): string {
  const hex = character.codePointAt(0)!.toString(16);
  const [mark, width] = hex.length <= 2 ? ['x', 2] : hex.length <= 4 ? ['u', 4] : ['U', 8];
  return ESCAPES.get(character) ?? `\\${mark}${hex.padStart(width, '0')}`;
}

/** Python's `repr`. */
function formatValue({ type, value }: Value): string {
  const entries = (): string =>
    Array.from(
      value as Map<string, Value>,
      ([key, inner]) => `${quote(key)}: ${formatValue(inner)}`,
    ).join(', ');
  const items = (): string => (value as Value[]).map(formatValue).join(', ');
  if (type === 'NullValue') return 'None';
  if (type === 'BooleanValue') return value ? 'True' : 'False';
  if (type === 'FloatValue') return formatFloat(value as number);
  if (type === 'StringValue') return quote(value as string);
  if (type === 'ArrayValue') return `[${items()}]`;
  if (type === 'TupleValue') return `(${items()}${(value as Value[]).length === 1 ? ',' : ''})`;
  if (type === 'ObjectValue') return `{${entries()}}`;
  if (type === 'NamespaceValue') return `<Namespace {${entries()}}>`;
  return type === 'UndefinedValue' ? 'Undefined' : String(value);
}

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/[\\]|(?! )[\p{C}\p{Z}]/gu, escapeCharacter);
  return mark + escaped.replaceAll(mark, `\\${mark}`) + mark;
}

/** Python's `str`; nothing for what is not set. */
function toText({ type, value }: Value): string {
  if (type === 'StringValue') return value as string;
  return type === 'UndefinedValue' ? '' : formatValue({ type, value });
}

const isNumber = (value: unknown): boolean => ['number', 'boolean'].includes(typeof value);

/** Python's `==`: by content, and never equal across types but for numbers. */
function isEqual(a: Value, b: Value): boolean {
  if (isNumber(a.value) && isNumber(b.value)) return Number(a.value) === Number(b.value);
  if (a.type !== b.type) return false;
  if (Array.isArray(a.value)) {
    const [items, others] = [a.value as Value[], b.value as Value[]];
    return items.length === others.length && items.every((item, i) => isEqual(item, others[i]));
  }
  if (!(a.value instanceof Map)) return a.value === b.value;
  const [one, other] = [a.value as Map<string, Value>, b.value as Map<string, Value>];
  return (
    one.size === other.size &&
    [...one].every(([key, value]) => other.has(key) && isEqual(value, other.get(key)!))
  );
}

function listItems({ type, value }: Value): Value[] {
  if (Array.isArray(value)) return value as Value[];
  const items = value instanceof Map ? [...value.keys()] : [...toText({ type, value })];
  return items.map((item: string) => ({ type: 'StringValue', value: item }));
}

function isIn(item: Value, { type, value }: Value): boolean {
  if (Array.isArray(value)) return value.some((other: Value) => isEqual(item, other));
  if (value instanceof Map) return value.has(item.value);
  if (type === 'UndefinedValue') return false;
  if (typeof value === 'string' && typeof item.value === 'string')
    return value.includes(item.value);
  throw new Error(`cannot look for ${formatValue(item)} in ${formatValue({ type, value })}`);
}

const not =
  (test: (a: Value, b: Value) => boolean) =>
  ([a, b]: readonly Value[]): boolean =>
    !test(a, b);

const capitalize = ([{ value }]: readonly Value[]): string => {
  const [first = '', ...rest] = value as string;
  return first.toUpperCase() + rest.join('').toLowerCase();
};

type Functions = Readonly<Record<string, (args: readonly Value[]) => unknown>>;

const OPERATORS: Functions = {
  '~': (args) => args.map(toText).join(''),
  '==': ([a, b]) => isEqual(a, b),
  '!=': not(isEqual),
  in: ([a, b]) => isIn(a, b),
  'not in': not(isIn),
};
const METHODS: Functions = {
  strip: stripper('left', 'right'),
  lstrip: stripper('left'),
  rstrip: stripper('right'),
  capitalize,
};
const FILTERS: Functions = {
  string: ([value]) => toText(value),
  join: ([value, separator]) =>
    listItems(value)
      .map(toText)
      .join(separator ? toText(separator) : ''),
  length: ([value]) => listItems(value).length,
  trim: METHODS.strip,
  capitalize,
};

/** To be given to a template that went through {@link usePython}. */
export const PYTHON_FUNCTIONS: Functions = Object.fromEntries(
  Object.entries({ operator: OPERATORS, filter: FILTERS, method: METHODS }).flatMap(
    ([kind, functions]) =>
      Object.entries(functions).map(([name, compute]) => [`${kind} ${name}`, compute]),
  ),
);

/** Statements, which print nothing themselves, and text. */
const NOT_PRINTED = new Set(
  'Set If For Break Continue Macro Comment CallStatement FilterStatement StringLiteral'.split(' '),
);
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value;

/** Makes a node of a function's call, in place. */
function callFunction(node: Node, name: string, args: readonly unknown[]): void {
  const make = (fields: Node): Node =>
    Object.assign(Object.create(Object.getPrototypeOf(node) as object) as Node, fields);
  const callee = make({ type: 'Identifier', value: name });
  const list = make({ type: 'ArrayLiteral', value: args });
  Object.assign(node, { type: 'CallExpression', callee, args: [list] });
}

/** Replaces operators, filters and methods of a parsed template, and what it prints. */
export function usePython({ parsed }: Template): void {
  visit(parsed);
}

function visit(part: unknown): void {
  if (typeof part !== 'object' || part === null) return;
  const children = part instanceof Map ? [...part].flat() : Object.values(part);
  for (const child of children) visit(child);
  if (!isNode(part)) return;
  replaceOperation(part);
  for (const block of [part.body, part.alternate, part.defaultBlock])
    for (const printed of Array.isArray(block) ? (block as Node[]) : [])
      if (!NOT_PRINTED.has(printed.type)) callFunction(printed, 'filter string', [copy(printed)]);
}

const copy = (node: Node): Node =>
  Object.assign(Object.create(Object.getPrototypeOf(node) as object) as Node, node);

function replaceOperation(node: Node): void {
  const { type, operator, operand, filter, callee, args } = node as {
    [field: string]: Node | undefined;
  } & { type: string; args?: unknown[] };
  if (type === 'BinaryExpression' && Object.hasOwn(OPERATORS, operator!.value as string))
    callFunction(node, `operator ${operator!.value as string}`, [node.left, node.right]);
  const filterArgs = filter?.type === 'CallExpression' ? (filter.args as unknown[]) : [];
  const filterName = filter?.type === 'CallExpression' ? (filter.callee as Node) : filter;
  if (type === 'FilterExpression' && Object.hasOwn(FILTERS, filterName!.value as string))
    callFunction(node, `filter ${filterName!.value as string}`, [operand, ...filterArgs]);
  const method = (callee?.property as Node | undefined)?.value as string;
  if (type !== 'CallExpression' || callee?.type !== 'MemberExpression' || callee.computed) return;
  if (Object.hasOwn(METHODS, method))
    callFunction(node, `method ${method}`, [callee.object, ...args!]);
}
