/**
 * What stands at the top of a report: what was found, which predictions do not hold,
 * which questions were asked. The rest is for its end.
 */
import type { Provenance } from '../io/provenance.js';
import { z } from 'zod';
import { markup, markupHtml } from '../html/markup.js';

const provenanceSchema = z.looseObject({
  /** What was found, in a sentence with its figure and interval. */
  finding: z.string().optional(),
  /** What was read, in a sentence. */
  summary: z.string().default(''),
  questions: z.string().optional(),
  /** The language model that was asked; none in the small world. */
  model: z.string().optional(),
  /** Seeds of the warm-up, and of reinforcement. */
  warmUps: z.array(z.number()).catch([]),
  seeds: z.array(z.number()).catch([]),
  /** The commit whose hash drew the test questions. */
  testDrawnFrom: z.string().optional(),
  predictions: z
    .array(z.object({ prediction: z.string(), found: z.string(), holds: z.boolean() }))
    .default([]),
});

/** What was predicted before anything was computed, and what was found. */
export type Prediction = z.infer<typeof provenanceSchema>['predictions'][number];

/** Which questions were asked, in a sentence. */
export function askedText(provenance: Provenance): string {
  const { questions, testDrawnFrom } = provenanceSchema.parse(provenance);
  if (!questions) return '';
  const drawn = testDrawnFrom
    ? `, drawn by the hash of commit ${testDrawnFrom.slice(0, 12)}, which froze the weights`
    : '';
  return `The questions asked are those of ${questions}${drawn}.`;
}

/** How many trainings the figures are of, in a sentence. */
function seedsText(provenance: Provenance): string {
  const { warmUps, seeds } = provenanceSchema.parse(provenance);
  if (warmUps.length === 0 || seeds.length === 0) return '';
  const count = ({ length }: readonly number[]): string =>
    `${length} seed${length === 1 ? '' : 's'}`;
  return `Initial models were trained with ${count(warmUps)}, and each was reinforced with ${count(seeds)}.`;
}

/** What was read, of which questions and how many trainings: for the end of a report. */
export const setupText = (provenance: Provenance): string =>
  [provenanceSchema.parse(provenance).summary, askedText(provenance), seedsText(provenance)]
    .filter(Boolean)
    .join(' ');

/** What was found, in a sentence; nothing where a report has no finding. */
export const findingOf = (provenance: Provenance): string =>
  provenanceSchema.parse(provenance).finding ?? '';

/** How many predictions do not hold; nothing where there are none. */
function outcomeText(numMissed: number, numPredictions: number): string {
  if (numPredictions === 0) return '';
  if (numMissed === 0)
    return numPredictions === 1 ? 'Its prediction holds.' : 'All predictions hold.';
  return `${numMissed} of ${numPredictions} predictions ${numMissed === 1 ? 'does' : 'do'} not hold:`;
}

/**
 * As HTML and as text, by MIME type. @param summary what was read, for results without a
 * finding
 */
export function openingOf({
  summary,
  tidy: { provenance },
}: {
  summary: string;
  tidy: { provenance: Provenance };
}) {
  const { predictions, questions = '', model = 'Small world' } = provenanceSchema.parse(provenance);
  const missed = predictions.filter(({ holds }) => !holds);
  const texts = missed.map(({ prediction, found }) => `${prediction}: ${found}`);
  const first = findingOf(provenance) || summary;
  const outcome = outcomeText(missed.length, predictions.length);
  // What is behind the colon stands at the end of the page.
  const asked = questions && `${model}, questions of ${questions.split(':')[0]}.`;
  const html = markup(
    'header.opening',
    markup('p.headline', first),
    outcome !== '' && markup('p', outcome),
    texts.length > 0 &&
      markup(
        'ul',
        texts.map((text) => markup('li', text)),
      ),
    asked !== '' && markup('p.asked', asked),
  );
  const plain = [first, outcome, ...texts.map((text) => `- ${text}`), asked].filter(Boolean);
  return { 'text/html': markupHtml(html), 'text/plain': plain.join('\n') };
}
