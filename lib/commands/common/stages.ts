/**
 * The terminal output of a long command: a line per stage, with its time. Everything else
 * that this process and its workers print goes to a log file.
 */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { describeDuration, log } from './cli-utils.js';

export interface Stages {
  print: (line: string) => void;
  /**
   * Runs a stage; prints its name, what it returned, and its time. Stages may overlap.
   * @param work reports a short state, and returns what it has done
   */
  run(name: string, work: (update: (state: string) => void) => Promise<string>): Promise<void>;
  close(): void;
}

/** How often a terminal shows the state of running stages. */
const TERMINAL_INTERVAL_MS = 1000;
/** How often it is printed otherwise, since training takes hours. */
const PLAIN_INTERVAL_MS = 600_000;
const NAME_WIDTH = 32;

/** Prints everything, without lines for stages. */
export const verboseStages = (): Stages => ({
  print: log,
  run: async (_name, work) => void (await work(() => undefined)),
  close: () => undefined,
});

/** Opens the log file and redirects all output to it. */
export function createStages(file: string): Stages {
  mkdirSync(dirname(file), { recursive: true });
  const descriptor = openSync(file, 'w');
  const { stdout, stderr } = process;
  const streams = [stdout, stderr].map((stream) => ({ stream, write: stream.write.bind(stream) }));
  const isTerminal = stderr.isTTY;
  const toTerminal = stderr.write.bind(stderr);
  const toFile = (text: string | Uint8Array): boolean =>
    writeSync(descriptor, Buffer.from(text)) >= 0;
  for (const { stream } of streams) stream.write = toFile;
  // Progress bars would fill the file with control characters.
  stderr.isTTY = false;

  const running = new Map<string, { start: number; state: string }>();
  const clearStatus = isTerminal ? '\r\x1b[2K' : '';
  const showStatus = (): void => {
    if (running.size === 0) return;
    const states = [...running].map(
      ([name, { start, state }]) => `${name} ${state || elapsed(start)}`,
    );
    const line = states.join(' · ');
    toTerminal(isTerminal ? clearStatus + line.slice(0, stderr.columns - 1) : `... ${line}\n`);
  };
  const print = (line: string): void => {
    toTerminal(`${clearStatus}${line}\n`);
    toFile(`${line}\n`);
    if (isTerminal) showStatus();
  };
  const timer = setInterval(showStatus, isTerminal ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS);
  timer.unref();
  return {
    print,
    async run(name, work) {
      const stage = { start: performance.now(), state: '' };
      running.set(name, stage);
      const done = await work((state) => (stage.state = state)).finally(() => running.delete(name));
      print(`${name.padEnd(NAME_WIDTH)} ${done}, ${elapsed(stage.start)}`);
    },
    close() {
      clearInterval(timer);
      toTerminal(clearStatus);
      for (const { stream, write } of streams) stream.write = write;
      stderr.isTTY = isTerminal;
      closeSync(descriptor);
    },
  };
}

const elapsed = (start: number): string => describeDuration((performance.now() - start) / 1000);
