/**
 * Renders Jinja templates as Python does. `@huggingface/jinja` evaluates them with
 * JavaScript's semantics, which this corrects; unsupported features are rejected by name.
 */
import * as jinja from '@huggingface/jinja';
import {
  asTuples,
  FILTERS,
  formatValue,
  LINE_BREAK,
  listItems,
  METHODS,
  OPERATORS,
  RANGE,
  TESTS,
  toList,
  toText,
  toValue,
  type Make,
  type Value,
} from './python-values.js';

interface Node {
  type: string;
  value?: unknown;
  [field: string]: unknown;
}

/** The variables in scope. */
interface Scope {
  variables: Map<string, Value>;
  set(name: string, value: unknown): Value;
  setVariable(name: string, value: Value): void;
  lookupVariable(name: string): Value;
}

/** The library's interpreter, including its private methods. */
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

/** Types that are missing from the library's own declarations. */
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
  /** Index of the innermost bracket around the token. */
  bracket?: number;
}

const Func = toValue(() => 1).constructor as Make;

/** Rejects arguments for which the library's filters differ from Python's. */
function checkFilter(name: string, operand: Value, args: readonly Value[]): void {
  const holds = (value: Value, types: readonly string[]): boolean =>
    types.includes(value.type) ||
    (value.value instanceof Map
      ? [...(value.value.values() as Iterable<Value>)]
      : value.value instanceof Array
        ? value.value
        : []
    ).some((inner: Value) => holds(inner, types));
  if (name === 'tojson' && holds(operand, ['FloatValue', 'UndefinedValue', RANGE]))
    throw new Error('tojson of floats, ranges and undefined values is not supported');
  const [attribute, test] = args.map(toText);
  if (name.endsWith('ectattr') && (attribute.includes('.') || test === 'undefined'))
    throw new Error(`${name} of ${args.map(formatValue).join(', ')} is not supported`);
}

/** Tests with an argument, by their names in `selectattr`, as operators. */
const ATTRIBUTE_TESTS: ReadonlyMap<unknown, string> = new Map([
  ['in', 'in'],
  ['eq', '=='],
  ['==', '=='],
  ['equalto', '=='],
  ['ne', '!='],
  ['!=', '!='],
]);

function call(compute: (args: readonly Value[]) => unknown, args: readonly Value[]): Value {
  const result = compute(args);
  return typeof result === 'object' && result !== null ? (result as Value) : toValue(result);
}

/** Names a node in error messages. */
function describe({ type, value, object, property }: Node): string {
  if (type === 'MemberExpression')
    return [object, property].map((part) => describe(part as Node)).join('.');
  return type.endsWith('Literal') || type === 'Identifier' ? String(value) : type;
}

/** Gives `~` precedence over `+` and `-`; the library parses them left to right. */
function joinFirst(node: Node): Node {
  const operator = node.operator as Token | undefined;
  if (node.type !== 'BinaryExpression' || operator!.value !== '~') return node;
  const left = joinFirst(node.left as Node);
  const outer = left.operator as Token | undefined;
  const isSum = left.type === 'BinaryExpression' && /^[+-]$/.test(outer!.value);
  return isSum && outer!.bracket === operator!.bracket
    ? { ...left, right: { ...node, left: left.right } }
    : { ...node, left };
}

/** Statements without output. */
const SILENT = new Set(['Set', 'Macro', 'Comment']);

/** Thrown by `break` and `continue`; carries the text rendered so far. */
class Stop extends Error {
  text = '';
  constructor(readonly isBreak: boolean) {
    super('break and continue are only allowed in a loop');
  }
}

interface LoopState {
  isBroken: boolean;
  /** Iterations with a `break` or `continue`, and without. */
  numStopped: number;
  numFinished: number;
}

/**
 * The library's interpreter with Python's operators, filters, methods, tests and scopes.
 */
class PythonInterpreter extends Interpreter {
  /** The state of each running loop, by its body. */
  private readonly loops = new Map<unknown, LoopState>();

  override evaluate(node: Node | undefined, scope: Scope): Value {
    if (node?.type === 'Break' || node?.type === 'Continue') throw new Stop(node.type === 'Break');
    return node?.type === 'Value' ? (node.value as Value) : super.evaluate(node, scope);
  }

