/** `parallelsearch data make FOLDER FILE...`: makes a corpus of documents. */
import { readdirSync, statSync, type Dirent } from 'node:fs';
import path from 'node:path';
import { group, median, sort } from 'd3-array';
import { Command } from 'commander';
import {
  DOCUMENT_ENDINGS,
  documentEnding,
  readSections,
  type Columns,
  type Section,
} from '../data/documents.js';
import { dataSetFiles, formatPassages, type Passage } from '../data/flashrag.js';
import { makePassages } from '../data/passages.js';
import { writeLines } from '../io/files.js';
import { shortPath } from '../io/paths.js';
import { formatList } from '../text/english.js';
import { countWords } from '../text/words.js';
import { log, parseCount } from './common/cli-utils.js';
import { requireDistinctFiles } from './common/outputs.js';

interface MakeSettings extends Columns {
  words: number;
  force?: boolean;
  skipUnreadable?: boolean;
}

/** Hidden files, and what package managers install. */
const isIgnored = (file: string): boolean => /^(\..*|node_modules)$/.test(file);

/** Documents in files and folders, each once, and the names of other files there. */
function findDocuments(sources: readonly string[]): { files: string[]; others: string[] } {
  const others: string[] = [];
  const files = sources.flatMap((source) => {
    if (!statSync(source, { throwIfNoEntry: false })?.isDirectory()) return [source];
    const entries = readdirSync(source, { recursive: true, withFileTypes: true }).filter(
      (entry) =>
        !entry.isDirectory() &&
        !path
          .relative(source, path.join(entry.parentPath, entry.name))
          .split(path.sep)
          .some(isIgnored),
    );
    const isDocument = ({ name }: Dirent): boolean =>
      DOCUMENT_ENDINGS.includes(documentEnding(name));
    for (const entry of entries) if (entry.isFile() && !isDocument(entry)) others.push(entry.name);
    return entries
      .filter(isDocument)
      .map(({ parentPath, name }) => path.join(parentPath, name))
      .sort();
  });
  return { files: [...new Map(files.map((file) => [path.resolve(file), file])).values()], others };
}

function commonFolder(files: readonly string[]): string {
  let folder = path.dirname(path.resolve(files[0]));
  while (files.some((file) => path.relative(folder, path.resolve(file)).startsWith('..')))
    folder = path.dirname(folder);
  return folder;
}

/** `120 words (guide.md#3)`. */
const describePassage = ({ id, text }: Passage): string => `${countWords(text)} words (${id})`;

/**
 * Writes `corpus.jsonl` and prints a report.
 * @throws Error naming every file that cannot be read, or an existing corpus; writes
 * nothing then
 */
export async function runMake(
  out: string,
  sources: readonly string[],
  { words, force, skipUnreadable, ...columns }: MakeSettings,
): Promise<void> {
  const existing = dataSetFiles(out).passages;
  if (existing !== undefined && !force)
    throw new Error(`Expected no passages in ${shortPath(existing)}. Replace them with --force.`);
  const corpus = path.join(out, 'corpus.jsonl');
  // An earlier corpus in a folder of documents is not a document.
  const found = findDocuments(sources);
  const files = found.files.filter(
    (file) => path.resolve(file) !== path.resolve(corpus) || sources.includes(file),
  );
  requireDistinctFiles([corpus], files);
  if (files.length === 0)
    throw new Error(
      `Expected files that end in ${formatList(DOCUMENT_ENDINGS)} in ${formatList(sources)}, but found none.`,
    );
  const root = commonFolder(files);
  const readable: { name: string; ending: string; sections: Section[] }[] = [];
  const complaints: string[] = [];
  for (const file of files)
    try {
      const sections = await readSections(file, columns);
      if (!sections.some(({ paragraphs }) => paragraphs.length > 0))
        throw new Error('expected text, but got none.');
      const name = path.relative(root, path.resolve(file)).replaceAll(path.sep, '/');
      readable.push({ name, ending: documentEnding(file), sections });
    } catch (error) {
      const reason = (error as Error).message.replace(/^ENOENT.*/, 'there is no such file.');
      complaints.push(`  ${shortPath(file)}: ${reason}`);
    }
  const unreadable = `Unreadable files: ${complaints.length} of ${files.length}`;
  if (complaints.length > 0 && !skipUnreadable)
    throw new Error(
      `${unreadable}\n${complaints.join('\n')}\nNothing was written. Correct them, or leave them out with --skip-unreadable.`,
    );
  if (complaints.length > 0) log(`${unreadable}, left out:\n${complaints.join('\n')}`);
  const { passages, numDuplicates } = makePassages(readable, words);
  if (passages.length === 0) throw new Error('Expected at least one passage, but got none.');
  await writeLines(corpus, passages, (passage) => formatPassages([passage]));

  const countEndings = (endings: readonly string[]): string =>
    formatList([...group(endings, String)].map(([ending, { length }]) => `${length} ${ending}`));
  const withoutText = readable.flatMap(({ name, sections }) =>
    sections.filter(({ paragraphs }) => paragraphs.length === 0).map(() => name),
  );
  const byLength = sort(passages, ({ text }) => countWords(text));
  const rows = [
    ['files', `${readable.length} (${countEndings(readable.map(({ ending }) => ending))})`],
    [
      'passages',
      `${passages.length}, median ${median(passages, ({ text }) => countWords(text))} words`,
    ],
    ['duplicates dropped', String(numDuplicates)],
    ...(found.others.length > 0
      ? [['files left out', countEndings(found.others.map((name) => documentEnding(name) || name))]]
      : []),
    ...(withoutText.length > 0
      ? [['rows without text', `${withoutText.length} left out, the first in ${withoutText[0]}`]]
      : []),
    ['shortest', describePassage(byLength[0])],
    ['longest', describePassage(byLength.at(-1)!)],
  ];
  const report = rows.map(([name, value]) => `  ${name.padEnd(18)}  ${value}\n`).join('');
  process.stdout.write(
    `${shortPath(corpus)}:\n${report}\nNext: npx parallelsearch ask "..." --data ${shortPath(out)}\n`,
  );
}

export const makeCommand = (): Command =>
  new Command('make')
    .description(
      'make a corpus from documents: text, Markdown and HTML are cut at headings, paragraphs and sentences; in CSV, JSON, JSON Lines and Parquet each row is a document',
    )
    .argument('<folder>', 'output folder, for --data of other commands')
    .argument('<files...>', `files or folders of files that end in ${DOCUMENT_ENDINGS.join(', ')}`)
    .option('--words <n>', 'approximate number of words per passage', parseCount, 100)
    .option('--title <column>', 'column with the title (default: title, name or question)')
    .option('--text <column>', 'column with the text (default: text, contents, body or answer)')
    .option('--force', 'replace the folder’s passages')
    .option('--skip-unreadable', 'leave out files that cannot be read (default: write nothing)')
    .action(runMake);
