#!/usr/bin/env node
/**
 * The package's command. Exists before the build, because npx caches a clone's commands.
 */
import { existsSync } from 'node:fs';

const program = new URL('../dist/cli.js', import.meta.url);
if (existsSync(program)) await import(program.href);
else {
  process.stderr.write(
    'Expected a built project, but there is no dist/cli.js. Run `npm run build` first.\n',
  );
  process.exitCode = 1;
}
