/**
 * What a notebook cell needs from the tslab kernel that runs it: besides `tslab.ts`, the
 * only module that knows tslab's internals.
 */
import { createRequire } from 'node:module';

type DisplayWriter = (
  content: { data: Record<string, unknown>; metadata: object; transient: object },
  update: boolean,
) => void;

type PublishStatus = (status: string, parent?: unknown) => unknown;

/** tslab's module `jupyter`. */
interface Jupyter {
  lastWriteDisplayData?: DisplayWriter | null;
  ZmqServer: { prototype: { publishStatus: PublishStatus } };
}

/** The loaded modules `jupyter`; several if notebooks have a tslab of their own. */
function loadedKernels(): Jupyter[] {
  const { cache } = createRequire(import.meta.url);
  return Object.keys(cache)
    .filter((file) => /[\\/]tslab[\\/]dist[\\/]jupyter\.js$/.test(file))
    .map((file) => cache[file]?.exports as Jupyter);
}

/**
 * The function with which the running cell shows several MIME types at once (tslab's own
 * `display` takes one), or undefined outside of a notebook.
 */
export const findDisplayWriter = (): DisplayWriter | undefined =>
  loadedKernels().find(({ lastWriteDisplayData }) => lastWriteDisplayData)?.lastWriteDisplayData ??
  undefined;

const pending = new Set<Promise<unknown>>();
let holdsCells = false;

/** Delays the end of the running cell until `work`, which adds output, has settled. */
export function holdCell(work: Promise<unknown>): void {
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

/** The variable into which tslab compiles a cell's last expression. */
const LAST = 'tsLastExpr';

/**
 * Passes the value of each cell's last expression to `show`; tslab prints the value if
 * that returns false. Does nothing outside of a notebook.
 */
export function onLastExpression(show: (value: unknown) => boolean): void {
  const { __tslab__: cells } = globalThis as { __tslab__?: { exports: Record<string, unknown> } };
  if (!cells) return;
  let printed: unknown;
  // The running cell has declared it already. Set on the prototype, because `exports` is
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
