/** A real Chromium for tests, driven over its debugging pipe: no further package, no port. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { findChromium } from '../../lib/report/browser.js';

/** Where Chromium is, or undefined; `CHROMIUM` in the environment names another place. */
export const chromiumPath = findChromium();

if (!chromiumPath) {
  console.warn(
    'No Chromium was found, so that tests in a browser are skipped. Install it (Debian: apt-get install chromium).',
  );
}

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--window-size=1400,900',
  '--remote-debugging-pipe',
  'about:blank',
];

type Parameters = Record<string, unknown>;
interface Message {
  id?: number;
  method?: string;
  params?: Parameters;
  sessionId?: string;
  result?: Parameters;
  error?: { message: string };
}

/** Messages of the DevTools protocol over file descriptors 3 and 4, each ended by a zero byte. */
class Connection {
  #nextId = 1;
  #rest = '';
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly listeners: ((message: Message) => void)[] = [];

  constructor(
    private readonly output: Writable,
    input: Readable,
  ) {
    input.setEncoding('utf8');
    input.on('data', (chunk: string) => this.#read(chunk));
  }

  #read(chunk: string): void {
    const parts = (this.#rest + chunk).split('\0');
    this.#rest = parts.pop() ?? '';
    for (const part of parts) {
      const message = JSON.parse(part) as Message;
      if (message.id === undefined) this.listeners.forEach((listener) => listener(message));
      else this.#waiting.get(message.id)?.(message);
    }
  }

  async send<T>(method: string, params: Parameters = {}, sessionId?: string): Promise<T> {
    const id = this.#nextId++;
    const answer = new Promise<Message>((resolve) => this.#waiting.set(id, resolve));
    this.output.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    const { result, error } = await answer;
    this.#waiting.delete(id);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result as T;
  }
}

/** A page and what it did that a test may want to know. */
export interface BrowserPage {
  /** Errors and warnings on the console, and exceptions. */
  complaints: string[];
  /** Addresses asked for, the page's own and data URLs left out. */
  requests: string[];
  /** Opens a file, or an address, and waits for its load event. */
  open(place: string | URL): Promise<void>;
  /** The value of an expression in the page; promises are awaited. */
  evaluate<T>(expression: string): Promise<T>;
  /** Presses a key by its DOM name, such as `ArrowDown`. */
  press(key: string): Promise<void>;
  /** A picture (PNG). */
  screenshot(): Promise<Buffer>;
  send<T>(method: string, params?: Parameters): Promise<T>;
}

export interface Browser {
  newPage(): Promise<BrowserPage>;
  close(): Promise<void>;
}

interface RemoteValue {
  value?: string | number | boolean;
  description?: string;
}

/** Says what went wrong in the page by a message of the protocol, or null. */
function complaintOf({ method, params }: Message): string | null {
  if (method === 'Runtime.exceptionThrown') {
    const { exception, text } = params!.exceptionDetails as { exception?: RemoteValue; text: string };
    return exception?.description ?? text;
  }
  if (method === 'Log.entryAdded') {
    const { level, text } = params!.entry as { level: string; text: string };
    return level === 'error' || level === 'warning' ? `${level}: ${text}` : null;
  }
  if (method !== 'Runtime.consoleAPICalled') return null;
  const { type, args } = params as { type: string; args: RemoteValue[] };
  if (type !== 'error' && type !== 'warning' && type !== 'assert') return null;
  return `${type}: ${args.map(({ value, description }) => String(value ?? description)).join(' ')}`;
}

async function createPage(connection: Connection): Promise<BrowserPage> {
  const { targetId } = await connection.send<{ targetId: string }>('Target.createTarget', {
    url: 'about:blank',
  });
  const { sessionId } = await connection.send<{ sessionId: string }>('Target.attachToTarget', {
    targetId,
    flatten: true,
  });
  const send = <T>(method: string, params: Parameters = {}): Promise<T> =>
    connection.send<T>(method, params, sessionId);
  const [complaints, requests]: [string[], string[]] = [[], []];
  let opened = '';
  let onLoad = (): void => undefined;
  connection.listeners.push((message) => {
    if (message.sessionId !== sessionId) return;
    const complaint = complaintOf(message);
    if (complaint !== null) complaints.push(complaint);
    if (message.method === 'Page.loadEventFired') onLoad();
    if (message.method !== 'Network.requestWillBeSent') return;
    const { url } = message.params!.request as { url: string };
    if (url !== opened && !url.startsWith('data:')) requests.push(url);
  });
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await send(`${domain}.enable`);
  const evaluate = async <T>(expression: string): Promise<T> => {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await send<{
      result: RemoteValue;
      exceptionDetails?: { exception?: RemoteValue; text: string };
    }>('Runtime.evaluate', options);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as T;
  };
  return {
    complaints,
    requests,
    evaluate,
    send,
    async open(place) {
      opened = (place instanceof URL ? place : pathToFileURL(place)).href;
      const loaded = new Promise<void>((resolve) => (onLoad = resolve));
      await send('Page.navigate', { url: opened });
      await loaded;
    },
    async press(key) {
      for (const type of ['rawKeyDown', 'keyUp'])
        await send('Input.dispatchKeyEvent', { type, key, code: key });
    },
    async screenshot() {
      const { data } = await send<{ data: string }>('Page.captureScreenshot', { format: 'png' });
      return Buffer.from(data, 'base64');
    },
  };
}

const exited = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => (child.exitCode === null ? child.once('exit', () => resolve()) : resolve()));

/**
 * Starts Chromium with an empty profile and no network of its own. The caller closes it.
 * @throws Error where there is none; skip such tests by `chromiumPath`
 */
export async function startChromium(): Promise<Browser> {
  if (!chromiumPath) throw new Error('Expected Chromium to be installed, but found none.');
  const profile = mkdtempSync(path.join(tmpdir(), 'chromium-'));
  const child = spawn(chromiumPath, [...FLAGS, `--user-data-dir=${profile}`], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const connection = new Connection(child.stdio[3] as Writable, child.stdio[4] as Readable);
  return {
    newPage: () => createPage(connection),
    async close() {
      const gone = exited(child);
      await connection.send('Browser.close');
      await gone;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
