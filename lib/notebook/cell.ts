/**
 * What notebook cells need from the tslab kernel that runs them. Besides `tslab.ts`, the
 * only module that relies on tslab's internals.
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

/** The loaded `jupyter` modules; several if a notebook has its own tslab. */
function loadedKernels(): Jupyter[] {
  const { cache } = createRequire(import.meta.url);
  return Object.keys(cache)
    .filter((file) => /[\\/]tslab[\\/]dist[\\/]jupyter\.js$/.test(file))
    .map((file) => cache[file]?.exports as Jupyter);
}

/**
 * Returns the function with which the running cell shows several MIME types at once
 * (tslab's own `display` takes one), or undefined outside a notebook.
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