  override evaluateBinaryExpression(parsed: Node, scope: Scope): Value {
    const node = joinFirst(parsed);
    const operator = (node.operator as Node).value as string;
    if (operator === 'and' || operator === 'or') return super.evaluateBinaryExpression(node, scope);
    const args = [node.left, node.right].map((side) => this.evaluate(side as Node, scope));
    if (Object.hasOwn(OPERATORS, operator)) return call(OPERATORS[operator], args);
    if (operator === '+' && new Set(args.map(({ type }) => type === 'StringValue')).size > 1)
      throw new Error('a string can only be added to a string');
    if (operator === '+' && args.some(({ type }) => type === RANGE))
      throw new Error('a range cannot be added to other values');
    const [left, right] = args.map((value) => ({ type: 'Value', value }));
    return super.evaluateBinaryExpression({ ...node, left, right }, scope);
  }

  override evaluateMemberExpression(node: Node, scope: Scope): Value {
    const value = this.evaluate(node.object as Node, scope);
    const property = node.property as Node;
    const name = node.computed ? undefined : (property.value as string);
    if (value.type === 'UndefinedValue')
      throw new Error(`${describe(node.object as Node)} is undefined, so it has no attributes`);
    if (value.type === 'ObjectValue' && name !== undefined && value.builtins.has(name))
      return value.builtins.get(name)!;
    const member = { ...node, object: { type: 'Value', value } };
    if (property.type === 'SliceExpression') {
      const slice = super.evaluateMemberExpression(member, scope);
      if (!Array.isArray(slice.value)) return slice;
      return Object.assign(toList(slice.value as Value[], value), { type: value.type });
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
    if (this.evaluate(held, scope).type === 'UndefinedValue')
      throw new Error(`the method ${name} is not supported`);
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
    if (name === 'map' && args.length > 0)
      return toList(listItems(operand).map((item) => this.applyNamed(item, filter, scope)));
    const isSelect = name === 'selectattr';
    const operator = ATTRIBUTE_TESTS.get(args.length > 2 ? args[1].value : undefined);
    if ((isSelect || name === 'rejectattr') && operator !== undefined) {
      const isKept = (item: Value): boolean =>
        OPERATORS[operator]([this.attribute(item, args[0], scope), args[2]]) === isSelect;
      return toList(listItems(operand).filter(isKept));
    }
    const text = name === 'indent' ? toText(operand).replace(LINE_BREAK, '\n') : undefined;
    const result = super.applyFilter(text === undefined ? operand : toValue(text), filter, scope);
    return name === 'items' || name === 'dictsort' ? asTuples(result) : result;
  }

  /** Applies the filter that `map` names first, with its other arguments. */
  private applyNamed(item: Value, { args }: Node, scope: Scope): Value {
    const [name, ...others] = args as Node[];
    const callee = { type: 'Identifier', value: this.evaluate(name, scope).value };
    const filter = others.length > 0 ? { type: 'CallExpression', callee, args: others } : callee;
    return this.applyFilter(item, filter, scope);
  }

  private attribute(item: Value, name: Value, scope: Scope): Value {
    const [object, property] = [item, name].map((value) => ({ type: 'Value', value }));
    const member = { type: 'MemberExpression', object, property, computed: true };
    return this.evaluateMemberExpression(member, scope);
  }

  override evaluateTestExpression(node: Node, scope: Scope): Value {
    const name = (node.test as Node).value as string;
    if (!Object.hasOwn(TESTS, name)) return super.evaluateTestExpression(node, scope);
    return toValue(TESTS[name](this.evaluate(node.operand as Node, scope)) !== node.negate);
  }

  override evaluateFor(node: Node, scope: Scope): Value {
    const outer = this.loops.get(node.body);
    const state = { isBroken: false, numStopped: 0, numFinished: 0 };
    this.loops.set(node.body, state);
    const text = super.evaluateFor(node, scope);
    if (outer) this.loops.set(node.body, outer);
    if (state.numStopped === 0 || state.numFinished > 0) return text;
    // Jinja runs the else block if no iteration finished.
    return toValue(
      toText(text) +
        toText(this.evaluateBlock(node.defaultBlock as Node[], new Environment(scope))),
    );
  }

  /** Macros see the variables of where they are defined, not of where they are called. */
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

  /** Each iteration of a loop has its own scope, and keeps its text at a `break`. */
  override evaluateBlock(statements: readonly Node[], scope: Scope): Value {
    const loop = this.loops.get(statements);
    if (loop?.isBroken) return toValue('');
    const own = loop ? new Environment(scope) : scope;
    let text = '';
    try {
      for (const statement of statements) {
        const value = this.evaluate(statement, own);
        if (!SILENT.has(statement.type)) text += toText(value);
      }
      if (loop) loop.numFinished++;
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
      error.text = text + error.text;
      if (!loop) throw error;
      loop.numStopped++;
      loop.isBroken = error.isBreak;
      text = error.text;
    }
    return toValue(text);
  }
}

/**
 * Records each token's bracket, which the library drops, and rejects `a < b < c`, which
 * Python reads as two comparisons.
 */
function noteBrackets(tokens: readonly Token[]): void {
  const open = [{ bracket: 0, isCompared: false }];
  for (const [i, token] of tokens.entries()) {
    const { type, value } = token;
    const inner = open.at(-1)!;
    const isComparison =
      type === 'ComparisonBinaryOperator' || (type === 'Identifier' && value === 'in');
    token.bracket = inner.bracket;
    if (type.startsWith('Open')) open.push({ bracket: i + 1, isCompared: false });
    else if (type.startsWith('Close')) open.pop();
    else if (isComparison && inner.isCompared)
      throw new Error(
        `chained comparisons, such as before ${value}, are not supported; join them with and`,
      );
    else if (isComparison) inner.isCompared = true;
    else if (!['StringLiteral', 'Text', 'Comment'].includes(type) && SEPARATORS.has(value))
      inner.isCompared = false;
  }
}

/** Tokens that end a comparison. */
const SEPARATORS = new Set(['and', 'or', 'if', 'else', ',', '=', ':']);

/** Global functions. The library's own are only exposed to templates. */
const FUNCTIONS = new Map<string, Value>();
new Template('{{ keep(range) }}').render({
  keep: (range: unknown) => void FUNCTIONS.set('range', new Func(range)),
});
/** The limit of Jinja2's sandbox, which transformers uses. */
const MAX_RANGE = 100_000;
const { value: makeRange } = FUNCTIONS.get('range') as {
  value: (args: readonly Value[], scope: unknown) => Value;
};
FUNCTIONS.set(
  'range',
  new Func((args: readonly Value[], scope: unknown) => {
    const numbers = args.flatMap(({ value }) => (typeof value === 'number' ? value : []));
    const [start, stop, step = 1] = numbers.length === 1 ? [0, ...numbers] : numbers;
    if ((stop - start) / step > MAX_RANGE)
      throw new Error(`a range of more than ${MAX_RANGE} numbers is not supported`);
    return Object.assign(makeRange(args, scope), { type: RANGE });
  }),
);

/**
 * Formats the time as Python's `strftime` does. The library names months in the machine's
 * language and prints most codes as they are.
 */
function formatNow(format: string): string {
  const now = new Date();
  const name = (options: Intl.DateTimeFormatOptions): string =>
    now.toLocaleString('en-US', options);
  const codes: Record<string, string | number> = {
    '%': '%',
    Y: now.getFullYear(),
    m: now.getMonth() + 1,
    d: now.getDate(),
    H: now.getHours(),
    I: now.getHours() % 12 || 12,
    M: now.getMinutes(),
    S: now.getSeconds(),
    p: now.getHours() < 12 ? 'AM' : 'PM',
    a: name({ weekday: 'short' }),
    A: name({ weekday: 'long' }),
    b: name({ month: 'short' }),
    B: name({ month: 'long' }),
  };
  return format.replaceAll(/%(-?)(.?)/gsu, (code, minus: string, letter: string) => {
    if (!Object.hasOwn(codes, letter)) throw new Error(`strftime_now of ${code} is not supported`);
    return minus ? `${codes[letter]}` : `${codes[letter]}`.padStart(letter === '%' ? 1 : 2, '0');
  });
}
FUNCTIONS.set(
  'strftime_now',
  new Func(([format]: readonly Value[]) => toValue(formatNow(toText(format)))),
);

const raise = (message: string): never => {
  throw new Error(message);
};
const CONSTANTS = { true: true, false: false, none: null, True: true, False: false, None: null };

export function compileTemplate(source: string): (variables: object) => string {
  // Jinja reads any line break as \n.
  const tokens = tokenize(source.replace(/\r\n?/g, '\n'), {
    lstrip_blocks: true,
    trim_blocks: true,
  });
  noteBrackets(tokens);
  const program = parse(tokens);
  return (variables) => {
    const scope = new Environment();
    for (const [name, value] of FUNCTIONS) scope.setVariable(name, value);
    const values = { ...CONSTANTS, raise_exception: raise, ...variables };
    for (const [name, value] of Object.entries(values)) scope.set(name, value);
    return toText(new PythonInterpreter(scope).evaluate(program, scope));
  };
}
