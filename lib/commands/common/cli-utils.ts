/** How commands parse numbers, log and handle interruption. Imports nothing heavy. */
import { InvalidArgumentError, Option, type Command } from 'commander';

const numberParser =
  (expected: string, isValid: (value: number) => boolean) =>
  (text: string): number => {
    const value = text.trim() === '' ? NaN : Number(text);
    if (isValid(value)) return value;
    throw new InvalidArgumentError(`Expected ${expected}, but got ${text}.`);
  };
export const parseCount = numberParser('an integer >= 1', (n) => Number.isInteger(n) && n >= 1);
export const parseTemperature = numberParser('a number above 0', (n) => n > 0);
export const parseWeight = numberParser('a number >= 0', (n) => n >= 0);
export const parsePort = numberParser(
  'a port from 1 to 65535',
  (n) => Number.isInteger(n) && n >= 1 && n <= 65_535,
);
/** Longer durations overflow Node's timers. */
export const parseSeconds = numberParser(
  'seconds above 0 and up to 2000000',
  (n) => n > 0 && n <= 2_000_000,
);

export const choice = <T extends string>(
  flags: string,
  description: string,
  values: readonly T[],
  byDefault?: T | readonly T[],
): Option => new Option(flags, description).choices(values).default(byDefault);

/** Collects the values of a repeatable option. */
export const collect = (value: string, values: readonly string[] = []): string[] => [
  ...values,
  value,
];

/** @throws Error for an option or an argument that is an empty text */
export function requireValues(command: Command): void {
  const given = [
    ...command.options
      .filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli')
      .map((option) => [option.flags, command.getOptionValue(option.attributeName()) as unknown]),
    ...command.registeredArguments.map((argument, i) => [
      `<${argument.name()}>`,
      command.processedArgs[i] as unknown,
    ]),
  ];
  for (const [name, value] of given)
    if ([value].flat().includes(''))
      throw new Error(
        `Expected a value for ${name as string}, but got an empty text. Is a variable of the shell unset?`,
      );
}

/** Makes the action of a command whose exit code `run` returns. */
export const exitWith =
  <Args extends unknown[]>(run: (...args: Args) => Promise<number>) =>
  async (...args: unknown[]): Promise<void> => {
    // Commander passes the command itself last.
    process.exitCode = await run(...(args.slice(0, -1) as Args));
  };

export const log = (line: string): void => void process.stderr.write(`${line}\n`);

/** Quotes a path for a command line, if necessary. */
export function shellWord(path: string): string {
  if (/^[\w./:\\-]+$/.test(path)) return path;
  return process.platform === 'win32' ? `"${path}"` : `'${path.replaceAll("'", "'\\''")}'`;
}

/** Formats a duration: `12 min`, `2.1 h`. */
export function describeDuration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

export const CHECKPOINT_NOTICE =
  'Finishing this step and writing a checkpoint; press Ctrl-C again to stop at once.';

/**
 * Runs work that Ctrl-C or SIGTERM aborts; a second Ctrl-C ends the process at once. A
 * closed terminal aborts it, too, unless messages go elsewhere: Node undoes nohup.
 * @param options.stopping logged on the signal
 * @param options.stopped logged once the work has ended
 * @returns the exit code: 130 if interrupted
 */
export async function interruptible(
  work: (signal: AbortSignal) => Promise<void>,
  {
    stopping = 'Stopping.',
    stopped = 'Stopped. The same command resumes.',
  }: { stopping?: string; stopped?: string } = {},
): Promise<number> {
  const controller = new AbortController();
  const { signal } = controller;
  const abort = (): void => {
    if (signal.aborted) {
      // Exiting would wait for a blocked call, such as opening a pipe without a reader.
      process.once('exit', () => process.removeAllListeners('SIGINT').kill(process.pid, 'SIGINT'));
      process.exit(130);
    }
    log(`\n${stopping}`);
    controller.abort(new DOMException('Interrupted.', 'AbortError'));
  };
  const hangUp = (): void => {
    // Shell and terminal may both send it.
    if (process.stderr.isTTY && !signal.aborted) abort();
  };
  process.on('SIGINT', abort).on('SIGTERM', abort).on('SIGHUP', hangUp);
  try {
    await work(signal);
    // Work that was nearly done may end normally, but no further work must start.
    return signal.aborted ? 130 : 0;
  } catch (error) {
    if (!signal.aborted) throw error;
    log(stopped);
    return 130;
  } finally {
    process.off('SIGINT', abort).off('SIGTERM', abort).off('SIGHUP', hangUp);
  }
}
