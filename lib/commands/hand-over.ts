/**
 * `parallelsearch export verl DIR` and `export trl DIR`: a training as files for another
 * trainer.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Command, Option } from 'commander';
import { loadQuestions } from '../data/flashrag.js';
import { methodsElsewhere, type TrainingExport } from '../interop/export.js';
import type { RewardCase } from '../interop/test-cases.js';
import { writeTrl } from '../interop/trl.js';
import { writeVerl } from '../interop/verl.js';
import { DEFAULT_METHOD, modelPath, parseModelName } from '../methods/checkpoints.js';
import { PROMPT_FORMS, type PromptForm } from '../text/prompts.js';
import { parseCount, log } from './cli-utils.js';
import { parseTrajectory } from '../rollout/recorded.js';
import { streamJsonLines } from '../io/files.js';

/** Drawn responses in the test of the rewards. */
const NUM_DRAWN = 10_000;

interface HandOverSettings {
  data?: string;
  method: string;
  model: string;
  retriever: string;
  promptForm: PromptForm;
  topK: number;
  transcripts?: string[];
}

/** A transcript as the text that was recorded, a trajectory as its segments. */
function readCase(value: unknown): RewardCase {
  const { segments, goldenAnswers, questionType } = parseTrajectory(value);
  const { response } = value as { response?: string };
  const written = segments.filter(({ kind }) => kind !== 'prompt');
  return { response: response ?? written, goldenAnswers, questionType };
}

/**
 * Recorded responses with the answers and shapes of their questions. @throws Error naming
 * the line that is none
 */
async function readCases(files: readonly string[]): Promise<RewardCase[]> {
  const cases: RewardCase[] = [];
  for (const file of files)
    for await (const line of streamJsonLines(file, readCase)) {
      if ('complaint' in line)
        throw new Error(`Expected recorded transcripts, but: ${line.complaint}`);
      cases.push(line.value);
    }
  return cases;
}

type Write = (folder: string, handOver: TrainingExport) => Promise<{ train: number; val: number }>;

async function runHandOver(
  folder: string,
  settings: HandOverSettings,
  write: Write,
): Promise<void> {
  const { data, method, model, retriever, promptForm, topK, transcripts = [] } = settings;
  const isHere = parseModelName(model) !== null || existsSync(model);
  const recorded = await readCases(transcripts);
  const numbers = await write(folder, {
    questions: await loadQuestions(data),
    model: isHere ? path.resolve(modelPath(model)) : model,
    rewardTest: { recorded, numDrawn: NUM_DRAWN },
    method,
    retriever,
    promptForm,
    topK,
  });
  log(
    `${method} from ${model}: ${numbers.train} questions to train on, ${numbers.val} to validate with, ` +
      `${recorded.length + NUM_DRAWN} rewards and their test in ${folder}. Its README.md says how to go on.`,
  );
}

const handOverCommand = (name: string, description: string, write: Write): Command =>
  new Command(name)
    .description(description)
    .argument('<folder>', 'gets the files; those of an earlier export are replaced')
    .option('--data <folder>', 'questions in the FlashRAG layout; by default the small world')
    .addOption(
      new Option('--method <name>', 'prompt, rewards and algorithm')
        .choices(methodsElsewhere())
        .default(DEFAULT_METHOD),
    )
    .option(
      '--model <name>',
      'on the hub, or a folder in Hugging Face format',
      'Qwen/Qwen2.5-7B-Instruct',
    )
    .option(
      '--retriever <url>',
      'a server with Search-R1’s protocol',
      'http://127.0.0.1:8000/retrieve',
    )
    .addOption(
      new Option(
        '--prompt-form <form>',
        'the paper’s prompt in the model’s chat template or without, or the short one',
      )
        .choices(PROMPT_FORMS)
        .default('chat'),
    )
    .option('--top-k <n>', 'passages per query', parseCount, 3)
    .option(
      '--transcripts <files...>',
      'recorded responses (JSONL) for the test of the rewards, too',
    )
    .action((folder: string, settings: HandOverSettings) => runHandOver(folder, settings, write));

/** The commands below `export`. */
export const handOverCommands = (): Command[] => [
  handOverCommand(
    'verl',
    'write what verl needs to train: questions, rewards, agent loop, the paper’s configuration',
    writeVerl,
  ),
  handOverCommand(
    'trl',
    'write what TRL’s GRPOTrainer needs: questions, rewards, rollout function, configuration',
    writeTrl,
  ),
];
