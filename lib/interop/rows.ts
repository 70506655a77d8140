/**
 * Questions as rows of verl's Parquet files: `data_source`, `prompt`, `ability`,
 * `reward_model`, `extra_info`. Also reads Search-R1's files.
 */
import { z } from 'zod';
import {
  goldenAnswersSchema,
  questionMetadataSchema,
  questionType,
  type Question,
} from '../data/question.js';
import { describeFaults, jsonText, parseJson } from '../io/json.js';
import { readParquet, writeParquet, type ColumnType } from '../io/parquet.js';
import type { RolloutConfig } from '../rollout/options.js';
import { buildPrompt } from '../text/prompts.js';
import { REPLY_START, withoutEndTokens } from '../text/template-marks.js';

const COLUMNS = {
  data_source: 'text',
  prompt: [{ role: 'text', content: 'text' }],
  ability: 'text',
  reward_model: { style: 'text', ground_truth: { target: ['text'], shape: 'text', id: 'text' } },
  extra_info: { split: 'text', index: 'integer', type: 'text', question: 'text', metadata: 'text' },
} satisfies Record<string, ColumnType>;

/**
 * Writes questions as a Parquet file for verl. `shape` in the ground truth is the
 * question type; `extra_info.metadata` contains all metadata as JSON, so that {@link
 * readRows} restores the questions. The forms `chat` and `full` have the same text,
 * because the trainer applies the template.
 */
export async function writeRows(
  file: string,
  questions: readonly Question[],
  rollout: Pick<RolloutConfig, 'prompt' | 'promptForm' | 'querySeparator'>,
): Promise<void> {
  const { prompt, promptForm: form, querySeparator: separator } = rollout;
  const rows = questions.map((question, index) => {
    const { id, goldenAnswers: target, metadata, split } = question;
    const content = buildPrompt(prompt, question.question, { form, separator });
    const shape = questionType(question) ?? null;
    return {
      data_source: metadata.benchmark ?? 'questions',
      prompt: [{ role: 'user', content }],
      ability: 'fact-reasoning',
      reward_model: { style: 'rule', ground_truth: { target, shape, id } },
      extra_info: {
        split: split ?? null,
        index,
        type: metadata.type ?? null,
        question: question.question,
        metadata: JSON.stringify(metadata),
      },
    };
  });
  await writeParquet(file, rows, COLUMNS);
}

/** One right answer, or several. */
export const answersSchema = z
  .union([z.string().transform((answer) => [answer]), z.array(z.string())])
  .pipe(goldenAnswersSchema);

const text = z.string().nullish();
const rowSchema = z.object({
  id: text,
  question: text,
  data_source: text,
  prompt: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
  reward_model: z.object({ ground_truth: z.object({ id: text, target: answersSchema }) }),
  extra_info: z
    .object({
      index: z.union([z.number(), z.bigint()]).nullish(),
      split: text,
      type: text,
      question: text,
      metadata: text
        .transform((json) => json || null)
        .pipe(jsonText(parseJson).pipe(questionMetadataSchema).nullable()),
    })
    .nullish(),
  /** In Search-R1's files. */
  metadata: z.object({ type: text }).nullish(),
});

const ASKED = 'Question: ';

/**
 * The text after the last "Question: " in a prompt, or the whole prompt, without the
 * chat template's marks at its end.
 */
export function promptQuestion(prompt: string): string {
  const at = prompt.lastIndexOf(ASKED);
  if (at < 0) return prompt;
  const [asked] = prompt.slice(at + ASKED.length).split(REPLY_START, 1);
  return withoutEndTokens(asked).trim();
}

/**
 * The question in a message.
 * @throws Error if it has several lines, since some may be instructions
 */
function messageQuestion(content: string, where: string): string {
  const question = promptQuestion(content);
  if (content.includes(ASKED) && /[\r\n]/.test(question))
    throw new Error(
      `${where}: expected one line after "${ASKED}", but got ${JSON.stringify(question.slice(0, 80))}. Add a column question.`,
    );
  return question;
}

/**
 * Reads questions from a Parquet file for verl.
 * @param rows of a file that has been read
 * @throws Error naming an invalid row
 */
export async function readRows(file: string, rows?: readonly object[]): Promise<Question[]> {
  return (rows ?? (await readParquet(file))).map((value, number) => {
    const where = `${file}, row ${number}`;
    const parsed = rowSchema.safeParse(value);
    if (!parsed.success)
      throw new Error(
        `${where}: expected verl's columns data_source, prompt, reward_model and extra_info, but ${describeFaults(parsed.error)}`,
      );
    const { data_source: source, prompt, reward_model, extra_info, ...row } = parsed.data;
    // A later assistant message is a prefilled reply.
    const asked = prompt.findLast(({ role }) => role === 'user') ?? prompt.at(-1)!;
    const { id, target } = reward_model.ground_truth;
    const { split, question, metadata } = extra_info ?? {};
    const index = extra_info?.index ?? number;
    const type = extra_info?.type ?? row.metadata?.type;
    const place = [source, split, index].filter((part) => part !== null && part !== undefined);
    return {
      id: row.id ?? id ?? place.join('-'),
      question: row.question || question || messageQuestion(asked.content, where),
      goldenAnswers: target,
      ...(split && { split }),
      metadata: metadata ?? { ...(source && { benchmark: source }), ...(type && { type }) },
    };
  });
}
