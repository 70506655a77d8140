/**
 * The only module that knows tslab's internals: in the process of its kernel, in the
 * cells that run there, and in what it prints.
 */
import { createRequire } from 'node:module';
import path from 'node:path';
/** @ts-ignore An optional package: without it, the type is `any`. */
import type ts from 'typescript';
import { optionalFolder } from '../io/optional.js';
import { packagePath } from '../io/paths.js';

/** The script of this package's tslab. @throws Error if it is not installed */
export const tslabScript = (): string => path.join(optionalFolder('tslab'), 'bin', 'tslab');

/** The TypeScript that compiles cells; it takes half a second to load. */
export const loadTypeScript = (): typeof ts =>
  createRequire(tslabScript())('@tslab/typescript-for-tslab') as typeof ts;

/** A request for documentation in Jupyter's protocol. */
interface InspectRequest {
  code: string;
  cursor_pos: number;
}

/** A request to run a cell; false for `stop_on_error` if the next one runs anyway. */
interface ExecuteRequest {
  code: string;
  stop_on_error?: boolean;
}

/** The content of Jupyter's messages about a cell's output. */
type OutputContent = Record<string, unknown>;
type DisplayWriter = (content: OutputContent, isUpdate: boolean) => void;

interface Handler {
  handleInspect: (this: Handler, request: InspectRequest) => { found: boolean };
  handleExecute: (
    this: Pick<Handler, 'execQueue'>,
    request: ExecuteRequest,
    writeStream?: (name: string, text: string) => void,
    writeDisplay?: DisplayWriter,
  ) => Promise<{ status: string; execution_count?: number }>;
  execQueue: { reset(): void };
  executor: { reset(): void };
  execCount: number;
}

type PublishStatus = (status: string, parent?: unknown) => unknown;

/** tslab's module `jupyter`. */
interface Jupyter {
  JupyterHandlerImpl: { prototype: Handler };
  /** Receives Jupyter's requests and answers them by the handler. */
  ZmqServer: { prototype: { publishStatus: PublishStatus } };
  /** Shows several MIME types at once in the running cell, unlike tslab's `display`. */
  lastWriteDisplayData?: DisplayWriter | null;
}

interface TslabModules {
  jupyter: Jupyter;
  main: { startKernel(options: { configPath: string; enableFindLocal: boolean }): void };
}

// In the kernel's process

/** A message of a kernel that runs cells for this package instead of Jupyter. */
export type KernelMessage =
  | { type: 'reply'; status?: string; execution_count?: number }
  | { type: 'stream' | 'display_data' | 'update_display_data'; content: OutputContent };

/** A cell to run; without code, drops all variables and restarts the cell count. */
export interface KernelRequest {
  code?: string;
}

/**
 * Starts tslab's kernel in this process. It additionally documents the function whose
 * arguments are being typed, runs the cells after one that may fail, and reports
 * interrupts without a stack trace.
 * @param scripts folder of this package's tslab; one next to the notebook comes first
 * @param connection Jupyter's connection file. Default: cells arrive over Node's channel
 */
export function startTslab(scripts: string, connection?: string): void {
  const require = createRequire(path.join(scripts, 'kernel.cjs'));
  const paths = [process.cwd(), scripts];
  const load = <Name extends keyof TslabModules>(name: Name): TslabModules[Name] =>
    require(require.resolve(`tslab/dist/${name}`, { paths })) as TslabModules[Name];
  const jupyter = load('jupyter');
  const handler = jupyter.JupyterHandlerImpl.prototype;
  documentCalls(handler);
  continueAfterErrors(handler);
  explainImports(handler);
  if (connection === undefined) jupyter.ZmqServer = ChannelServer;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0; // tslab creates the error for all interrupts at startup
  load('main').startKernel({ configPath: connection ?? '', enableFindLocal: false });
  Error.stackTraceLimit = stackTraceLimit;
}

/** Serves this process's parent instead of Jupyter. */
class ChannelServer {
  constructor(private readonly handler: Handler) {}

  /** Called by tslab. */
  init(): void {
    process.on('disconnect', () => process.exit(1));
    process.on('message', ({ code }: KernelRequest) =>
      code === undefined ? this.reset() : void this.execute(code),
    );
    this.send({ type: 'reply' });
  }

  /** Cells that display something delay `idle`, see {@link displayInCell}. */
  publishStatus(_status: string): unknown {
    return undefined;
  }

  private send(message: KernelMessage): void {
    if (process.connected) process.send!(message);
  }

  private reset(): void {
    this.handler.executor.reset();
    this.handler.execCount = 0;
    this.send({ type: 'reply' });
  }

