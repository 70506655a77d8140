/**
 * The variants of GRPO compared with TRL's functions
 * (`scripts/fixtures/trl_variants.py`).
 */
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import type { With } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import {
  decoupledAdvantages,
  groupAdvantages,
  isZeroVariance,
  phantomAdvantages,
  withAdvantages,
} from '../../lib/training/advantages.js';
import { clipStatistics, grpoLoss, tokenWeights, type GrpoRow } from '../../lib/training/grpo.js';
import type { GrpoVariant } from '../../lib/training/variants.js';
import { readFixture } from '../fixtures/read.js';
import { expectClose } from './close.js';
import { grpo, trainedValues } from './trl-fixtures.js';

interface LossCase {
  loss_type: GrpoVariant['lossType'];
  importance_sampling_level: GrpoVariant['importanceSamplingLevel'];
  epsilon: number;
  epsilon_high: number;
  mini_batches: number;
  beta: number;
  loss: number;
  gradient: number[][];
  clip_ratio?: number;
}
interface AdvantageCase {
  left_out: number[];
  multi_objective_aggregation: GrpoVariant['multiObjectiveAggregation'];
  scale_rewards: GrpoVariant['scaleRewards'];
  advantages: number[];
}
interface Fixture {
  settings: { max_completion_length: number; advantage_eps: number };
  old_log_probs: number[][];
  rewards_per_func: number[][];
  weights: number[];
  advantages: AdvantageCase[];
  losses: LossCase[];
  truncations: (LossCase & { truncated: number })[];
}
const trl = readFixture<Fixture>('trl.json');
const { G } = grpo.settings;
const maxCompletionLength = trl.settings.max_completion_length;

await useBackend('wasm');

/** A rollout's trained tokens. */
interface Row {
  logProbs: number[];
  oldLogProbs: number[];
  referenceLogProbs: number[];
  advantage: number;
}
const [logProbs, oldLogProbs, referenceLogProbs] = [
  grpo.log_probs,
  trl.old_log_probs,
  grpo.inputs.reference_log_probs,
].map(trainedValues);
const rows = grpo.advantages_unbiased.map((advantage, b): Row => {
  return {
    logProbs: logProbs[b],
    oldLogProbs: oldLogProbs[b],
    referenceLogProbs: referenceLogProbs[b],
    advantage,
  };
});

type Variant = Pick<GrpoVariant, 'lossType' | 'importanceSamplingLevel' | 'clip' | 'epsilonHigh'>;

/**
 * The mean of the losses over mini-batches of rows distributed in turn, and its gradient
 * by row and token.
 */
function meanLoss(
  dealt: readonly Row[],
  { lossType, ...options }: Variant,
  miniBatches: number,
): { loss: number; gradient: number[][] } {
  const lengths = dealt.map(({ logProbs }) => logProbs.length);
  const weights = tokenWeights(lengths, { lossType, miniBatches, maxCompletionLength });
  const gradient: number[][] = dealt.map(() => []);
  let loss = 0;
  for (let b = 0; b < miniBatches; b++) {
    const indices = dealt.flatMap((_, i) => (i % miniBatches === b ? [i] : []));
    const numTokens = indices.reduce((sum, i) => sum + lengths[i], 0);
    const column = (value: (row: Row, i: number) => number[]): tf.Tensor1D =>
      tf.tensor1d(indices.flatMap((i) => value(dealt[i], i)));
    const tokens = {
      oldLogProbs: column((row) => row.oldLogProbs),
      referenceLogProbs: column((row) => row.referenceLogProbs),
      advantages: column(({ logProbs, advantage }) => logProbs.map(() => advantage)),
      weights: column(({ logProbs }, i) => logProbs.map(() => weights[i] ?? 1 / numTokens)),
      rowLengths: indices.map((i) => lengths[i]),
    };
    const { value, grad } = tf.valueAndGrad((x) =>
      grpoLoss(x as tf.Tensor1D, tokens, { ...options, beta: 0.01 }),
    )(column((row) => row.logProbs));
    loss += value.dataSync()[0] / miniBatches;
    const parts = [...grad.dataSync()];
    for (const i of indices)
      gradient[i] = parts.splice(0, lengths[i]).map((part) => part / miniBatches);
  }
  return { loss, gradient };
}

const variantOf = (one: LossCase): Variant => ({
  lossType: one.loss_type,
  importanceSamplingLevel: one.importance_sampling_level,
  clip: one.epsilon,
  epsilonHigh: one.epsilon_high,
});

