/**
 * `parallelsearch export verl|trl|torch FOLDER`: exports a training setup for another
 * trainer; `export hf FOLDER`: a policy that vLLM, transformers and PEFT load.
 */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { loadPassages, loadQuestions } from '../data/flashrag.js';
import { selectSplit } from '../data/question.js';
import {
  exportableMethods,
  requireExportable,
  type RewardCase,
  type TrainingExport,
} from '../interop/export.js';
import { writeTorch } from '../interop/torch.js';
import { writeTrl } from '../interop/trl.js';
import { toEpisode, TRACES_FILE } from '../interop/verifiers.js';
import { writeVerl } from '../interop/verl.js';
import { readJsonLines, writeLines } from '../io/files.js';
import { TRAIN_CONFIG_FILE } from '../policy/folders/files.js';
import { listFolders } from '../policy/folders/policy-folders.js';
import { exportModel } from '../policy/folders/model-folder.js';
import { ANALYZERS } from '../retrieval/analyzers.js';
import { createRetriever } from '../retrieval/retrievers.js';
import { parseTokens, parseTrajectory } from '../rollout/recorded.js';
import { useBackend } from '../tensor/backend.js';
import { TAG_FORMS, type PromptForm } from '../text/prompts.js';
import { parseTrainConfig } from '../training/config.js';
import { mergeOptions, mergeOverrides } from '../training/overrides.js';
import { trainingPreset } from '../training/presets.js';
import { DEFAULT_METHOD, modelPath, parseModelName } from '../training/models.js';
import { choice, exitWith, interruptible, log, parseCount } from './common/cli-utils.js';
import { checkpointsOption } from './common/options.js';
import { requireDistinctFiles } from './common/outputs.js';
import { parseRolloutSettings, policyFolders, type WeightsSpec } from './common/setup.js';

const NUM_DRAWN = 10_000;

type TrainingSettings = Omit<TrainingExport, 'questions' | 'rewardTest'> & {
  data?: string;
  transcripts?: string[];
};

/** Reads a transcript as text, a trajectory as segments. */
function readCase(value: unknown): RewardCase {
  const { segments, goldenAnswers, questionType } = parseTrajectory(value);
  const { response } = value as { response?: string };
  const written = segments.filter(({ kind }) => kind !== 'prompt');
  return { response: response ?? written, goldenAnswers, questionType };
}

/** @throws Error for a folder with others' files that an export would replace */
function requireOwnFolder(folder: string, { data, model }: { data?: string; model: string }): void {
  requireDistinctFiles([folder], [model, ...(data === undefined ? [] : [data])]);
  const exists = (name: string): boolean => existsSync(path.join(folder, name));
  // An export writes its package first.
  const name = exists(path.join('parallelsearch', '__init__.py'))
    ? undefined
    : ['README.md', 'train.py'].find(exists);
  if (name !== undefined) throw foreignFolder(folder, name);
}

const foreignFolder = (folder: string, name: string): Error =>
  new Error(
    `Expected ${folder} to be a new folder or an earlier export, but it has another ${name}. Choose another folder.`,
  );

/** @throws Error naming an invalid line */
async function readCases(files: readonly string[]): Promise<RewardCase[]> {
  const cases: RewardCase[] = [];
  for (const file of files)
    for await (const one of readJsonLines(file, readCase, 'recorded transcripts')) cases.push(one);
  return cases;
}

type Write = (folder: string, training: TrainingExport) => Promise<{ train: number; val: number }>;

async function runExportTraining(
  folder: string,
  settings: TrainingSettings,
  write: Write,
): Promise<void> {
  requireOwnFolder(folder, settings);
  const { data, transcripts = [], ...training } = settings;
  const { model, method } = training;
  const isLocal = parseModelName(model) !== null || existsSync(model);
  const recorded = await readCases(transcripts);
  const numbers = await write(folder, {
    ...training,
    questions: await loadQuestions(data),
    model: isLocal ? path.resolve(modelPath(model)) : model,
    rewardTest: { recorded, numDrawn: NUM_DRAWN },
  });
  log(
    `${folder}: ${method} from ${model}, ${numbers.train} training and ${numbers.val} validation questions, ` +
      `${recorded.length + NUM_DRAWN} test cases of the rewards. Next steps are in its README.md.`,
  );
}

interface ExportTorchSettings extends Pick<TrainingExport, 'model' | 'method' | 'retriever'> {
  data: string;
  analyzer?: string;
  promptForm: PromptForm;
  set?: string[];
}

/** Writes a training setup for PyTorch; questions with graphs get demonstrations. */
async function runExportTorch(folder: string, settings: ExportTorchSettings): Promise<void> {
  requireOwnFolder(folder, settings);
  const { data, method, retriever, promptForm, set } = settings;
  const instead = "by options of train.py, and reward weights in search.json's reward_kwargs";
  const rollout = parseRolloutSettings(mergeOptions({}, set), instead);
  const model = path.resolve(modelPath(settings.model));
  const [questions, passages] = await Promise.all([loadQuestions(data), loadPassages(data)]);
  const config = parseTrainConfig(
    mergeOverrides(trainingPreset(method, model, 1, { scale: 'language-model', promptForm }), {
      analyzer: settings.analyzer,
      rollout,
    }),
  );
  const { titleWeight, analyzer } = config;
  const annotated = selectSplit(questions, 'train').filter(
    ({ metadata }) => metadata.graph?.length,
  );
  const numbers = await writeTorch(folder, {
    questions,
    config,
    model,
    retriever,
    rewardTest: { recorded: [], numDrawn: NUM_DRAWN },
    ...(annotated.length > 0 && {
      demonstrations: {
        questions: annotated,
        retriever: await createRetriever('bm25', passages, { titleWeight, analyzer }),
      },
    }),
  });
  log(
    `${folder}: ${method} from ${settings.model}, ${numbers.train} training and ${numbers.val} validation questions, ` +
      `${numbers.demonstrations} demonstrations${annotated.length === 0 ? ' (no training question has a dependency graph)' : ''}. Next steps are in its README.md.`,
  );
}

