/** Scripts for browsers out of this library's modules and the packages that they import. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A module of the page: compiled where this runs compiled, else its source. */
function pageModule(name: string): string {
  const compiled = new URL(`./page/${name}.js`, import.meta.url);
  const source = new URL(`./page/${name}.ts`, import.meta.url);
  return fileURLToPath(existsSync(compiled) ? compiled : source);
}

/**
 * One classic script of a module of the page (`main`, `worker`) and all that it imports. The bundler is imported when it
 * is needed: it is large, and nothing else uses it.
 */
export async function bundleScript(name: string): Promise<string> {
  const { build } = await import('rolldown');
  const { output } = await build({
    input: pageModule(name),
    platform: 'browser',
    write: false,
    logLevel: 'warn',
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    output: { format: 'iife', minify: true, comments: false },
  });
  return output[0].code;
}
