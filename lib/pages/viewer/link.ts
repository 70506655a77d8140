/**
 * Joins the page's ES modules into one classic script, for a page opened from disk can import no modules. Names stay as
 * they are, so that every top-level name must be unique among the modules; where one is not, the script does not parse.
 */
import { readFileSync } from 'node:fs';
import { Script } from 'node:vm';

/** Reads a module's JavaScript. */
export type ReadModule = (module: URL) => string;

const FROM = /^(?:import|export)\s+([^;'"]*?)\s*from\s*['"]([^'"]+)['"];?[^\S\n]*$/gm;
const EXPORTED = /^export\s+(?=(?:async\s+)?(?:function|class|const|let)\b)/gm;
const LEFT_OVER = /^(?:import|export)\b.*$/m;

const readCompiled: ReadModule = (module) => readFileSync(module, 'utf8');

/**
 * The script of a module and of all that it imports, each once, imported ones first.
 * @throws Error naming the module and the line that can't be joined: packages, renamings, defaults
 * @throws SyntaxError where two modules use one top-level name
 */
export function linkModules(entry: URL, read: ReadModule = readCompiled): string {
  const parts: string[] = [];
  const seen = new Set<string>();
  const visit = (module: URL): void => {
    if (seen.has(module.href)) return;
    seen.add(module.href);
    const code = read(module);
    for (const [line, names, from] of code.matchAll(FROM)) {
      if (!from.startsWith('.') || /\bas\b/.test(names)) refuse(module, line);
      visit(new URL(from, module));
    }
    parts.push(joinable(code, module));
  };
  visit(entry);
  const script = `'use strict';\n{\n${parts.join('\n')}\n}`;
  void new Script(script, { filename: entry.pathname }); // parses it, runs nothing
  return script;
}

/** A module's code without its imports and the word `export`. */
function joinable(code: string, module: URL): string {
  const bare = code
    .replace(FROM, '')
    .replace(EXPORTED, '')
    .replace(/^export \{\s*\};?$/gm, '')
    .replace(/^\/\/# sourceMappingURL=.*$/gm, '')
    .trim();
  const left = LEFT_OVER.exec(bare);
  if (left) refuse(module, left[0]);
  return bare;
}

function refuse(module: URL, line: string): never {
  throw new Error(
    `Expected ${module.pathname} to import named values from relative paths only, but got: ${line.trim()}`,
  );
}