const trainingCommand = (name: string, description: string, methods: string[]): Command =>
  new Command(name)
    .description(description)
    .argument('<folder>', 'output folder; files of an earlier export are replaced')
    .addOption(choice('--method <name>', 'prompt, rewards and algorithm', methods, DEFAULT_METHOD))
    .option(
      '--retriever <url>',
      'server with Search-R1’s protocol, see `serve-retriever`',
      'http://127.0.0.1:8000/retrieve',
    )
    .addOption(
      choice(
        '--prompt-form <form>',
        'chat: the paper’s prompt in the model’s chat template; full: without the template; short: a short prompt',
        TAG_FORMS,
        'chat',
      ),
    );

const exportTrainingCommand = (name: string, description: string, write: Write): Command =>
  trainingCommand(name, description, exportableMethods())
    .option('--data <folder>', 'questions in the FlashRAG layout (default: the small world)')
    .option(
      '--model <name>',
      'model on the Hugging Face Hub, or a folder in Hugging Face format',
      'Qwen/Qwen2.5-7B-Instruct',
    )
    .option('--top-k <n>', 'passages per query', parseCount, 3)
    .option(
      '--record-tokens',
      'make the training record token ids, masks and log-probs for `audit`',
    )
    .option('--transcripts <files...>', 'recorded responses (JSONL) to add to the rewards’ test')
    .action((folder: string, settings: TrainingSettings) =>
      runExportTraining(folder, settings, write),
    );

type ExportHfSettings = WeightsSpec & { dtype: 'float32' | 'float16' };

/** Writes the merged model and its adapter; the exit code is 130 after Ctrl-C. */
export const runExportHf = (folder: string, settings: ExportHfSettings): Promise<number> =>
  interruptible(
    async (signal) => {
      const folders = await policyFolders(settings, signal);
      requireDistinctFiles([folder], listFolders(folders));
      const names = existsSync(folder) ? readdirSync(folder) : [];
      const weights = names.find((name) => /\.(safetensors|bin)$/.test(name));
      if (weights && !names.includes(TRAIN_CONFIG_FILE)) throw foreignFolder(folder, weights);
      await useBackend('auto');
      const storage = settings.dtype === 'float32' ? 'F32' : 'F16';
      await exportModel(folder, folders, { storage, force: settings.force });
      const adapter = folders.adapter === undefined ? '' : '; the adapter is in its folder adapter';
      log(`${folder}: ${listFolders(folders).join(' with ')}${adapter}`);
    },
    { stopped: 'Stopped.' },
  );

/** Writes trajectories as verifiers episodes, with token ids and log-probs. */
async function runExportVerifiers(
  files: readonly string[],
  { out }: { out: string },
): Promise<void> {
  let number = 0;
  async function* episodes(): AsyncGenerator<object> {
    for (const [i, file] of files.entries())
      for await (const line of readJsonLines(file, parseTokens, 'recorded trajectories'))
        yield toEpisode(
          line,
          `${line.questionId}/${++number}`,
          files.length > 1 ? `${i + 1}/` : '',
        );
  }
  const target = path.join(out, TRACES_FILE);
  requireDistinctFiles([target], files);
  await writeLines(target, episodes());
  log(`${target}: ${number} episodes of verifiers`);
}

export const exportInteropCommands = (): Command[] => [
  new Command('hf')
    .description('write a policy in Hugging Face format: merged weights, and the adapter for PEFT')
    .argument('<folder>', 'output folder')
    .option('--model <name>', 'trained model, initial model or folder, as in `evaluate`')
    .option('--adapter <folder>', 'adapter in PEFT format, instead of a committed one')
    .option('--method <name>', `method of the committed adapter (default: ${DEFAULT_METHOD})`)
    .option('--seed <n>', 'seed of the committed adapter', parseCount, 1)
    .addOption(checkpointsOption())
    .option('--force', 'accept an adapter that was trained from another model')
    .addOption(
      choice(
        '--dtype <name>',
        'data type of the merged weights',
        ['float32', 'float16'],
        'float32',
      ),
    )
    .action(exitWith(runExportHf)),
  exportTrainingCommand(
    'verl',
    'write a training setup for verl: questions, rewards, agent loop, the paper’s configuration',
    writeVerl,
  ),
  exportTrainingCommand(
    'trl',
    'write a training setup for TRL’s GRPOTrainer: questions, rewards, rollout function, configuration',
    writeTrl,
  ),
  trainingCommand(
    'torch',
    'write a training setup in plain PyTorch for a small model on one GPU: supervised warm-up, then GRPO',
    exportableMethods().filter((name) => requireExportable(name).algorithm === 'grpo'),
  )
    .requiredOption('--data <folder>', 'questions and passages in the FlashRAG layout')
    .requiredOption('--model <folder>', 'folder of a Llama model in Hugging Face format')
    .addOption(
      choice('--analyzer <name>', 'how BM25 splits text for demonstrations', ANALYZERS.names()),
    )
    .option('--set <name=value...>', 'a setting of the rollout, such as rollout.maxPassageWords=64')
    .action(runExportTorch),
  new Command('verifiers')
    .description('write trajectories as episodes of verifiers, with token ids and log-probs')
    .argument('<files...>', 'trajectories.jsonl of runs, or recorded transcripts (JSONL)')
    .requiredOption('-o, --out <folder>', 'folder for traces.jsonl')
    .action(runExportVerifiers),
];