  private async execute(code: string): Promise<void> {
    const reply = await this.handler.handleExecute(
      { code, stop_on_error: false },
      (name, text) => this.send({ type: 'stream', content: { name, text } }),
      (content, isUpdate) =>
        this.send({ type: isUpdate ? 'update_display_data' : 'display_data', content }),
    );
    await this.publishStatus('idle');
    // Unhandled rejections are printed before the reply.
    setImmediate(() => this.send({ type: 'reply', ...reply }));
  }
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

/** The path from a folder to a module such as `parallelsearch/report`. */
export function importPath(name: string, folder: string): string {
  const file = packagePath('dist', ...name.split('/').slice(1), 'index.js');
  const place = path.relative(folder, file).split(path.sep).join('/');
  return place.startsWith('.') ? place : `./${place}`;
}

/** Where this package is not installed, says how to import it. */
export function explainImports(handler: Pick<Handler, 'handleExecute'>): void {
  const execute = handler.handleExecute;
  handler.handleExecute = function (request, writeStream, writeDisplay) {
    const write = (name: string, text: string): void => {
      writeStream?.(name, text);
      const [, wanted] =
        /Cannot find module '(parallelsearch(?:\/(?:report|experiments))?)'/.exec(text) ?? [];
      if (name !== 'stderr' || wanted === undefined) return;
      const place = importPath(wanted, process.cwd());
      writeStream?.(
        name,
        `${wanted} is not installed here. Import '${place}' instead, or work in a project: npx parallelsearch init FOLDER\n`,
      );
    };
    return execute.call(this, request, write, writeDisplay);
  };
}

// In a cell

/** The loaded `jupyter` modules; several if a notebook has its own tslab. */
function loadedKernels(): Jupyter[] {
  const { cache } = createRequire(import.meta.url);
  return Object.keys(cache)
    .filter((file) => /[\\/]tslab[\\/]dist[\\/]jupyter\.js$/.test(file))
    .map((file) => cache[file]?.exports as Jupyter);
}

/**
 * Shows a MIME bundle as output of the running cell, which ends only then. Undefined
 * outside a notebook.
 */
export function displayInCell(bundle: Promise<OutputContent>): Promise<void> | undefined {
  const kernel = loadedKernels().find(({ lastWriteDisplayData }) => lastWriteDisplayData);
  const write = kernel?.lastWriteDisplayData;
  if (!write) return undefined;
  const shown = bundle.then((data) => write({ data, metadata: {}, transient: {} }, false));
  holdCell(shown);
  return shown;
}

const pending = new Set<Promise<unknown>>();
let holdsCells = false;

/** Delays the end of the running cell until `work` has settled. */
function holdCell(work: Promise<unknown>): void {
  const settled = work.catch(() => undefined).finally(() => pending.delete(settled));
  pending.add(settled);
  if (holdsCells) return;
  holdsCells = true;
  for (const { ZmqServer } of loadedKernels()) {
    const server = ZmqServer.prototype;
    const { publishStatus } = server;
    server.publishStatus = function (status, parent) {
      const publish = (): unknown => publishStatus.call(this, status, parent);
      return status === 'idle' && pending.size > 0 ? Promise.all(pending).then(publish) : publish();
    };
  }
}

/** The variable to which tslab assigns a cell's last expression. */
const LAST = 'tsLastExpr';

/**
 * Passes the value of each cell's last expression to `show`; if that returns false, tslab
 * prints the value. Does nothing outside a notebook.
 */
export function onLastExpression(show: (value: unknown) => boolean): void {
  const { __tslab__: cells } = globalThis as { __tslab__?: { exports: Record<string, unknown> } };
  if (!cells) return;
  let printed: unknown;
  // The running cell has already declared it. Set on the prototype, because `exports` is
  // a proxy that defines no accessors.
  delete cells.exports[LAST];
  Object.setPrototypeOf(cells.exports, {
    get [LAST]() {
      return printed;
    },
    set [LAST](value: unknown) {
      printed = show(value) ? undefined : value;
    },
  });
}

// In what it prints

/** Stack frames in tslab, and in Node below it. */
const KERNEL_FRAME = /^ +at .*(?:[\\/]tslab[\\/]dist[\\/]|\(node:vm:).*(?:\n|$)/gm;

/** An error as tslab prints it, without the kernel's part of the stack trace. */
export const cellError = (stderr: string): string => stderr.replace(KERNEL_FRAME, '').trimEnd();

/**
 * Whether tslab has logged an unhandled rejection or exception. Its own, when folders
 * near the notebook come and go, is harmless.
 */
export const hasUnhandled = (stderr: string): boolean =>
  /^(UnhandledPromiseRejection|UncaughtException):(?! Error: Unexpected pending rebuildTimer)/m.test(
    stderr,
  );
