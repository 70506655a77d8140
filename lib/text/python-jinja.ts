/**
 * Jinja templates as Python renders them; `@huggingface/jinja` computes like JavaScript.
 * What is not supported is rejected by name.
 */
import * as jinja from '@huggingface/jinja';

/** A value in a running template. */
interface Value {
  type: string;
  value: unknown;
  /** What a value of any type has, such as a list's `length`. */
  builtins: ReadonlyMap<string, Value>;
  /** A list that Python would show as a tuple. */
  isTuple?: boolean;
}

/** A part of a parsed template. */
interface Node {
  type: string;
  value?: unknown;
  [field: string]: unknown;
}

/** The names that a part of a template sees. */
interface Scope {
  variables: Map<string, Value>;
  set(name: string, value: unknown): Value;
  setVariable(name: string, value: Value): void;
  lookupVariable(name: string): Value;
}

/** The library's interpreter, with what is private there. */
interface Library {
  evaluate(node: Node | undefined, scope: Scope): Value;
  evaluateArguments(args: unknown, scope: Scope): [Value[], Map<string, Value>];
  evaluateBinaryExpression(node: Node, scope: Scope): Value;
  evaluateMemberExpression(node: Node, scope: Scope): Value;
  evaluateCallExpression(node: Node, scope: Scope): Value;
  evaluateTestExpression(node: Node, scope: Scope): Value;
  applyFilter(operand: Value, filter: Node, scope: Scope): Value;
  evaluateFor(node: Node, scope: Scope): Value;
  evaluateMacro(node: Node, scope: Scope): Value;
  evaluateBlock(statements: readonly Node[], scope: Scope): Value;
}

/** The types that the library's own declarations lose. */
const { Environment, Interpreter, Template, parse, tokenize } = jinja as unknown as {
  Environment: new (parent?: Scope) => Scope;
  Interpreter: new (scope: Scope) => Library;
  Template: new (source: string) => { render(variables: object): string };
  tokenize: (source: string, options: object) => Token[];
  parse: (tokens: readonly Token[]) => Node;
};
interface Token {
  type: string;
  value: string;
}

/** The value of a template for one of JavaScript. */
const toValue = (value: unknown): Value => new Environment().set('value', value);
type Make = new (value: unknown) => Value;
const [Integer, Float, Func] = [1, 0.5, () => 1].map((value) => toValue(value).constructor as Make);

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
  if (!Number.isFinite(value)) throw new Error(`${value} is no number`);
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
function formatValue({ type: name, value, isTuple }: Value): string {
  const type = isTuple ? 'TupleValue' : name;
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
  if (type === 'UndefinedValue') return 'Undefined';
  if (Number.isSafeInteger(value)) return String(value);
  throw new Error(typeof value === 'number' ? `${value} is too large` : 'a function has no text');
}

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/[\\]|(?! )[\p{C}\p{Z}]/gu, escapeCharacter);
  return mark + escaped.replaceAll(mark, `\\${mark}`) + mark;
}

/** Python's `str`; nothing for what is not set. */
function toText(text: Value): string {
  if (text.type === 'StringValue') return text.value as string;
  return text.type === 'UndefinedValue' ? '' : formatValue(text);
}

const isNumber = (value: unknown): boolean => ['number', 'boolean'].includes(typeof value);

