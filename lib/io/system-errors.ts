/** Node's system errors (`ENOENT: no such file or directory, open 'a'`) in words. */
import { hideCredentials } from './credentials.js';

const SYSTEM_ERROR = /^(E[A-Z]+): (.+), (\w+)(?: '(.+?)')?(?: -> '.+')?$/;
const ACTIONS: Readonly<Record<string, string>> = {
  mkdir: 'create',
  mkdtemp: 'create',
  scandir: 'list',
  access: 'write to',
};
/** Names that {@link partialPath} gives. */
const PARTIAL = /\.\d+-\d+\.partial$/;

/** Where Node's own words are unclear. */
const REASONS: Readonly<Record<string, string>> = {
  'EISDIR read': 'it is a folder',
  'ENOENT mkdir': 'the folder above it is missing or cannot have folders',
};

function parse(error: unknown): { reason: string; action: string; path: string } | undefined {
  const message = error instanceof Error ? error.message : '';
  const [, code, reason, call, path = ''] = SYSTEM_ERROR.exec(message) ?? [];
  if (code === undefined) return undefined;
  return {
    reason: `${REASONS[`${code} ${call}`] ?? reason} (${code})`,
    action: ACTIONS[call] ?? call,
    path: path.replace(PARTIAL, ''),
  };
}

/** A system error without a path, such as a full disk's, with the path of its file. */
export function namingFile(error: unknown, path: string): unknown {
  const system = parse(error);
  if (system?.path === '') (error as Error).message += ` '${path}'`;
  return error;
}

/** A handler that adds the path to a system error without one. */
export const naming =
  (path: string) =>
  (error: unknown): never => {
    throw namingFile(error, path);
  };

/** `no such file or directory (ENOENT)`; undefined for other errors. */
export const systemReason = (error: unknown): string | undefined => parse(error)?.reason;

/**
 * `Could not open a: no such file or directory (ENOENT).`; other errors' messages.
 * Addresses have no passwords, and no text steers the terminal.
 */
export function errorText(error: unknown): string {
  const system = parse(error);
  if (system)
    return `Could not ${system.action}${system.path && ` ${system.path}`}: ${system.reason}.`;
  return printable(hideCredentials(error instanceof Error ? error.message : String(error)));
}

/** Replaces control characters, with which foreign text could steer the terminal. */
export const printable = (text: string): string =>
  text.replaceAll('\r\n', '\n').replace(/[^\P{Cc}\t\n]/gu, '\ufffd');
