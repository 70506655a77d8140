/** All commands as one program. */
import { createRequire } from 'node:module';
import { Command } from 'commander';
import { requireValues } from './common/cli-utils.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

type LoadCommand = () => Promise<Command>;

/** The commands by group; each command's module is loaded when it is needed. */
const GROUPS: Record<string, Record<string, LoadCommand>> = {
  'Search:': {
    ask: async () => (await import('./ask.js')).askCommand(),
    evaluate: async () => (await import('./evaluate/command.js')).evaluateCommand(),
    score: async () => (await import('./score.js')).scoreCommand(),
    playground: async () => (await import('./playground.js')).playgroundCommand(),
  },
  'Train:': {
    'warm-up': async () => (await import('./warm-up.js')).warmUpCommand(),
    train: async () => (await import('./train.js')).trainCommand(),
    sweep: async () => (await import('./sweep.js')).sweepCommand(),
    methods: async () => (await import('./methods.js')).methodsCommand(),
  },
  'Data and models:': {
    data: async () => (await import('./data.js')).dataCommand(),
    index: async () => (await import('./index-build.js')).indexCommand(),
    'serve-retriever': async () => (await import('./serve-retriever.js')).serveRetrieverCommand(),
    model: async () => (await import('./model.js')).modelCommand(),
    adapters: async () => (await import('./adapters.js')).adaptersCommand(),
    export: async () => (await import('./export.js')).exportCommand(),
    import: async () => (await import('./import.js')).importCommand(),
  },
  'Results:': {
    runs: async () => (await import('./runs.js')).runsCommand(),
    audit: async () => (await import('./audit.js')).auditCommand(),
    compare: async () => (await import('./compare.js')).compareCommand(),
    view: async () => (await import('./view.js')).viewCommand(),
    reproduce: async () => (await import('./reproduce.js')).reproduceCommand(),
    experiment: async () => (await import('./experiment.js')).experimentCommand(),
    notebook: async () => (await import('./notebook.js')).notebookCommand(),
    lab: async () => (await import('./lab.js')).labCommand(),
  },
  'Set up:': {
    init: async () => (await import('./init.js')).initCommand(),
    doctor: async () => (await import('./doctor.js')).doctorCommand(),
  },
};

/** @param wanted loads only the command with this name, if it exists; otherwise all */
export async function createProgram(wanted?: string): Promise<Command> {
  const program = new Command('parallelsearch')
    .description('Train language models to search in parallel with RL (arXiv 2508.09303).')
    .version(version)
    .hook('preAction', async (_, command) => {
      requireValues(command);
      (await import('./common/outputs.js')).checkOutputs(command);
    });
  const isName =
    wanted !== undefined &&
    Object.values(GROUPS).some((commands) => Object.hasOwn(commands, wanted));
  for (const [heading, commands] of Object.entries(GROUPS))
    for (const [name, load] of Object.entries(commands))
      if (!isName || name === wanted)
        program.addCommand(addExamples((await load()).helpGroup(heading)));
  return program;
}

/** Arguments after `npx parallelsearch COMMAND`, by command. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  ask: [
    '"Which is taller, Mount Ory or Mount Sel?" --data my-data',
    '"Who directed Red River?" --data my-data --policy chat:https://HOST/v1 --model NAME',
  ],
  evaluate: [
    '--data my-data --model my-model --out answers.jsonl',
    '--data my-data --policy chat:https://HOST/v1 --model NAME --methods search-r1,parallelsearch --limit 100',
  ],
  score: [
    'trajectories.jsonl',
    'trajectories.jsonl --json',
    'rollouts.jsonl --behaviour --max-turns 4',
  ],
  playground: ['', '--data my-data --adapter runs/mine/adapter'],
  'warm-up': ['--data my-data --model models/smollm2-135m-instruct --out runs/warm-up'],
  train: [
    '--steps 40 --out runs/first',
    '--config high-lambda-d.json --set grpo.learningRate=5e-4 --dry-run',
    '--out runs/first --watch',
  ],
  sweep: ['grid.json --out runs/grid'],
  methods: ['', '--json'],
  'data make': ['my-data notes/*.md manual.html faq.csv passages.parquet'],
  'data check': ['my-data', 'my-data --retriever exact --out unanswerable.jsonl'],
  'data convert': ['hotpot_train_v1.1.json hotpot_dev_distractor_v1.json --out my-data'],
  'index build': ['--data my-data', '--to milvus://127.0.0.1:19530/my_data --data my-data'],
  'serve-retriever': ['--data my-data --retriever bm25 --port 8000'],
  model: ['smollm2-135m-instruct'],
  adapters: ['', 'runs/high-lambda-d'],
  'export reports': ['main-results --out figures'],
  'export tensorboard': ['runs/first'],
  'export hf': ['models/searcher --model smollm2-parallelsearch --dtype float16'],
  'export verl': ['my-training --data my-data --model Qwen/Qwen2.5-7B-Instruct'],
  'export trl': ['my-training --data my-data --model Qwen/Qwen2.5-7B-Instruct'],
  'export torch': ['my-training --data my-data --model models/smollm2-135m-instruct'],
  'export verifiers': ['runs/first/trajectories.jsonl -o traces'],
  'export trackio': ['runs/first runs/second -o trackio'],
  'import verifiers': ['traces --out runs/from-verifiers --data my-data'],
  'import verl': ['my-training --out runs/from-verl --data my-data'],
  'import trl': ['my-training --out runs/from-trl --data my-data'],
  runs: ['', 'runs/grid -o runs.html'],
  audit: ['rollouts.jsonl', 'rollouts.jsonl --model my-model --score', 'runs/first --json'],
  compare: [
    'first=runs/first second=runs/second -o compare.html',
    'api.jsonl here.jsonl',
    'runs/first runs/second --json',
  ],
  view: [
    'runs/first/trajectories.jsonl --out first.html',
    'mine=conversations.jsonl base=trajectories.jsonl --questions my-data/questions.jsonl',
  ],
  reproduce: ['', '--full', '--retrain --max-steps 1'],
  experiment: ['main-results', 'all'],
  'notebook run': ['my-notebook.ipynb'],
  'notebook render': ['my-notebook.ipynb', 'my-notebook.ipynb --to observable'],
  'notebook new': ['my-notebook.ipynb'],
  lab: ['', 'my-notebook.ipynb'],
  init: ['my-project'],
  doctor: ['', '--json'],
};

/** An example of each command in a group. */
const firstExamples = ({ commands }: Command, path: string): string[] =>
  commands.map((command) => {
    const name = command.name();
    return `${name} ${EXAMPLES[`${path} ${name}`][0]}`;
  });

function addExamples(command: Command, path = command.name()): Command {
  for (const child of command.commands) addExamples(child, `${path} ${child.name()}`);
  const examples = command.commands.length > 0 ? firstExamples(command, path) : EXAMPLES[path];
  if (!examples) return command;
  const lines = examples.map((rest) => `  npx parallelsearch ${path} ${rest}`.trimEnd());
  const heading = lines.length > 1 ? 'Examples:' : 'Example:';
  return command.addHelpText('after', `\n${heading}\n${lines.join('\n')}`);
}
