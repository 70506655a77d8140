/** All commands as one program. */
import { createRequire } from 'node:module';
import { Command } from 'commander';
import { addExamples } from './help-examples.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

type LoadCommand = () => Promise<Command>;

/** The commands by group; a command's module is loaded only when it is needed. */
const GROUPS: Record<string, Record<string, LoadCommand>> = {
  'Search:': {
    ask: async () => (await import('./ask.js')).askCommand(),
    evaluate: async () => (await import('./evaluate.js')).evaluateCommand(),
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

/** @param wanted loads only the command of this name, if there is one; else all */
export async function createProgram(wanted?: string): Promise<Command> {
  const program = new Command('parallelsearch')
    .description('Train language models to search in parallel with RL (arXiv 2508.09303).')
    .version(version)
    .hook('preAction', async (_, command) => (await import('./outputs.js')).checkOutputs(command));
  const isName =
    wanted !== undefined &&
    Object.values(GROUPS).some((commands) => Object.hasOwn(commands, wanted));
  for (const [heading, commands] of Object.entries(GROUPS))
    for (const [name, load] of Object.entries(commands))
      if (!isName || name === wanted)
        program.addCommand(addExamples((await load()).helpGroup(heading)));
  return program;
}
