/** What stands at the top of a report: what was read, which questions were asked, and which predictions do not hold. */
import { z } from 'zod';
import type { TidyTable } from '../evaluation/table.js';
import { markup, markupHtml } from '../html/markup.js';

const provenanceSchema = z.looseObject({
  questions: z.string().optional(),
  /** Seeds of the warm-up, and of reinforcement. */
  warmUps: z.array(z.number()).catch([]),
  seeds: z.array(z.number()).catch([]),
  /** The commit whose hash drew the test questions. */
  testDrawnFrom: z.string().optional(),
  predictions: z
    .array(z.object({ prediction: z.string(), found: z.string(), holds: z.boolean() }))
    .default([]),
});

/** Which questions were asked, in a sentence. */
export function askedText(provenance: Readonly<Record<string, unknown>>): string {
  const { questions, testDrawnFrom } = provenanceSchema.parse(provenance);
  if (!questions) return '';
  const drawn = testDrawnFrom
    ? `, drawn by the hash of commit ${testDrawnFrom.slice(0, 12)}, which froze the weights`
    : '';
  return `The questions asked are those of ${questions}${drawn}.`;
}

/** How many trainings the figures are of, in a sentence. */
function seedsText(provenance: Readonly<Record<string, unknown>>): string {
  const { warmUps, seeds } = provenanceSchema.parse(provenance);
  if (warmUps.length === 0 || seeds.length === 0) return '';
  const count = ({ length }: readonly number[]): string => `${length} seed${length === 1 ? '' : 's'}`;
  return `Initial models were trained with ${count(warmUps)}, and each was reinforced with ${count(seeds)}.`;
}

/** How many predictions do not hold; nothing where there are none. */
function outcomeText(numMissed: number, numPredictions: number): string {
  if (numPredictions === 0) return '';
  if (numMissed === 0) return numPredictions === 1 ? 'Its prediction holds.' : 'All predictions hold.';
  return `${numMissed} of ${numPredictions} predictions ${numMissed === 1 ? 'does' : 'do'} not hold:`;
}

/** As HTML and as text, by MIME type. */
export function openingOf({
  summary,
  tidy: { provenance },
}: {
  summary: string;
  tidy: TidyTable;
}): Record<string, string> {
  const { predictions } = provenanceSchema.parse(provenance);
  const missed = predictions.filter(({ holds }) => !holds);
  const texts = missed.map(({ prediction, found }) => `${prediction}: ${found}`);
  const first = [
    summary,
    askedText(provenance),
    seedsText(provenance),
    outcomeText(missed.length, predictions.length),
  ]
    .filter(Boolean)
    .join(' ');
  const list = texts.map((text) => markup('li', text));
  return {
    'text/html': markupHtml(
      markup('div.opening', markup('p', first), ...(list.length > 0 ? [markup('ul', list)] : [])),
    ),
    'text/plain': [first, ...texts.map((text) => `- ${text}`)].join('\n'),
  };
}
