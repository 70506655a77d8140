#!/usr/bin/env node
import module from 'node:module';
import { errorText } from './io/system-errors.js';

async function main(): Promise<void> {
  // From Node 22.1 on, caches compiled code for the next start.
  (module as { enableCompileCache?: () => void }).enableCompileCache?.();
  const { createProgram } = await import('./commands/program.js');
  const program = await createProgram(process.argv[2]);
  await program.parseAsync();
}

/**
 * Work continues if the reader of the output leaves, as in `... 2>&1 | head`, or messages
 * cannot be written. Results that cannot be written are an error.
 */
process.stderr.on('error', () => undefined);
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') return;
  process.stderr.write(`Could not write to standard output: ${message}.\n`);
  // Keeps the exit code that the command has set.
  process.once('exit', () => (process.exitCode ||= 1));
});

main().catch((error: unknown) => {
  process.stderr.write(`${errorText(error)}\n`);
  if (process.env.DEBUG) console.error(error);
  process.exitCode = 1;
});
