/**
 * The program that Jupyter starts: tslab's kernel, which additionally documents the
 * function whose arguments are being typed, runs the cells after one that may fail, and
 * reports interrupts without a stack trace.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

/** A request for documentation in Jupyter's protocol. */
interface InspectRequest {
  code: string;
  cursor_pos: number;
}

/** A request to run a cell; false for `stop_on_error` if it has `raises-exception`. */
interface ExecuteRequest {
  code: string;
  stop_on_error?: boolean;
}

interface Handler {
  handleInspect: (this: Handler, request: InspectRequest) => { found: boolean };
  handleExecute: (
    this: Pick<Handler, 'execQueue'>,
    request: ExecuteRequest,
    ...writers: unknown[]
  ) => Promise<{ status: string }>;
  execQueue: { reset(): void };
}

/** The parts of tslab's modules used here. */
interface TslabModules {
  jupyter: { JupyterHandlerImpl: { prototype: Handler } };
  main: { startKernel(options: { configPath: string; enableFindLocal: boolean }): void };
}

/** Where the name of the function ends whose arguments include a position, or null. */
export function findCall(code: string, position: number): number | null {
  let depth = 0;
  for (let i = position - 1; i >= 0; i--) {
    if (')]}'.includes(code[i])) depth++;
    if (!'([{'.includes(code[i]) || --depth >= 0) continue;
    const name = /[\p{L}\p{N}_$]+(?=\s*(?:<[^<>]*>)?$)/u.exec(code.slice(0, i));
    if (code[i] === '(' && name) return name.index + name[0].length;
    depth = 0; // a literal within the arguments
  }
  return null;
}

/** Shift-Tab between the parentheses of a call documents the function. */
function documentCalls(handler: Handler): void {
  const inspect = handler.handleInspect;
  handler.handleInspect = function (request) {
    const reply = inspect.call(this, request);
    const call = reply.found ? null : findCall(request.code, request.cursor_pos);
    return call === null ? reply : inspect.call(this, { ...request, cursor_pos: call });
  };
}

/** tslab rejects all cells for 200 ms after a failed one, even if it may fail. */
export function continueAfterErrors(handler: Pick<Handler, 'handleExecute' | 'execQueue'>): void {
  const execute = handler.handleExecute;
  handler.handleExecute = async function (request, ...writers) {
    const reply = await execute.call(this, request, ...writers);
    if (reply.status === 'error' && request.stop_on_error === false) this.execQueue.reset();
    return reply;
  };
}

/** @param scripts folder of this package's tslab; one next to the notebook comes first */
function startKernel(scripts: string, configPath: string): void {
  const require = createRequire(path.join(scripts, 'kernel.cjs'));
  const paths = [process.cwd(), scripts];
  const load = <Name extends keyof TslabModules>(name: Name): TslabModules[Name] =>
    require(require.resolve(`tslab/dist/${name}`, { paths })) as TslabModules[Name];
  const handler = load('jupyter').JupyterHandlerImpl.prototype;
  documentCalls(handler);
  continueAfterErrors(handler);
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0; // tslab creates the error for all interrupts at startup
  load('main').startKernel({ configPath, enableFindLocal: false });
  Error.stackTraceLimit = stackTraceLimit;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  startKernel(process.argv[2], process.argv[3]);
