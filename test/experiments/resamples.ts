import { BOOTSTRAP } from '../../lib/evaluation/bootstrap.js';

/** Computes with few resamples, which takes milliseconds. */
export async function withResamples<Result>(
  resamples: number,
  compute: () => Result | Promise<Result>,
): Promise<Result> {
  const usual = BOOTSTRAP.resamples;
  BOOTSTRAP.resamples = resamples;
  try {
    return await compute();
  } finally {
    BOOTSTRAP.resamples = usual;
  }
}
