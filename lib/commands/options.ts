/** Options that several commands share, and how they speak. */
import { InvalidArgumentError, Option } from 'commander';
import { RETRIEVERS } from '../retrieval/retrievers.js';
import {
  BACKEND_NAMES,
  describeBackend,
  useBackend,
  type BackendName,
  type BackendReport,
} from '../tensor/backend.js';

export function parseCount(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError(`Expected an integer >= 1, but got ${text}.`);
  return value;
}

export function parseWeight(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0))
    throw new InvalidArgumentError(`Expected a number >= 0, but got ${text}.`);
  return value;
}

export function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new InvalidArgumentError(`Expected a port from 1 to 65535, but got ${text}.`);
  return port;
}

export const backendOption = (): Option =>
  new Option('--backend <name>', 'where tensors are computed')
    .choices(['auto', ...BACKEND_NAMES])
    .default('auto');

/** What `--retriever` takes. */
export const retrieverHelp = (): string =>
  `${RETRIEVERS.names().join(', ')}, or the address of a server with Search-R1’s protocol`;
export const ENCODER_HELP = 'folder of the encoder of a dense retriever; by default the small world’s';

/** Loads the backend and says on stderr which one it is and why. */
export async function announceBackend(requested: BackendName | 'auto'): Promise<BackendReport> {
  const report = await useBackend(requested);
  process.stderr.write(`${describeBackend(report)}\n`);
  return report;
}

/** A signal that Ctrl-C or SIGTERM aborts; a second Ctrl-C ends the process at once. */
export function interruptSignal(message: string): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => {
    if (controller.signal.aborted) process.exit(130);
    process.stderr.write(`\n${message}\n`);
    controller.abort(new DOMException('Interrupted.', 'AbortError'));
  };
  process.on('SIGINT', abort);
  process.on('SIGTERM', abort);
  return controller.signal;
}

/** A line for people. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`);
