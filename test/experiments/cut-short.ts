import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TRAIN_CONFIG_FILE } from '../../lib/policy/folders/files.js';
import { parseTrainConfig, trainerSettings } from '../../lib/training/config.js';
import { adapterFolder } from '../../lib/experiments/running/policy-runs.js';

const folder = adapterFolder({ method: 'parallelsearch', model: 'instruct', initSeed: 1, seed: 1 });

/** GRPO steps of the weights in the data folder. */
export const numTrainedSteps = trainerSettings(
  parseTrainConfig(JSON.parse(readFileSync(join(folder, TRAIN_CONFIG_FILE), 'utf8'))),
).steps;

/** A training cut short, as by `--retrain --max-steps 1`, does not search. */
export const isCutShort = numTrainedSteps < 50;
