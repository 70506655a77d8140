#!/usr/bin/env node
import { createProgram } from './commands/program.js';

async function main(): Promise<void> {
  const program = await createProgram(process.argv[2]);
  await program.parseAsync();
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  if (process.env.DEBUG) console.error(error);
  process.exitCode = 1;
});