describe('the loss', () => {
  it.each(trl.losses)(
    "equals TRL's with its gradient within 1e-6: $loss_type, per $importance_sampling_level, up to 1 + $epsilon_high, mini-batches: $mini_batches",
    (one) => {
      const { loss, gradient } = meanLoss(rows, variantOf(one), one.mini_batches);
      expectClose([loss], [one.loss]);
      const trained = one.gradient.map((row, b) =>
        row.filter((_, t) => grpo.inputs.loss_mask[b][t] === 1),
      );
      expectClose(gradient.flat(), trained.flat());
    },
  );

  it.each(trl.truncations)(
    "without a truncated rollout equals TRL's with its gradient within 1e-6: $loss_type",
    ({ truncated, ...one }) => {
      const kept = rows.filter((_, b) => b !== truncated);
      const { loss, gradient } = meanLoss(kept, variantOf(one), 1);
      // TRL includes it in the number of rollouts.
      const isPerRollout = one.loss_type === 'grpo' || one.loss_type === 'dr_grpo';
      const share = isPerRollout ? kept.length / rows.length : 1;
      expectClose([loss * share], [one.loss]);
      const trained = one.gradient.map((row, b) =>
        row.filter((_, t) => grpo.inputs.loss_mask[b][t] === 1),
      );
      expect(trained[truncated].every((value) => value === 0)).toBe(true);
      const expected = trained.filter((_, b) => b !== truncated);
      expectClose(
        gradient.flat().map((value) => value * share),
        expected.flat(),
      );
    },
  );

  it('counts clipped tokens like TRL, with both limits', () => {
    const counted = trl.losses.filter(({ clip_ratio }) => clip_ratio !== undefined);
    expect(new Set(counted.map(({ clip_ratio }) => clip_ratio)).size).toBeGreaterThan(1);
    for (const one of counted) {
      const passRows = rows.map(
        ({ advantage, ...row }) =>
          ({ ...row, advantages: row.logProbs.map(() => advantage) }) as unknown as GrpoRow,
      );
      const logProbs = Float32Array.from(rows.flatMap((row) => row.logProbs));
      const statistics = clipStatistics([{ rows: passRows, values: { logProbs } }], {
        numTokens: logProbs.length,
        ...variantOf(one),
      });
      expect(statistics.clip_ratio).toBeCloseTo(one.clip_ratio!, 6);
    }
  });

  const plain: Omit<Variant, 'lossType'> = {
    importanceSamplingLevel: 'token',
    clip: 0.2,
    epsilonHigh: 0.2,
  };

  it('lets epsilonHigh raise only the upper limit', () => {
    const tokenLoss = (ratio: number, advantage: number, epsilonHigh: number) => {
      const logProbs = [Math.log(ratio)];
      const row = { logProbs, oldLogProbs: [0], referenceLogProbs: logProbs, advantage };
      const { loss, gradient } = meanLoss([row], { ...plain, lossType: 'bnpo', epsilonHigh }, 1);
      return [loss, ...gradient[0]];
    };
    // Clipped at 1.2, not at 1.28.
    expectClose(tokenLoss(1.25, 1, 0.2), [-1.2, 0]);
    expectClose(tokenLoss(1.25, 1, 0.28), [-1.25, -1.25]);
    expectClose(tokenLoss(1.5, 1, 0.28), [-1.28, 0]);
    expectClose(tokenLoss(1.5, -1, 0.28), [1.5, 1.5]);
    // The lower limit stays 0.8.
    expectClose(tokenLoss(0.75, -1, 0.28), [0.8, 0]);
    expectClose(tokenLoss(0.75, 1, 0.28), [-0.75, -0.75]);
  });

  it('uses the geometric mean of token ratios as the ratio of a sequence', () => {
    // Ratios 4 and 1: geometric mean 2, not clipped below 1 + 1.5; each token has half of
    // the gradient.
    const logProbs = [Math.log(4), 0];
    const row = { logProbs, oldLogProbs: [0, 0], referenceLogProbs: logProbs, advantage: 1 };
    const options = { ...plain, importanceSamplingLevel: 'sequence', lossType: 'grpo' } as const;
    const wide = { ...options, epsilonHigh: 1.5 };
    const { loss, gradient } = meanLoss([row], wide, 1);
    expect(loss).toBeCloseTo(-2, 6);
    expectClose(gradient[0], [-1, -1]);
    const clipped = meanLoss([row], options, 1);
    expect(clipped.loss).toBeCloseTo(-1.2, 6);
    expectClose(clipped.gradient[0], [0, 0]);
  });

  it.each(['grpo', 'dapo', 'dr_grpo'] as const)(
    'gives the same sum with 1 and 4 mini-batches: %s',
    (lossType) => {
      // Six rows: mini-batches of 2, 2, 1 and 1.
      for (const importanceSamplingLevel of ['token', 'sequence'] as const) {
        const variant = { ...plain, importanceSamplingLevel, lossType };
        const [one, four] = [1, 4].map((miniBatches) => meanLoss(rows, variant, miniBatches));
        expectClose([four.loss], [one.loss]);
        expectClose(four.gradient.flat(), one.gradient.flat());
      }
    },
  );

  it('rejects ratios per sequence without the lengths of rows', () => {
    const one = tf.zeros<tf.Rank.R1>([1]);
    const tokens = { oldLogProbs: one, referenceLogProbs: one, advantages: one, weights: one };
    expect(() =>
      grpoLoss(one, tokens, { clip: 0.2, beta: 0, importanceSamplingLevel: 'sequence' }),
    ).toThrow('rowLengths');
  });
});

