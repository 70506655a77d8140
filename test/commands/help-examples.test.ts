import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { EXAMPLES, createProgram } from '../../lib/commands/program.js';
import { packagePath } from '../../lib/io/paths.js';
import { runCommand } from './command-line.js';

const program = await createProgram();

const leaves = (command: Command, path: string[] = []): [string, Command][] =>
  command.commands.length === 0
    ? [[path.join(' '), command]]
    : command.commands.flatMap((child) => leaves(child, [...path, child.name()]));

describe('examples of --help', () => {
  it('exist for every command and for nothing else', () => {
    expect(Object.keys(EXAMPLES).sort()).toEqual(
      leaves(program)
        .map(([path]) => path)
        .sort(),
    );
  });

  it('follow help without local paths and with a description of every argument', () => {
    for (const [path, command] of leaves(program)) {
      expect(command.helpInformation(), path).not.toContain(packagePath());
      for (const argument of command.registeredArguments)
        expect(argument.description, `${path} ${argument.name()}`).not.toBe('');
    }
  });

  it('show each command of a group', async () => {
    const { stdout } = await runCommand(['export', '--help']);
    expect(stdout).toContain('npx parallelsearch export hf ');
    expect(stdout).toContain('npx parallelsearch export torch ');
  });

  it('parse', async () => {
    for (const [, command] of leaves(program)) command.exitOverride().action(() => undefined);
    for (const [path, examples] of Object.entries(EXAMPLES))
      for (const example of examples) {
        const words = (example.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''));
        await program.parseAsync([...path.split(' '), ...words], { from: 'user' });
      }
  });
});
