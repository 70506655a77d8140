import type { Command } from 'commander';
import { expect } from 'vitest';

/** What a command says of arguments that it refuses. */
export async function refusalOf(command: Command, ...args: string[]): Promise<string> {
  let said = '';
  for (const each of [command, ...command.commands])
    each.exitOverride().configureOutput({ writeErr: (text) => void (said += text) });
  await expect(command.parseAsync(args, { from: 'user' })).rejects.toThrow();
  return said;
}
