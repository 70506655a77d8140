/** Parses the FlashRAG format: JSON Lines; `contents` is title, line break, text. */
import { z } from 'zod';
import { parseJson } from '../io/json.js';
import { splitContents, withTitle, type Passage } from './passage.js';
import {
  goldenAnswersSchema,
  questionMetadataSchema,
  type Question,
  type QuestionMetadata,
} from './question.js';

const idSchema = z
  .union([z.string().min(1), z.number()], 'expected text or a number')
  .transform(String);
/** A title in a field of its own. */
export const titleSchema = z
  .union([z.string(), z.number()], 'expected text or a number')
  .transform(String)
  .nullish();

const passageSchema = z
  .object({ id: idSchema, contents: z.string().min(1), title: titleSchema })
  .transform(({ id, contents, title }) => ({ id, contents: withTitle(contents, title) }));

/** A question line; `golden_answers` and `question` are FlashRAG's names. */
export const questionSchema = z.object({
  id: idSchema,
  question: z.string().min(1),
  golden_answers: goldenAnswersSchema.pipe(z.array(z.string()).min(1)),
  metadata: questionMetadataSchema.nullish(),
  split: z.string().optional(),
});

/** Receives the fault of a row, which is then skipped. */
type Complain = (complaint: string) => void;

/** Throws the complaint. */
export const refuse: Complain = (complaint) => {
  throw new Error(complaint);
};

const PASSAGE_REMEDY = 'each line must be {"id": "...", "contents": "title\\ntext"}';

/** Parses a passage's line, which must not be blank; undefined after a complaint. */
export function parsePassage(line: string, where: string, complain = refuse): Passage | undefined {
  const row = parseRow(line, passageSchema, { where, remedy: PASSAGE_REMEDY, complain });
  return row && { ...row, ...splitContents(row.contents) };
}

/**
 * Parses a corpus.
 * @param name of the file, for complaints
 * @param complain default: throws the first complaint
 */
export function parsePassages(text: string, name = 'corpus.jsonl', complain = refuse): Passage[] {
  const rows = parseLines(text, passageSchema, { name, remedy: PASSAGE_REMEDY, complain });
  return rows.map(({ id, contents }) => ({ id, contents, ...splitContents(contents) }));
}

/** Parses questions; `name` and `complain` as in {@link parsePassages}. */
export function parseQuestions(
  text: string,
  name = 'questions.jsonl',
  complain = refuse,
): Question[] {
  const remedy =
    'each line must be {"id": "...", "question": "...", "golden_answers": ["..."], "metadata": {...}}';
  return parseLines(text, questionSchema, { name, remedy, complain }).map((row) => ({
    id: row.id,
    question: row.question,
    goldenAnswers: row.golden_answers,
    ...(row.split !== undefined && { split: row.split }),
    metadata: row.metadata ?? {},
  }));
}

export const formatPassages = (passages: readonly Pick<Passage, 'id' | 'contents'>[]): string =>
  passages.map(({ id, contents }) => `${JSON.stringify({ id, contents })}\n`).join('');

export function formatQuestions(questions: readonly Question[]): string {
  const lines = questions.map(({ id, question, goldenAnswers, metadata, split }) =>
    JSON.stringify({ id, question, golden_answers: goldenAnswers, metadata, split }),
  );
  return lines.map((line) => `${line}\n`).join('');
}

type Row = { id: string; metadata?: QuestionMetadata | null };

/** Names the benchmark of a row, if any: ids repeat across benchmarks. */
const inBenchmark = ({ metadata }: Row): string =>
  metadata?.benchmark === undefined ? '' : ` (${metadata.benchmark})`;

function parseLines<T extends Row>(
  text: string,
  schema: z.ZodType<T>,
  { name, remedy, complain }: { name: string; remedy: string; complain: Complain },
): T[] {
  const rows = new Map<string, { row: T; line: number }>();
  let isEmpty = true;
  for (const [index, padded] of text.split('\n').entries()) {
    const line = padded.trim(); // also drops a byte order mark
    if (line === '') continue;
    isEmpty = false;
    const where = `${name}, line ${index + 1}`;
    const row = parseRow(line, schema, { where, remedy, complain });
    const earlier = row && rows.get(row.id);
    if (earlier)
      complain(
        `${where}: expected unique ids, but ${row.id}${inBenchmark(row)} is also on line ${earlier.line}${inBenchmark(earlier.row)}.`,
      );
    else if (row) rows.set(row.id, { row, line: index + 1 });
  }
  if (isEmpty) complain(`${name}: expected at least one row, but the file is empty; ${remedy}.`);
  return Array.from(rows.values(), ({ row }) => row);
}

function parseRow<T>(
  line: string,
  schema: z.ZodType<T>,
  { where, remedy, complain }: { where: string; remedy: string; complain: Complain },
): T | undefined {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch (error) {
    const reason =
      error instanceof SyntaxError
        ? `got ${JSON.stringify(line.slice(0, 60))}`
        : (error as Error).message.replace(/\.$/, '');
    complain(`${where}: expected JSON, but ${reason}; ${remedy}.`);
    return undefined;
  }
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [{ path, message }] = error.issues;
  complain(`${where}: ${path.join('.') || 'row'}: ${message}; ${remedy}.`);
  return undefined;
}
