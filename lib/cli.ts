#!/usr/bin/env node
import { createRequire } from 'node:module';
import { Command } from 'commander';
import { scoreCommand } from './commands/score.js';

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

/**
 * Commands that load tensors or charts are imported when they are called, so that
 * `--help` is quick.
 */
const LAZY: Record<string, () => Promise<Command>> = {
  reproduce: async () => (await import('./commands/reproduce.js')).reproduceCommand(),
  train: async () => (await import('./commands/train.js')).trainCommand(),
  evaluate: async () => (await import('./commands/evaluate.js')).evaluateCommand(),
  ask: async () => (await import('./commands/ask.js')).askCommand(),
  model: async () => (await import('./commands/model.js')).modelCommand(),
  index: async () => (await import('./commands/index-build.js')).indexCommand(),
  data: async () => (await import('./commands/data.js')).dataCommand(),
  'serve-retriever': async () =>
    (await import('./commands/serve-retriever.js')).serveRetrieverCommand(),
  compare: async () => (await import('./commands/compare.js')).compareCommand(),
  sweep: async () => (await import('./commands/sweep.js')).sweepCommand(),
  view: async () => (await import('./commands/view.js')).viewCommand(),
  playground: async () => (await import('./commands/playground.js')).playgroundCommand(),
  export: async () => (await import('./commands/export.js')).exportCommand(),
  import: async () => (await import('./commands/import.js')).importCommand(),
  experiment: async () => (await import('./commands/experiment.js')).experimentCommand(),
  notebook: async () => (await import('./commands/notebook.js')).notebookCommand(),
  init: async () => (await import('./commands/init.js')).initCommand(),
  lab: async () => (await import('./commands/lab.js')).labCommand(),
  doctor: async () => (await import('./commands/doctor.js')).doctorCommand(),
  'warm-up': async () => (await import('./commands/warm-up.js')).warmUpCommand(),
};

async function main(): Promise<void> {
  const program = new Command('parallelsearch')
    .description(
      'Reinforcement learning that teaches a language model to search in parallel (arXiv 2508.09303).',
    )
    .version(version);
  const wanted = process.argv[2];
  const names = wanted in LAZY ? [wanted] : Object.keys(LAZY);
  if (wanted !== 'score') for (const name of names) program.addCommand(await LAZY[name]());
  program.addCommand(scoreCommand());
  await program.parseAsync();
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  if (process.env.DEBUG) console.error(error);
  process.exitCode = 1;
});