describe('advantages', () => {
  const { weights, rewards_per_func: rewards } = trl;
  it.each(trl.advantages)(
    "equal TRL's within 1e-6: $multi_objective_aggregation, scale $scale_rewards, left out $left_out",
    ({ left_out, multi_objective_aggregation, scale_rewards, advantages }) => {
      const present = rewards.map((values, i) => (left_out.includes(i) ? null : values));
      const options = { scaleRewards: scale_rewards, epsilon: trl.settings.advantage_eps };
      const totals = present.map(
        (values) => values && values.reduce((sum, value, k) => sum + weights[k] * value, 0),
      );
      const ours =
        multi_objective_aggregation === 'normalize_then_sum'
          ? decoupledAdvantages(present, G, { ...options, weights })
          : groupAdvantages(totals, G, options);
      expectClose(ours, advantages);
    },
  );

  it('keep the only success of a group at any scale', () => {
    const only = [1, 0, 0, 0];
    expectClose(groupAdvantages(only, 4), [1.5, -0.5, -0.5, -0.5], 1e-5);
    const none = groupAdvantages(only, 4, { scaleRewards: 'none' });
    expectClose(none, [0.75, -0.25, -0.25, -0.25]);
    // With a group of failures, the variance of the step is (0.875^2 + 7 * 0.125^2) / 7.
    const batch = groupAdvantages([...only, 0, 0, 0, 0], 4, { scaleRewards: 'batch' });
    const deviation = Math.sqrt((0.875 ** 2 + 7 * 0.125 ** 2) / 7);
    expectClose(batch, [...only.map((r) => (r - 0.25) / deviation), 0, 0, 0, 0], 1e-5);
    const decoupled = decoupledAdvantages(
      only.map((r) => [r, 0]),
      4,
      { weights: [1, 1] },
    );
    expectClose(decoupled, [1.5, -0.5, -0.5, -0.5], 1e-5);
  });

  it('let a small reward count as much as a large one with normalize_then_sum', () => {
    // Normalised: [1, -1, 0] and [0, -1, 1]; their sums are [1, -2, 1], with mean 0 and
    // variance 3 (n - 1).
    const small = [
      [1, 0],
      [0, -0.01],
      [0.5, 0.01],
    ];
    const [a, b, c] = decoupledAdvantages(small, 3, { weights: [1, 1] });
    expectClose(
      [a, b, c],
      [1, -2, 1].map((x) => x / Math.sqrt(3)),
      1e-3,
    );
  });

  it.each(['group', 'batch', 'none'] as const)(
    'treat 0.1 + 0.2 and 0.3 as equal, scale %s',
    (scaleRewards) => {
      const equal = [0.1 + 0.2, 0.3, 0.3, 0.3];
      const useful = groupAdvantages([...equal, 1, 0, 0, 0], 4, { scaleRewards });
      expect(useful.slice(0, 4)).toEqual([0, 0, 0, 0]);
      expect(useful[4]).toBeGreaterThan(0);
    },
  );

  it('treat 0.1 + 0.2 and 0.3 as equal with normalize_then_sum', () => {
    const rewards = [0.1 + 0.2, 0.3, 0.3, 0.3, 1, 0, 0, 0].map((r) => [r, r]);
    const advantages = decoupledAdvantages(rewards, 4, { weights: [1, 1] });
    expect(advantages.slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(advantages[4]).toBeGreaterThan(0);
  });
});

describe('withAdvantages', () => {
  const rewarded = (outcome: number, shaping: number, turnRewards?: number[]) =>
    ({
      rewards: { outcome, shaping, total: outcome + shaping },
      turnRewards,
    }) as unknown as With<'rewards'>;
  const advantages = (...args: Parameters<typeof withAdvantages>): number[] =>
    withAdvantages(...args).map(({ advantage }) => advantage);
  /** A group with a correct rollout, and one without. */
  const sampled = [rewarded(1, -0.3), rewarded(0, 0.5), rewarded(0, 0.45), rewarded(0, 0)];

  it('ignores tokens and rewards of masked rollouts', () => {
    const isMasked = ({ rewards }: With<'rewards'>): boolean => rewards.shaping === 7;
    const three = [rewarded(1, 0), rewarded(0, 0.2), rewarded(0, 0)];
    for (const multiObjectiveAggregation of ['sum_then_normalize', 'normalize_then_sum'] as const)
      for (const outcomeGate of ['none', 'group'] as const) {
        const options = { multiObjectiveAggregation, outcomeGate };
        const masked = advantages([...three, rewarded(1, 7)], 4, { ...options, isMasked });
        expect(masked).toEqual([...advantages(three, 3, options), 0]);
      }
    // The only correct rollout is masked: the gate stays shut.
    const shut = [rewarded(0, 0.2), rewarded(1, 7)];
    expect(advantages(shut, 2, { outcomeGate: 'group', isMasked })).toEqual([0, 0]);
  });

  it('with outcomeGate per rollout, shaping only counts for correct rollouts', () => {
    const gated = advantages(sampled, 2, { outcomeGate: 'rollout' });
    expectClose(gated, [...groupAdvantages([0.7, 0], 2), 0, 0]);
    expect(gated[0]).toBeGreaterThan(0);
  });

  it('with outcomeGate per group, shaping only counts in groups with a correct rollout', () => {
    const gated = advantages(sampled, 2, { outcomeGate: 'group' });
    expectClose(gated, [...groupAdvantages([0.7, 0.5], 2), 0, 0]);
  });

  it('with outcomeGate, turn rewards are gated and weights apply, too', () => {
    const turns = [rewarded(0, 0, [1]), rewarded(0, 0, [3])];
    expect(isZeroVariance(withAdvantages(turns, 2))).toBe(false);
    expect(isZeroVariance(withAdvantages(turns, 2, { outcomeGate: 'group' }))).toBe(true);
    const rewards = [{ name: 'outcome', weight: 2 }, { name: 'shaping' }];
    const totals = advantages(sampled.slice(0, 2), 2, {
      outcomeGate: 'rollout',
      rewards,
      scaleRewards: 'none',
    });
    // The correct rollout keeps its recorded total.
    expectClose(totals, [0.35, -0.35]);
  });

  it('closed gates keep partial outcomes with their weight', () => {
    const options = {
      outcomeGate: 'rollout',
      rewards: [{ name: 'shaping' }, { name: 'outcome', weight: 2 }],
      scaleRewards: 'none',
    } as const;
    // The totals are 0.8 and 0: 0.5 of the first and 0.9 of the second do not count.
    expectClose(advantages([rewarded(0.4, 0.5), rewarded(0, 0.9)], 2, options), [0.4, -0.4]);
  });

  it('with normalize_then_sum, each reward is normalised, the total is not a reward', () => {
    const options = { multiObjectiveAggregation: 'normalize_then_sum' } as const;
    const group = [rewarded(1, 5), rewarded(0, 2), rewarded(0, 1)];
    const rewards = group.map(({ rewards: { outcome, shaping } }) => [outcome, shaping]);
    const weighted = [{ name: 'outcome', weight: 3 }, { name: 'shaping' }];
    expect(advantages(group, 3, options)).toEqual(
      decoupledAdvantages(rewards, 3, { weights: [1, 1] }),
    );
    expect(advantages(group, 3, { ...options, rewards: weighted })).toEqual(
      decoupledAdvantages(rewards, 3, { weights: [3, 1] }),
    );
    expect(advantages(group, 3, options)).not.toEqual(advantages(group, 3));
  });

  it('masked rollouts have no turn advantages', () => {
    const turns = [rewarded(1, 0, [1]), rewarded(0, 7, [3])];
    const isMasked = ({ rewards }: With<'rewards'>): boolean => rewards.shaping === 7;
    const [used, masked] = withAdvantages(turns, 2, { isMasked });
    expect(used.turnAdvantages).toEqual([0]);
    expect(masked).not.toHaveProperty('turnAdvantages');
  });

  it('phantomAdvantages is the fraction of groups without a correct rollout', () => {
    expect(phantomAdvantages([sampled.slice(0, 2), sampled.slice(2)])).toBe(0.5);
    expect(phantomAdvantages([])).toBe(0);
  });
});
