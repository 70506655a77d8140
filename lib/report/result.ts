/** An experiment's result as plain data, and the words that open and close its report. */
import { z } from 'zod';
import type { Figures } from '../evaluation/figures.js';
import type { Provenance } from '../io/provenance.js';
import { plural } from '../text/english.js';
import type { Chart } from './charts/spec.js';
import { markup, markupHtml } from './markup.js';
import type { Table } from './table.js';

/** A prediction made before anything was computed, and the figure that decides it. */
export interface Prediction {
  prediction: string;
  found: string;
  /** A figure from one training decides nothing about a method. */
  holds: boolean | typeof ONE_TRAINING;
}

/** Replaces the verdict on a prediction. */
export const ONE_TRAINING = 'one training';

/** Finding, predictions and provenance of a result. */
export interface About {
  /**
   * What was found, as one would say it: rounded, without intervals. Empty if the summary
   * is all there is to say.
   */
  finding: string;
  /** The data behind the result, in one sentence. */
  summary: string;
  predictions?: readonly Prediction[];
  provenance: Provenance;
}

/** A result as plain data, as in its JSON file. */
export interface ResultParts extends About, Figures {
  /** Rows of further data frames, such as training curves, by name. */
  frames?: Readonly<Record<string, readonly object[]>>;
  /** Charts and tables that other pages show, too. */
  figures?: Readonly<Record<string, Chart | Table>>;
  /**
   * The charts that show the finding, each with the title of the panel to show, or an
   * empty string for the first panel. Default: the first chart.
   */
  card?: Readonly<Record<string, string>>;
}

const setupSchema = z.looseObject({
  questions: z.string().default(''),
  /** The language model that answered; absent for the small world. */
  model: z.string().default('Small world'),
  /** Seeds of the initial models, and of RL. */
  warmUps: z.array(z.number()).catch([]),
  seeds: z.array(z.number()).catch([]),
  /** The commit whose hash drew the test questions. */
  testDrawnFrom: z.string().optional(),
});

export function describeQuestions(provenance: Provenance): string {
  const { questions, testDrawnFrom } = setupSchema.parse(provenance);
  if (!questions) return '';
  const drawn = testDrawnFrom
    ? `, sampled after the weights were frozen (seed: the hash of commit ${testDrawnFrom.slice(0, 12)})`
    : '';
  return `Questions: ${questions}${drawn}.`;
}

function describeSeeds(provenance: Provenance): string {
  const { warmUps, seeds } = setupSchema.parse(provenance);
  if (warmUps.length === 0 || seeds.length === 0) return '';
  return `Initial models were trained with ${plural(warmUps.length, 'seed')}, and each was then trained by RL with ${plural(seeds.length, 'seed')}.`;
}

/** Describes answers, questions and seeds behind a report, for its end. */
export const setupText = ({ summary, provenance }: About): string =>
  [summary, describeQuestions(provenance), describeSeeds(provenance)].filter(Boolean).join(' ');

function describeMisses(numMissed: number, numDecided: number): string {
  if (numDecided === 0) return '';
  if (numMissed === 0) return numDecided === 1 ? 'The prediction holds.' : 'All predictions hold.';
  return numDecided === 1
    ? 'The prediction failed'
    : `${numMissed} of ${numDecided} predictions failed`;
}

/** Says how many predictions have no verdict; empty if all have one. */
export function describeUndecided(predictions: readonly Prediction[]): string {
  const numOpen = predictions.filter(({ holds }) => holds === ONE_TRAINING).length;
  if (numOpen === 0) return '';
  const plural = numOpen > 1 ? 's rest' : ' rests';
  return `${numOpen} prediction${plural} on one training: no verdict`;
}

/** Renders the top of a report as HTML and as text, by MIME type. */
export function openingBundle({ finding, summary, predictions = [], provenance }: About) {
  const { questions, model } = setupSchema.parse(provenance);
  const list = (wanted: Prediction['holds']): string[] =>
    predictions
      .filter(({ holds }) => holds === wanted)
      .map(({ prediction, found }) => `${prediction}: ${found}`);
  const held = list(true);
  const missed = list(false);
  const undecided = list(ONE_TRAINING);
  const headline = finding || summary;
  const outcomes = [
    { outcome: describeMisses(missed.length, held.length + missed.length), lines: missed },
    { outcome: describeUndecided(predictions), lines: undecided },
  ].filter(({ outcome }) => outcome !== '');
  // The details after the colon are at the end of the page.
  const asked = questions && `${model}, questions: ${questions.split(':')[0]}.`;
  const html = markup(
    'header.opening',
    markup('p.headline', headline),
    asked !== '' && markup('p.asked', asked),
    outcomes.map(({ outcome, lines }) => {
      if (lines.length === 0) return markup('p.asked', outcome);
      const items = lines.map((line) => markup('li', line));
      return markup('details', markup('summary', outcome), markup('ul', items));
    }),
  );
  const plain = [
    headline,
    ...outcomes.flatMap(({ outcome, lines }) => [
      lines.length > 0 ? `${outcome}:` : outcome,
      ...lines.map((line) => `- ${line}`),
    ]),
    asked,
  ].filter(Boolean);
  return { 'text/html': markupHtml(html), 'text/plain': plain.join('\n') };
}
