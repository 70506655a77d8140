/** Scripts for pages out of this library's modules and the packages that they import. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const bundles = new Map<string, Promise<string>>();

/**
 * One classic script of a module and all that it imports, for a page opened from disk
 * can import nothing. A module is bundled once in the life of a process.
 * @param module its compiled form, such as `new URL('./page/main.js', import.meta.url)`;
 * the source stands in where there is none
 */
export function bundleScript(module: URL): Promise<string> {
  const compiled = fileURLToPath(module);
  const file = existsSync(compiled) ? compiled : compiled.replace(/\.js$/, '.ts');
  if (!bundles.has(file)) bundles.set(file, bundle(file));
  return bundles.get(file)!;
}

/** The bundler is imported when it is needed: it is large, and nothing else uses it. */
async function bundle(file: string): Promise<string> {
  const { build } = await import('rolldown');
  const { output } = await build({
    input: file,
    platform: 'browser',
    write: false,
    logLevel: 'warn',
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    // Pages allow no code made from text, which zod would try.
    output: {
      format: 'iife',
      minify: true,
      comments: false,
      intro: 'globalThis.__zod_globalConfig = { jitless: true };',
    },
  });
  return output[0].code;
}
