/** Infers shapes of operations' results, to trace graphs without running them. */
import { broadcast_util } from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';

interface OpInput {
  shape: readonly number[];
  /** The values of an input that specifies a shape or an axis. */
  values: () => readonly number[];
}

type Attributes = ReadonlyMap<string, unknown>;
type ShapeRule = (inputs: readonly OpInput[], attributes: Attributes) => number[][];

/** Thrown for an operation whose result shape is only known after it runs. */
export class UnknownShape extends Error {}

const same: ShapeRule = ([x]) => [[...x.shape]];

const broadcast: ShapeRule = (inputs) => [
  inputs
    .map(({ shape }) => [...shape])
    .reduce((a, b) => broadcast_util.assertAndGetBroadcastShape(a, b)),
];

const axisFrom = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis);

const reduction: ShapeRule = ([x, axes], attributes) => {
  const reduced = new Set(axes.values().map((axis) => axisFrom(axis, x.shape.length)));
  return [
    attributes.get('keep_dims')
      ? x.shape.map((size, i) => (reduced.has(i) ? 1 : size))
      : x.shape.filter((_, i) => !reduced.has(i)),
  ];
};

/** The product of two stacks of matrices, each transposed or not. */
function product([a, b]: readonly OpInput[], [isTransposedA, isTransposedB]: unknown[]) {
  const [rows] = a.shape.slice(isTransposedA ? -1 : -2);
  const [columns] = b.shape.slice(isTransposedB ? -2 : -1);
  const stack = broadcast_util.assertAndGetBroadcastShape(
    a.shape.slice(0, -2),
    b.shape.slice(0, -2),
  );
  return [[...stack, rows, columns]];
}

const ALIKE = [
  'Abs Cast ClipByValue Cumsum Exp InplaceUpdate IsFinite IsInf IsNan Log LogSoftmax Neg OnesLike Relu Rsqrt',
  'Sigmoid Sign Softmax Sqrt Square Tanh ZerosLike',
];
const BROADCAST = [
  'Add AddV2 Div DivNoNan Equal Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr Maximum',
  'Minimum Mul NotEqual Pow RealDiv SelectV2 SquaredDifference Sub',
];
const REDUCTIONS = ['All Any Max Mean Min Prod Sum'];
const named = (names: string[], rule: ShapeRule): [string, ShapeRule][] =>
  names.flatMap((line) => line.split(' ')).map((name) => [name, rule]);

const RULES = new Map<string, ShapeRule>([
  ...named(ALIKE, same),
  ...named(BROADCAST, broadcast),
  ...named(REDUCTIONS, reduction),
  ['BatchMatMulV2', (inputs, a) => product(inputs, [a.get('adj_x'), a.get('adj_y')])],
  ['MatMul', (inputs, a) => product(inputs, [a.get('transpose_a'), a.get('transpose_b')])],
  [
    'ConcatV2',
    (inputs) => {
      const shapes = inputs.slice(0, -1).map(({ shape }) => shape);
      const axis = axisFrom(inputs.at(-1)!.values()[0], shapes[0].length);
      return [shapes[0].map((size, i) => (i === axis ? sum(shapes, (own) => own[i]) : size))];
    },
  ],
  [
    'ExpandDims',
    ([x, axis]) => [x.shape.toSpliced(axisFrom(axis.values()[0], x.shape.length + 1), 0, 1)],
  ],
  ['Fill', ([shape]) => [[...shape.values()]]],
  [
    'GatherV2',
    ([x, indices, axis]) => [
      x.shape.toSpliced(axisFrom(axis.values()[0], x.shape.length), 1, ...indices.shape),
    ],
  ],
  ['OneHot', ([indices, depth]) => [[...indices.shape, depth.values()[0]]]],
  [
    'Pack',
    (inputs, attributes) => [
      inputs[0].shape.toSpliced(
        axisFrom(attributes.get('axis') as number, inputs[0].shape.length + 1),
        0,
        inputs.length,
      ),
    ],
  ],
  [
    'PadV2',
    ([x, paddings]) => {
      const sizes = paddings.values();
      return [x.shape.map((size, i) => sizes[2 * i] + size + sizes[2 * i + 1])];
    },
  ],
  [
    'Reshape',
    ([x, shape]) => {
      const sizes = [...shape.values()];
      const known = sizes.reduce((a, b) => (b < 0 ? a : a * b), 1);
      const size = x.shape.reduce((a, b) => a * b, 1);
      return [sizes.map((length) => (length < 0 ? size / known : length))];
    },
  ],
  // The condition may be a vector, one truth value for each row.
  ['Select', ([, x]) => [[...x.shape]]],
  ['ScatterNd', ([, , shape]) => [[...shape.values()]]],
  [
    'Slice',
    ([x, begin, size]) => {
      const starts = begin.values();
      return [size.values().map((n, i) => (n < 0 ? x.shape[i] - starts[i] : n))];
    },
  ],
  [
    'SplitV',
    ([x, sizes, axis]) => {
      const at = axisFrom(axis.values()[0], x.shape.length);
      return sizes.values().map((size) => x.shape.with(at, size));
    },
  ],
  ['Tile', ([x, multiples]) => [multiples.values().map((times, i) => times * x.shape[i])]],
  ['Transpose', ([x, order]) => [order.values().map((axis) => x.shape[axis])]],
]);

/** Infers an operation's result shapes. @throws UnknownShape if it has no rule */
export function inferShapes(
  op: string,
  inputs: readonly OpInput[],
  attributes: Attributes,
): number[][] {
  const rule = RULES.get(op);
  if (!rule) throw new UnknownShape(op);
  return rule(inputs, attributes);
}
