/**
 * `parallelsearch doctor`: what this machine has, what it lacks, and what to do about it.
 */
import { Command } from 'commander';
import { diagnose, formatDiagnosis, isComplete } from '../doctor/check.js';
import { allParts } from '../doctor/parts.js';

/** Prints the diagnosis. Returns the exit code: 1 when something required is missing. */
export async function runDoctor(settings: { json?: boolean }, parts = allParts()): Promise<number> {
  const checks = await diagnose(parts);
  const ok = isComplete(checks);
  process.stdout.write(
    settings.json ? `${JSON.stringify({ ok, checks }, null, 1)}\n` : formatDiagnosis(checks),
  );
  return ok ? 0 : 1;
}

/** The `doctor` command. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'check Node, notebooks, backends, memory and optional parts, with a remedy for what is missing',
    )
    .option('--json', 'the diagnosis as JSON')
    .action(async (settings: { json?: boolean }) => {
      process.exitCode = await runDoctor(settings);
    });
}
