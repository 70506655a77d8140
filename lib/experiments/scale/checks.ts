/**
 * The simulation beside what was measured: an engine under searches that take their time.
 */
import { sum } from 'd3-array';
import { matching } from '../../evaluation/table.js';
import type { MeasuredScale } from './measured.js';
import { simulateRollouts, type Engine, type RolloutShape, type Schedule } from './simulation.js';

interface Setting {
  schedule: Schedule;
  /** Questions at a time. */
  rows: number;
  delayMs: number;
}

/**
 * An engine of which the time of a step is known at some numbers of rows; between these,
 * a straight line. Reading is in its steps.
 */
const engineThrough = (points: readonly (readonly [rows: number, stepMs: number])[]): Engine => ({
  stepMs: (rows) => {
    const after = points.findIndex(([at]) => at >= rows);
    if (after === 0) return points[0][1];
    const [[x0, y0], [x1, y1]] = points.slice(after < 0 ? -2 : after - 1);
    return y0 + ((y1 - y0) * (rows - x0)) / (x1 - x0);
  },
  readMs: () => 0,
});

/** Questions a second. */
function simulated(
  shapes: readonly RolloutShape[],
  engine: Engine,
  { schedule, rows, delayMs }: Setting,
): number {
  const search = { requestMs: delayMs, serviceMs: 0, servers: 1 };
  const cluster = {
    engine,
    search,
    replicas: 1,
    inFlight: rows,
    promptTokens: 0,
    foundTokens: () => 0,
  };
  return (1000 * shapes.length) / simulateRollouts(shapes, cluster, schedule).totalMs;
}

const ROUNDS = 20;

/**
 * The engine with which the simulation answers as many questions a second turn by turn,
 * without a delay, as were measured.
 */
function fittedEngine(
  measured: readonly { rows: number; questionsPerSecond: readonly number[] }[],
  shapes: readonly RolloutShape[],
): Engine {
  const points = measured.map(({ rows }): [number, number] => [rows, 1]);
  for (let round = 0; round < ROUNDS; round++)
    for (const [
      i,
      {
        rows,
        questionsPerSecond: [, median],
      },
    ] of measured.entries())
      points[i][1] *=
        simulated(shapes, engineThrough(points), { schedule: 'turn by turn', rows, delayMs: 0 }) /
        median;
  return engineThrough(points);
}

const numSubQueries = (shape: RolloutShape): number => sum(shape, ({ subQueries }) => subQueries);

/**
 * What the simulation says of delays that were measured. @param asked the shapes of the
 * questions in the order in which the benchmark draws them
 */
export const checksOf = ({ engines }: MeasuredScale, asked: readonly RolloutShape[]) =>
  engines
    .filter(({ rows }) => rows.some(({ delayMs }) => delayMs > 0))
    .flatMap(({ engine, rows, provenance }) => {
      // Evaluation puts questions of like shape beside each other.
      const shapes = asked
        .slice(0, Number(provenance.questions))
        .toSorted((a, b) => a.length - b.length || numSubQueries(a) - numSubQueries(b));
      const fitted = fittedEngine(matching(rows, { schedule: 'turn by turn', delayMs: 0 }), shapes);
      return rows
        .filter(({ delayMs }) => delayMs > 0)
        .map((row) => {
          const [low, value, high] = row.questionsPerSecond;
          const where = { engine, schedule: row.schedule, rows: row.rows, delay_ms: row.delayMs };
          return { ...where, value, low, high, simulated: simulated(shapes, fitted, row) };
        });
    });
