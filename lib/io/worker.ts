/**
 * A helper process that answers one request after the other. (tinypool would recycle
 * workers by the size of their heap; what grows here is tensors' memory, which is outside
 * of it.)
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { asParent, endWithParent } from './parent.js';

type Message<Reply, Note> =
  | { kind: 'note'; note: Note }
  | { kind: 'reply'; reply: Reply }
  | { kind: 'error'; message: string };

export interface Worker<Request, Reply, Note = never> {
  /**
   * Resolves once the request has gone out, with the promise of its reply: work in
   * between runs side by side. One request at a time.
   */
  send(request: Request, onNote?: (note: Note) => void): Promise<{ reply: Promise<Reply> }>;
  stop(): void;
}

/**
 * Starts a process that runs the module at `url`, which calls {@link serve}.
 * @param env is added to this process's environment
 */
export function startWorker<Request, Reply, Note = never>(
  url: string,
  env: Record<string, string> = {},
): Worker<Request, Reply, Note> {
  const child = fork(fileURLToPath(url), {
    serialization: 'advanced',
    env: { ...process.env, ...env, ...asParent() },
  });
  const replyOnce = (onNote?: (note: Note) => void): Promise<Reply> =>
    new Promise((resolve, reject) => {
      // Listeners are taken off again: a promise that lives as long as the process would
      // keep every reply alive.
      const settle = (action: () => void): void => {
        child.off('message', onMessage).off('exit', onExit);
        action();
      };
      const onExit = (code: number | null): void =>
        settle(() =>
          reject(new Error(`A helper process stopped with code ${code}; its error stands above.`)),
        );
      const onMessage = (message: Message<Reply, Note>): void => {
        if (message.kind === 'note') onNote?.(message.note);
        else if (message.kind === 'reply') settle(() => resolve(message.reply));
        else settle(() => reject(new Error(message.message)));
      };
      child.on('message', onMessage).on('exit', onExit);
    });
  return {
    send: async (request, onNote) => {
      const reply = replyOnce(onNote);
      reply.catch(() => undefined);
      await new Promise<void>((resolve, reject) =>
        child.send(request as object, (error) => (error ? reject(error) : resolve())),
      );
      return { reply };
    },
    stop: () => void child.kill(),
  };
}

/**
 * The child's side: answers requests in order when this module was started as a worker;
 * does nothing elsewhere.
 */
export function serve<Request, Reply, Note = never>(
  url: string,
  answer: (request: Request, note: (note: Note) => void) => Promise<Reply>,
): void {
  if (!process.send || process.argv[1] !== fileURLToPath(url)) return;
  const post = (message: Message<Reply, Note>): boolean => process.send!(message);
  let queue: Promise<unknown> = Promise.resolve();
  process.on('message', (request: Request) => {
    queue = queue.then(async () => {
      try {
        post({
          kind: 'reply',
          reply: await answer(request, (note) => post({ kind: 'note', note })),
        });
      } catch (error) {
        post({
          kind: 'error',
          message: error instanceof Error ? (error.stack ?? error.message) : String(error),
        });
      }
    });
  });
  endWithParent();
  // Ctrl-C is the parent's to handle.
  process.on('disconnect', () => process.exit(0));
  process.on('SIGINT', () => undefined);
}
