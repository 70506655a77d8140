/** The values of `@huggingface/jinja` with Python's and Jinja's semantics. */
import * as jinja from '@huggingface/jinja';

export interface Value {
  type: string;
  value: unknown;
  /** Attributes and methods of the type, such as a list's `length`. */
  builtins: ReadonlyMap<string, Value>;
  /** A list that prints as a tuple in Python. */
  isTuple?: boolean;
}

/** Types that are missing from the library's own declarations. */
const { Environment } = jinja as unknown as {
  Environment: new () => { set(name: string, value: unknown): Value };
};

/** Converts a JavaScript value to a template's value. */
export const toValue = (value: unknown): Value => new Environment().set('value', value);
export type Make = new (value: unknown) => Value;
const [Integer, Float] = [1, 0.5].map((value) => toValue(value).constructor as Make);

/** The type of a list made by Python's `range`, which does not equal a list. */
export const RANGE = 'RangeValue';

/** White space in Python: includes some separators, but no byte order mark. */
const SPACE =
  '\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000';

/** Strips characters, by default white space, from the ends of a text. */
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

/** Formats as Python's `repr`, with an exponent from 1e16 and below 1e-4. */
function formatFloat(value: number): string {
  if (!Number.isFinite(value)) throw new Error(`${value} is not a number`);
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
export function formatValue({ type: name, value, isTuple }: Value): string {
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
  if (type === RANGE) throw new Error('a range cannot be printed; write range(...)|list');
  if (Number.isSafeInteger(value)) return String(value);
  throw new Error(
    typeof value === 'number' ? `${value} is too large` : 'a function cannot be printed',
  );
}

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/[\\]|(?! )[\p{C}\p{Z}]/gu, escapeCharacter);
  return mark + escaped.replaceAll(mark, `\\${mark}`) + mark;
}

/** Python's `str`; an undefined value is empty. */
export function toText(text: Value): string {
  if (text.type === 'StringValue') return text.value as string;
  return text.type === 'UndefinedValue' ? '' : formatValue(text);
}

const isNumber = (value: unknown): boolean => ['number', 'boolean'].includes(typeof value);

/** Python's `==`: by content; values of different types differ, except numbers. */
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

export function listItems(list: Value): Value[] {
  const { type, value } = list;
  if (Array.isArray(value)) return value as Value[];
  if (type === 'NullValue' || isNumber(value))
    throw new Error(`${formatValue(list)} is not a list`);
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
  throw new Error(`cannot search ${formatValue(list)} for ${formatValue(item)}`);
}

const not =
  (test: (a: Value, b: Value) => boolean) =>
  ([a, b]: readonly Value[]): boolean =>
    !test(a, b);

const capitalize = ([text]: readonly Value[]): string => {
  const [first = '', ...rest] = toText(text);
  return first.toUpperCase() + rest.join('').toLowerCase();
};

/** The filter `title`, whose words end differently from those of the method. */
const titleWords = ([text]: readonly Value[]): string =>
  toText(text).replace(/[^-\s({[<]+/gu, (word) => capitalize([toValue(word)]));
const titleLetters = ([text]: readonly Value[]): string =>
  toText(text).replace(/\p{Alphabetic}+/gu, (word) => capitalize([toValue(word)]));

/** Python's `//` and `%` round down. */
const divide =
  (compute: (a: number, b: number) => number) =>
  ([a, b]: readonly Value[]): Value => {
    const [dividend, divisor] = [a, b].map(({ value }) => {
      if (!isNumber(value)) throw new Error('only numbers can be divided');
      return Number(value);
    });
    if (divisor === 0) throw new Error('division by zero');
    const isFloat = [a, b].some(({ type }) => type === 'FloatValue');
    return new (isFloat ? Float : Integer)(compute(dividend, divisor));
  };

/** Parses numbers; other texts give the fallback. */
const toNumber =
  (Type: Make, convert: (number: number) => number) =>
  ([{ type, value }, fallback = new Type(0)]: readonly Value[]): Value => {
    if (isNumber(value)) return new Type(convert(Number(value)));
    if (type === 'UndefinedValue') throw new Error('an undefined value is not a number');
    const text = type === 'StringValue' ? stripper('left', 'right')([toValue(value)]) : '';
    const digits = text.replace(/(?<=\d)_(?=\d)/g, '');
    const isValid = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(digits);
    if (/^[+-]?(inf|nan)/i.test(text)) throw new Error(`${text} is not a number`);
    return isValid ? new Type(convert(Number(digits))) : fallback;
  };

/** As in Jinja: ignores case and keeps the first of equal values. */
function unique([list]: readonly Value[]): Value {
  const key = (item: Value): Value =>
    item.type === 'StringValue' ? toValue(toText(item).toLowerCase()) : item;
  const items = listItems(list);
  if (items.some(({ value }) => typeof value === 'object' && value !== null))
    throw new Error('unique only takes strings and numbers');
  const isFirst = (item: Value, at: number): boolean =>
    items.findIndex((other) => isEqual(key(other), key(item))) === at;
  return toList(items.filter(isFirst));
}

/** Makes a list; with `like`, of the same type. */
export const toList = (items: readonly Value[], like: Value = toValue([])): Value =>
  new (like.constructor as Make)(items);

export function asTuples(pairs: Value): Value {
  for (const pair of pairs.value as Value[]) pair.isTuple = true;
  return pairs;
}

type Functions = Readonly<Record<string, (args: readonly Value[]) => unknown>>;

export const OPERATORS: Functions = {
  '~': (args) => args.map(toText).join(''),
  '==': ([a, b]) => isEqual(a, b),
  '!=': not(isEqual),
  in: ([a, b]) => isIn(a, b),
  'not in': not(isIn),
  '//': divide((a, b) => Math.floor(a / b)),
  '%': divide((a, b) => ((a % b) + b) % b),
};
export const METHODS: Functions = {
  strip: stripper('left', 'right'),
  lstrip: stripper('left'),
  rstrip: stripper('right'),
  capitalize,
  title: titleLetters,
};
export const FILTERS: Functions = {
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
  !['NullValue', 'FunctionValue', 'NamespaceValue'].includes(type) && !isNumber(value);
const hasCase =
  (change: (text: string) => string, other: (text: string) => string) =>
  (value: Value): boolean => {
    const text = toText(value);
    return change(text) === text && other(text) !== text;
  };
const lower = (text: string): string => text.toLowerCase();
const upper = (text: string): string => text.toUpperCase();
export const TESTS: Readonly<Record<string, (value: Value) => boolean>> = {
  iterable: isIterable,
  sequence: isIterable,
  // Jinja's Undefined defines __call__, which raises an error.
  callable: ({ type }) => type === 'FunctionValue' || type === 'UndefinedValue',
  number: ({ value }) => isNumber(value),
  lower: hasCase(lower, upper),
  upper: hasCase(upper, lower),
};

/** The line breaks of Python's `splitlines`. */
const LINE_BREAKS = '\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029';
export const LINE_BREAK = new RegExp(`\r\n|[${LINE_BREAKS}]`, 'g');
