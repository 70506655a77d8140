/** `parallelsearch doctor`: checks what this machine has and says how to get the rest. */
import { Command } from 'commander';
import { exitWith } from './cli-utils.js';
import { diagnose, formatDiagnosis, isComplete } from '../doctor/check.js';
import { allParts } from '../doctor/parts.js';

/** Prints the diagnosis; the exit code is 1 if something required is missing. */
export async function runDoctor(settings: { json?: boolean }, parts = allParts()): Promise<number> {
  const checks = await diagnose(parts);
  const ok = isComplete(checks);
  process.stdout.write(
    settings.json ? `${JSON.stringify({ ok, checks }, null, 1)}\n` : formatDiagnosis(checks),
  );
  return ok ? 0 : 1;
}

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('check Node, notebooks, backends, memory and optional parts')
    .option('--json', 'print JSON')
    .action(exitWith(runDoctor));
}
