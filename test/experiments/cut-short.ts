import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { adapterFolder } from '../../lib/training/policy-runs.js';
import { TRAIN_CONFIG_FILE } from '../../lib/policy/folder-settings.js';
import { parseTrainConfig, trainerSettings } from '../../lib/training/config.js';

const folder = adapterFolder({ method: 'parallelsearch', model: 'instruct', initSeed: 1, seed: 1 });

/** GRPO steps of the weights in the data folder. */
export const numTrainedSteps = trainerSettings(
  parseTrainConfig(JSON.parse(readFileSync(join(folder, TRAIN_CONFIG_FILE), 'utf8'))),
).steps;

/**
 * Weights of a training that was cut short, as by `npm start -- --retrain --max-steps 1`,
 * do not search.
 */
export const isCutShort = numTrainedSteps < 50;
