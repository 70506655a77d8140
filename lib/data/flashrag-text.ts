/** The FlashRAG layout as text: one JSON object a line, passages as `contents` = title, line break, text. */
import { z } from 'zod';
import { questionMetadataSchema, type Passage, type Question } from './question.js';

const idSchema = z.union([z.string().min(1), z.number()]).transform(String);

const passageSchema = z.object({ id: idSchema, contents: z.string().min(1) });

const questionSchema = z.object({
  id: idSchema,
  question: z.string().min(1),
  golden_answers: z.array(z.string()).min(1),
  metadata: questionMetadataSchema.nullish(),
  split: z.string().optional(),
});

/** Parses a corpus. `name` stands for the file in error messages. */
export function parsePassages(text: string, name = 'corpus.jsonl'): Passage[] {
  const passages = parseLines(text, passageSchema, {
    name,
    remedy: 'each line must be {"id": "...", "contents": "title\\ntext"}',
  }).map(({ id, contents }) => ({ id, contents, ...splitContents(contents) }));
  requireUniqueIds(passages, name);
  return passages;
}

/** Parses questions. `name` stands for the file in error messages. */
export function parseQuestions(text: string, name = 'questions.jsonl'): Question[] {
  const questions = parseLines(text, questionSchema, {
    name,
    remedy:
      'each line must be {"id": "...", "question": "...", "golden_answers": ["..."], "metadata": {...}}',
  }).map((row) => ({
    id: row.id,
    question: row.question,
    goldenAnswers: row.golden_answers,
    ...(row.split === undefined ? {} : { split: row.split }),
    metadata: row.metadata ?? {},
  }));
  requireUniqueIds(questions, name);
  return questions;
}

/** Writes passages in the FlashRAG layout. */
export function formatPassages(passages: readonly Pick<Passage, 'id' | 'contents'>[]): string {
  return passages.map(({ id, contents }) => JSON.stringify({ id, contents }) + '\n').join('');
}

/** Writes questions in the FlashRAG layout. */
export function formatQuestions(questions: readonly Question[]): string {
  return questions
    .map(({ id, question, goldenAnswers, metadata, split }) =>
      JSON.stringify({ id, question, golden_answers: goldenAnswers, metadata, split }),
    )
    .map((line) => line + '\n')
    .join('');
}

/** The title is the first line; FlashRAG's Wikipedia dump puts it in double quotes, which are dropped. */
function splitContents(contents: string): { title: string; text: string } {
  const end = contents.indexOf('\n');
  if (end < 0) return { title: '', text: contents };
  const firstLine = contents.slice(0, end).trim();
  const quoted = /^"(.*)"$/.exec(firstLine);
  return { title: quoted ? quoted[1] : firstLine, text: contents.slice(end + 1).trim() };
}

function parseLines<T>(
  text: string,
  schema: z.ZodType<T>,
  { name, remedy }: { name: string; remedy: string },
): T[] {
  const rows: T[] = [];
  text.split('\n').forEach((line, index) => {
    if (line.trim() === '') return;
    const where = `${name}, line ${index + 1}`;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      throw new Error(`${where}: expected JSON, but got ${JSON.stringify(line.slice(0, 60))}; ${remedy}.`);
    }
    const parsed = schema.safeParse(value);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      throw new Error(`${where}: ${issue.path.join('.') || 'row'}: ${issue.message}; ${remedy}.`);
    }
    rows.push(parsed.data);
  });
  if (rows.length === 0)
    throw new Error(`${name}: expected at least one row, but the file is empty; ${remedy}.`);
  return rows;
}

function requireUniqueIds(rows: readonly { id: string }[], name: string): void {
  const seen = new Map<string, number>();
  rows.forEach(({ id }, index) => {
    const first = seen.get(id);
    if (first !== undefined) {
      throw new Error(
        `${name}: expected unique ids, but ${id} names row ${first + 1} and row ${index + 1}; rename one.`,
      );
    }
    seen.set(id, index);
  });
}
