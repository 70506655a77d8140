/** `parallelsearch doctor`: what this machine has, what it lacks, and what to do about it. */
import { Command } from 'commander';
import { checkBackends } from '../doctor/backends.js';
import { diagnose, formatDiagnosis, type Check } from '../doctor/check.js';
import {
  checkChromium,
  checkHnsw,
  checkJupyter,
  checkMemory,
  checkNode,
  checkTslab,
} from '../doctor/checks.js';

/** Every check, in the order in which they are reported; takes some seconds. */
async function allChecks(): Promise<Check[]> {
  return [
    checkNode(),
    await checkTslab(),
    ...(await checkJupyter()),
    ...(await checkBackends()),
    checkMemory(),
    await checkHnsw(),
    await checkChromium(),
  ];
}

/** Prints the diagnosis. Returns the exit code: 1 when something required is missing. */
export async function runDoctor(
  settings: { json?: boolean },
  print: (text: string) => void = (text) => void process.stdout.write(text),
  checks: () => Promise<Check[]> = allChecks,
): Promise<number> {
  const diagnosis = diagnose(await checks());
  print(settings.json ? `${JSON.stringify(diagnosis, null, 1)}\n` : formatDiagnosis(diagnosis));
  return diagnosis.ok ? 0 : 1;
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
