/** Names of the files of models, adapters (in PEFT's format) and training runs. */

export const MODEL_CONFIG = 'config.json';
export const MODEL_WEIGHTS = 'model.safetensors';

export const ADAPTER_CONFIG = 'adapter_config.json';
export const ADAPTER_WEIGHTS = 'adapter_model.safetensors';

/** The training configuration, stored with what was trained. */
export const TRAIN_CONFIG_FILE = 'train_config.json';

export const RUN_FILE = 'run.json';

/** Metrics of a run, one line per step, and its rollouts, one line each. */
export const METRICS_FILE = 'metrics.jsonl';
export const TRAJECTORIES_FILE = 'trajectories.jsonl';
