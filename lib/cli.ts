#!/usr/bin/env node
import { createRequire } from 'node:module';
import { Command } from 'commander';

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

type LoadCommand = () => Promise<Command>;

/** The commands by group; a command's module is loaded only when it is needed. */
const GROUPS: Record<string, Record<string, LoadCommand>> = {
  'Search:': {
    ask: async () => (await import('./commands/ask.js')).askCommand(),
    evaluate: async () => (await import('./commands/evaluate.js')).evaluateCommand(),
    score: async () => (await import('./commands/score.js')).scoreCommand(),
    playground: async () => (await import('./commands/playground.js')).playgroundCommand(),
  },
  'Train:': {
    'warm-up': async () => (await import('./commands/warm-up.js')).warmUpCommand(),
    train: async () => (await import('./commands/train.js')).trainCommand(),
    sweep: async () => (await import('./commands/sweep.js')).sweepCommand(),
  },
  'Data and models:': {
    data: async () => (await import('./commands/data.js')).dataCommand(),
    index: async () => (await import('./commands/index-build.js')).indexCommand(),
    'serve-retriever': async () =>
      (await import('./commands/serve-retriever.js')).serveRetrieverCommand(),
    model: async () => (await import('./commands/model.js')).modelCommand(),
    adapters: async () => (await import('./commands/adapters.js')).adaptersCommand(),
    export: async () => (await import('./commands/export.js')).exportCommand(),
    import: async () => (await import('./commands/import.js')).importCommand(),
  },
  'Results:': {
    compare: async () => (await import('./commands/compare.js')).compareCommand(),
    view: async () => (await import('./commands/view.js')).viewCommand(),
    reproduce: async () => (await import('./commands/reproduce.js')).reproduceCommand(),
    experiment: async () => (await import('./commands/experiment.js')).experimentCommand(),
    notebook: async () => (await import('./commands/notebook.js')).notebookCommand(),
    lab: async () => (await import('./commands/lab.js')).labCommand(),
  },
  'Set up:': {
    init: async () => (await import('./commands/init.js')).initCommand(),
    doctor: async () => (await import('./commands/doctor.js')).doctorCommand(),
  },
};

async function main(): Promise<void> {
  const program = new Command('parallelsearch')
    .description('Train language models to search in parallel with RL (arXiv 2508.09303).')
    .version(version);
  const wanted = process.argv[2];
  const isName = Object.values(GROUPS).some((commands) => Object.hasOwn(commands, wanted));
  for (const [heading, commands] of Object.entries(GROUPS))
    for (const [name, load] of Object.entries(commands))
      if (!isName || name === wanted) program.addCommand((await load()).helpGroup(heading));
  await program.parseAsync();
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  if (process.env.DEBUG) console.error(error);
  process.exitCode = 1;
});