/** Python's `==`: by content, and never equal across types but for numbers. */
function isEqual(a: Value, b: Value): boolean {
  if (isNumber(a.value) && isNumber(b.value)) return Number(a.value) === Number(b.value);
  if (a.type !== b.type || a.isTuple !== b.isTuple) return false;
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

function listItems(list: Value): Value[] {
  const { type, value } = list;
  if (Array.isArray(value)) return value as Value[];
  if (type === 'NullValue' || isNumber(value)) throw new Error(`${formatValue(list)} is no list`);
  return (value instanceof Map ? [...(value.keys() as Iterable<string>)] : [...toText(list)]).map(
    toValue,
  );
}

function isIn(item: Value, list: Value): boolean {
  const { type, value } = list;
  if (Array.isArray(value)) return value.some((other: Value) => isEqual(item, other));
  if (value instanceof Map) return value.has(item.value);
  if (type === 'UndefinedValue') return false;
  if (typeof value === 'string' && typeof item.value === 'string')
    return value.includes(item.value);
  throw new Error(`cannot look for ${formatValue(item)} in ${formatValue(list)}`);
}

const not =
  (test: (a: Value, b: Value) => boolean) =>
  ([a, b]: readonly Value[]): boolean =>
    !test(a, b);

const capitalize = ([text]: readonly Value[]): string => {
  const [first = '', ...rest] = toText(text);
  return first.toUpperCase() + rest.join('').toLowerCase();
};

/** The filter, which ends words otherwise than the method. */
const titleWords = ([text]: readonly Value[]): string =>
  toText(text).replace(/[^-\s({[<]+/gu, (word) => capitalize([toValue(word)]));
const titleLetters = ([text]: readonly Value[]): string =>
  toText(text).replace(/\p{Alphabetic}+/gu, (word) => capitalize([toValue(word)]));

/** Python's `//` and `%`, which round down. */
const divide =
  (compute: (a: number, b: number) => number) =>
  ([a, b]: readonly Value[]): Value => {
    const [dividend, divisor] = [a, b].map(({ value }) => {
      if (!isNumber(value)) throw new Error('only numbers can be divided');
      return Number(value);
    });
    if (divisor === 0) throw new Error('a number is divided by 0');
    const isFloat = [a, b].some(({ type }) => type === 'FloatValue');
    return new (isFloat ? Float : Integer)(compute(dividend, divisor));
  };

/** Numbers in texts, and a default for other texts. */
const toNumber =
  (Type: Make, convert: (number: number) => number) =>
  ([{ type, value }, fallback = new Type(0)]: readonly Value[]): Value => {
    if (isNumber(value)) return new Type(convert(Number(value)));
    const text = type === 'StringValue' ? stripper('left', 'right')([toValue(value)]) : '';
    const digits = text.replace(/(?<=\d)_(?=\d)/g, '');
    const isValid = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(digits);
    if (/^[+-]?(inf|nan)/i.test(text)) throw new Error(`${text} is no number`);
    return isValid ? new Type(convert(Number(digits))) : fallback;
  };

/** As Jinja: without regard to case, the first of equals. */
function unique([list]: readonly Value[]): Value {
  const key = (item: Value): Value =>
    item.type === 'StringValue' ? toValue(toText(item).toLowerCase()) : item;
  const items = listItems(list);
  if (items.some(({ value }) => typeof value === 'object' && value !== null))
    throw new Error('only texts and numbers can be unique');
  const isFirst = (item: Value, at: number): boolean =>
    items.findIndex((other) => isEqual(key(other), key(item))) === at;
  return toList(items.filter(isFirst));
}

/** A list, or with `like`, one of the same type. */
const toList = (items: readonly Value[], like: Value = toValue([])): Value =>
  new (like.constructor as Make)(items);

/** A dictionary's pairs. */
function asTuples(pairs: Value): Value {
  for (const pair of pairs.value as Value[]) pair.isTuple = true;
  return pairs;
}

type Functions = Readonly<Record<string, (args: readonly Value[]) => unknown>>;

const OPERATORS: Functions = {
  '~': (args) => args.map(toText).join(''),
  '==': ([a, b]) => isEqual(a, b),
  '!=': not(isEqual),
  in: ([a, b]) => isIn(a, b),
  'not in': not(isIn),
  '//': divide((a, b) => Math.floor(a / b)),
  '%': divide((a, b) => ((a % b) + b) % b),
};
const METHODS: Functions = {
  strip: stripper('left', 'right'),
  lstrip: stripper('left'),
  rstrip: stripper('right'),
  capitalize,
  title: titleLetters,
};
const FILTERS: Functions = {
  string: ([value]) => toText(value),
  join: ([value, separator]) =>
    listItems(value)
      .map(toText)
      .join(separator ? toText(separator) : ''),
  length: ([value]) => listItems(value).length,
  count: ([value]) => listItems(value).length,
  first: ([value]) => listItems(value).at(0),
  last: ([value]) => listItems(value).at(-1),
  list: ([value]) => toList(listItems(value)),
  trim: METHODS.strip,
  capitalize,
  title: titleWords,
  unique,
  int: toNumber(Integer, Math.trunc),
  float: toNumber(Float, Number),
};

const isIterable = ({ type, value }: Value): boolean =>
  type !== 'NullValue' && type !== 'FunctionValue' && !isNumber(value);
const hasCase =
  (change: (text: string) => string, other: (text: string) => string) =>
  ({ value }: Value): boolean =>
    typeof value === 'string' && change(value) === value && other(value) !== value;
const lower = (text: string): string => text.toLowerCase();
const upper = (text: string): string => text.toUpperCase();
const TESTS: Readonly<Record<string, (value: Value) => boolean>> = {
  iterable: isIterable,
  number: ({ value }) => isNumber(value),
  lower: hasCase(lower, upper),
  upper: hasCase(upper, lower),
};

/** Line breaks as Python's `splitlines` knows them. */
const LINE_BREAKS = '\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029';
const LINE_BREAK = new RegExp(`\r\n|[${LINE_BREAKS}]`, 'g');

/** What filters of the library must not be given, since Python gives something else. */
function checkFilter(name: string, operand: Value, args: readonly Value[]): void {
  const holds = (value: Value, types: readonly string[]): boolean =>
    types.includes(value.type) ||
    (value.value instanceof Map
      ? [...(value.value.values() as Iterable<Value>)]
      : value.value instanceof Array
        ? value.value
        : []
    ).some((inner: Value) => holds(inner, types));
  if (name === 'tojson' && holds(operand, ['FloatValue', 'UndefinedValue']))
    throw new Error('tojson of floats and of what is not set is not supported');
  const [attribute, test] = args.map(toText);
  if (name.endsWith('ectattr') && (attribute.includes('.') || test === 'undefined'))
    throw new Error(`${name} of ${args.map(formatValue).join(', ')} is not supported`);
}

/** A computed result as a value. */
function call(compute: (args: readonly Value[]) => unknown, args: readonly Value[]): Value {
  const result = compute(args);
  return typeof result === 'object' && result !== null ? (result as Value) : toValue(result);
}

/** The name of a part of a template, for messages. */
function describe({ type, value, object, property }: Node): string {
  if (type === 'MemberExpression')
    return [object, property].map((part) => describe(part as Node)).join('.');
  return type.endsWith('Literal') || type === 'Identifier' ? String(value) : type;
}

/** Statements that print nothing. */
const SILENT = new Set(['Set', 'Macro', 'Comment']);

/** A `break` or `continue`, with the text before it. */
class Stop extends Error {
  text = '';
  constructor(readonly isBreak: boolean) {
    super('a loop is left where there is none');
  }
}

/** The interpreter with Python's operators, filters, methods, tests, scopes and texts. */
class PythonInterpreter extends Interpreter {
  /** The bodies of loops, each with whether a `break` has ended it. */
  private readonly loops = new Map<unknown, boolean>();

  override evaluate(node: Node | undefined, scope: Scope): Value {
    if (node?.type === 'Break' || node?.type === 'Continue') throw new Stop(node.type === 'Break');
    return node?.type === 'Value' ? (node.value as Value) : super.evaluate(node, scope);
  }

  override evaluateBinaryExpression(node: Node, scope: Scope): Value {
    const operator = (node.operator as Node).value as string;
    if (operator === 'and' || operator === 'or') return super.evaluateBinaryExpression(node, scope);
    const args = [node.left, node.right].map((side) => this.evaluate(side as Node, scope));
    if (Object.hasOwn(OPERATORS, operator)) return call(OPERATORS[operator], args);
    if (operator === '+' && new Set(args.map(({ type }) => type === 'StringValue')).size > 1)
      throw new Error('a text and something else cannot be added');
    const [left, right] = args.map((value) => ({ type: 'Value', value }));
    return super.evaluateBinaryExpression({ ...node, left, right }, scope);
  }

  override evaluateMemberExpression(node: Node, scope: Scope): Value {
    const value = this.evaluate(node.object as Node, scope);
    const property = node.property as Node;
    const name = node.computed ? undefined : (property.value as string);
    if (value.type === 'UndefinedValue')
      throw new Error(`${describe(node.object as Node)} is not set, so that it has no parts`);
    if (value.type === 'ObjectValue' && name !== undefined && value.builtins.has(name))
      return value.builtins.get(name)!;
    const member = { ...node, object: { type: 'Value', value } };
    if (property.type === 'SliceExpression') {
      const slice = super.evaluateMemberExpression(member, scope);
      return Array.isArray(slice.value) ? toList(slice.value as Value[], value) : slice;
    }
    if (node.computed && typeof value.value === 'string') {
      const letters = toList([...value.value].map(toValue));
      return super.evaluateMemberExpression(
        { ...member, object: { type: 'Value', value: letters } },
        scope,
      );
    }
    const found = super.evaluateMemberExpression(member, scope);
    if (
      found.type === 'UndefinedValue' &&
      describe(node.object as Node) === 'loop' &&
      !/^(prev|next)item$/.test(name!)
    )
      throw new Error(`loop.${name} is not supported`);
    return found;
  }

  override evaluateCallExpression(node: Node, scope: Scope): Value {
    const { callee } = node as { callee?: Node };
    const name = (callee?.property as Node | undefined)?.value as string;
    if (callee?.type !== 'MemberExpression' || callee.computed)
      return super.evaluateCallExpression(node, scope);
    const object = this.evaluate(callee.object as Node, scope);
    if (object.type === 'StringValue' && Object.hasOwn(METHODS, name))
      return call(METHODS[name], [object, ...this.evaluateArguments(node.args, scope)[0]]);
    if (name.endsWith('swith') && (node.args as unknown[]).length > 1)
      throw new Error(`${name} takes one argument`);
    const held = { ...callee, object: { type: 'Value', value: object } };
    const result = super.evaluateCallExpression({ ...node, callee: held }, scope);
    return name === 'items' && Array.isArray(result.value) ? asTuples(result) : result;
  }

  override applyFilter(operand: Value, filter: Node, scope: Scope): Value {
    const isCall = filter.type === 'CallExpression';
    const name = (isCall ? (filter.callee as Node) : filter).value as string;
    const [args, named] = isCall ? this.evaluateArguments(filter.args, scope) : [[], new Map()];
    if (Object.hasOwn(FILTERS, name)) {
      if (named.size > 0) throw new Error(`${name} takes no ${[...named.keys()].join(', ')}`);
      return call(FILTERS[name], [operand, ...args]);
    }
    checkFilter(name, operand, args);
    const text = name === 'indent' ? toText(operand).replace(LINE_BREAK, '\n') : undefined;
    const result = super.applyFilter(text === undefined ? operand : toValue(text), filter, scope);
    return name === 'items' || name === 'dictsort' ? asTuples(result) : result;
  }

  override evaluateTestExpression(node: Node, scope: Scope): Value {
    const name = (node.test as Node).value as string;
    if (!Object.hasOwn(TESTS, name)) return super.evaluateTestExpression(node, scope);
    return toValue(TESTS[name](this.evaluate(node.operand as Node, scope)) !== node.negate);
  }

  override evaluateFor(node: Node, scope: Scope): Value {
    const outer = this.loops.get(node.body);
    this.loops.set(node.body, false);
    const text = super.evaluateFor(node, scope);
    if (outer !== undefined) this.loops.set(node.body, outer);
    return text;
  }

  /** Macros see the names where they stand, not where they are called. */
  override evaluateMacro(node: Node, scope: Scope): Value {
    const result = super.evaluateMacro(node, scope);
    const name = (node.name as Node).value as string;
    type Run = (args: unknown, scope: Scope) => Value;
    const run = scope.variables.get(name)!.value as Run;
    const macro = (args: unknown, calling: Scope): Value => {
      const own = new Environment(scope);
      if (calling.variables.has('caller'))
        own.setVariable('caller', calling.lookupVariable('caller'));
      return run(args, own);
    };
    scope.setVariable(name, new Func(macro));
    return result;
  }

  /** A loop's body has its own names in each round, and keeps its text at a `break`. */
  override evaluateBlock(statements: readonly Node[], scope: Scope): Value {
    const ended = this.loops.get(statements);
    if (ended) return toValue('');
    const own = ended === undefined ? scope : new Environment(scope);
    let text = '';
    try {
      for (const statement of statements) {
        const value = this.evaluate(statement, own);
        if (!SILENT.has(statement.type)) text += toText(value);
      }
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
      error.text = text + error.text;
      if (ended === undefined) throw error;
      if (error.isBreak) this.loops.set(statements, true);
      text = error.text;
    }
    return toValue(text);
  }
}

/** The library cannot tell `a < b < c`, two comparisons in Python, from `(a < b) < c`. */
function rejectChains(tokens: readonly Token[]): void {
  const compared = [false];
  for (const { type, value } of tokens) {
    const isComparison =
      type === 'ComparisonBinaryOperator' || (type === 'Identifier' && value === 'in');
    if (type.startsWith('Open')) compared.push(false);
    else if (type.startsWith('Close')) compared.pop();
    else if (isComparison && compared.at(-1))
      throw new Error(
        `comparisons in a chain, ending in ${value}, are not supported; write them with and`,
      );
    else if (isComparison) compared[compared.length - 1] = true;
    else if (!['StringLiteral', 'Text', 'Comment'].includes(type) && SEPARATORS.has(value))
      compared[compared.length - 1] = false;
  }
}

/** What ends a comparison. */
const SEPARATORS = new Set(['and', 'or', 'if', 'else', ',', '=', ':']);

/** The library's functions, which it gives to templates only. */
const FUNCTIONS = new Map<string, Value>();
new Template('{{ keep(range, strftime_now) }}').render({
  keep: (...functions: readonly unknown[]) => {
    for (const [i, name] of ['range', 'strftime_now'].entries())
      FUNCTIONS.set(name, new Func(functions[i]));
  },
});

const raise = (message: string): never => {
  throw new Error(message);
};
const CONSTANTS = { true: true, false: false, none: null, True: true, False: false, None: null };

/** Renders a template with variables. */
export function compileTemplate(source: string): (variables: object) => string {
  const tokens = tokenize(source, { lstrip_blocks: true, trim_blocks: true });
  rejectChains(tokens);
  const program = parse(tokens);
  return (variables) => {
    const scope = new Environment();
    for (const [name, value] of FUNCTIONS) scope.setVariable(name, value);
    const values = { ...CONSTANTS, raise_exception: raise, ...variables };
    for (const [name, value] of Object.entries(values)) scope.set(name, value);
    return toText(new PythonInterpreter(scope).evaluate(program, scope));
  };
}
