/** `parallelsearch data make FOLDER FILE...`: makes a corpus of documents. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { group, median, sort } from 'd3-array';
import {
  DOCUMENT_ENDINGS,
  documentEnding,
  readSections,
  type Columns,
  type Section,
} from '../data/documents.js';
import { dataSetFiles, formatPassages, type Passage } from '../data/flashrag.js';
import { makePassages } from '../data/split-documents.js';
import { writeLines } from '../io/files.js';
import { shortPath } from '../io/paths.js';
import { systemReason } from '../io/system-errors.js';
import { formatList } from '../text/english.js';
import { countWords } from '../text/words.js';
import { log, parseCount, shellWord } from './common/cli-utils.js';
import { requireDistinctFiles } from './common/outputs.js';

interface MakeSettings extends Columns {
  words: number;
  force?: boolean;
  skipUnreadable?: boolean;
}

/** Hidden files, and what package managers install. */
const isIgnored = (file: string): boolean => /^(\..*|node_modules)$/.test(file);

/**
 * Finds the documents in files and folders, each once. Also returns the files of other
 * kinds, and linked folders, which are not entered: they may be large or form a cycle.
 */
function findDocuments(sources: readonly string[]): {
  files: string[];
  others: string[];
  linked: string[];
} {
  const [files, others, linked]: string[][] = [[], [], []];
  for (const source of sources) {
    if (!statSync(source, { throwIfNoEntry: false })?.isDirectory()) {
      files.push(source);
      continue;
    }
    const entries = readdirSync(source, { recursive: true, withFileTypes: true })
      .map((entry) => ({ entry, file: path.join(entry.parentPath, entry.name) }))
      .filter(({ file }) => !path.relative(source, file).split(path.sep).some(isIgnored));
    for (const { entry, file } of sort(entries, ({ file }) => file)) {
      // A link to nothing is an unreadable document.
      const target = existsSync(file) ? statSync(file) : undefined;
      const isDocument = DOCUMENT_ENDINGS.includes(documentEnding(file));
      if (target?.isDirectory()) {
        if (entry.isSymbolicLink()) linked.push(file);
      } else if (isDocument && (target === undefined || target.isFile())) files.push(file);
      else others.push(entry.name);
    }
  }
  const each = new Map(files.map((file) => [path.resolve(file), file]));
  return { files: [...each.values()], others, linked };
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
  const links = `${formatList(found.linked.map(shortPath))}: name them to include them`;
  if (files.length === 0)
    throw new Error(
      `Expected files that end in ${formatList(DOCUMENT_ENDINGS)} in ${formatList(sources)}, but found none.${found.linked.length > 0 ? ` Linked folders are left out, ${links}.` : ''}`,
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
      complaints.push(`  ${shortPath(file)}: ${systemReason(error) ?? (error as Error).message}`);
    }
  const unreadable = `Unreadable files: ${complaints.length} of ${files.length}`;
  if (complaints.length > 0 && !skipUnreadable)
    throw new Error(
      `${unreadable}\n${complaints.join('\n')}\nNothing was written. Correct them, or leave them out with --skip-unreadable.`,
    );
  if (complaints.length > 0) log(`${unreadable}, left out:\n${complaints.join('\n')}`);
  const withRows = readable.filter(({ sections: [first] }) => first.source);
  for (const [source, [{ name }, ...others]] of group(
    withRows,
    ({ sections: [first] }) => first.source,
  ))
    log(`${name}${others.length > 0 ? ` and ${others.length} more` : ''}: ${source}.`);
  const { passages, numDuplicates, numRenamed } = makePassages(readable, words);
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
    ...(numRenamed > 0 ? [['new ids', `${numRenamed}, because another passage has theirs`]] : []),
    ...(found.others.length > 0
      ? [['files left out', countEndings(found.others.map((name) => documentEnding(name) || name))]]
      : []),
    ...(found.linked.length > 0 ? [['links left out', links]] : []),
    ...(withoutText.length > 0
      ? [['rows without text', `${withoutText.length} left out, the first in ${withoutText[0]}`]]
      : []),
    ['shortest', describePassage(byLength[0])],
    ['longest', describePassage(byLength.at(-1)!)],
  ];
  const report = rows.map(([name, value]) => `  ${name.padEnd(18)}  ${value}\n`).join('');
  process.stdout.write(
    `${shortPath(corpus)}:\n${report}\nNext: npx parallelsearch ask "..." --data ${shellWord(shortPath(out))}\n`,
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
