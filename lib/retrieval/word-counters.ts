/** Counts the words of passages in several processes, for the index of a large file. */
import pLimit from 'p-limit';
import { serve, startWorker, withWorkers } from '../io/processes.js';
import { ANALYZERS } from './analyzers.js';
import { Vocabulary, WordCounter, type WordCounts } from './bm25-index.js';

interface Settings {
  titleWeight: number;
  /** A name in {@link ANALYZERS}. */
  analyzer: string;
}
type Task = Settings & { contents: readonly string[] };
/** Counts from a process with its own word numbers. */
interface Reply extends WordCounts {
  process: number;
  /** The words that it had not counted before, in the order of their numbers. */
  newWords: string[];
}

export interface CounterOptions extends Settings {
  /** Where the words are added. */
  vocabulary: Vocabulary;
  /** With 1, this process counts. */
  processes: number;
  signal: AbortSignal;
}

/**
 * Counts batches of passages, several at a time.
 * @param add receives the counts, in the order of the batches
 * @throws the signal's reason, or the first error of `batches` or `add`
 */
export async function countBatches(
  batches: AsyncIterable<readonly string[]>,
  { vocabulary, processes, signal, ...settings }: CounterOptions,
  add: (counts: WordCounts) => Promise<void>,
): Promise<void> {
  if (processes === 1) {
    const counter = createCounter(vocabulary, settings);
    for await (const contents of batches) await add(counter.count(contents));
    return;
  }
  /** For each process, this process's numbers of its words. */
  const numbers = new Map<number, number[]>();
  const renumber = ({ process, newWords, words, ...counts }: Reply): WordCounts => {
    const own = numbers.get(process) ?? [];
    numbers.set(process, own);
    for (const word of newWords) own.push(vocabulary.add(word));
    return { ...counts, words: words.map((word) => own[word]) };
  };
  const start = () => startWorker<Task, Reply>(import.meta.url);
  await withWorkers({ signal, start }, async (send) => {
    const limit = pLimit(processes);
    const waiting: Promise<Reply>[] = [];
    const addOldest = async (): Promise<void> => add(renumber(await waiting.shift()!));
    for await (const contents of batches) {
      const reply = limit(() => send({ ...settings, contents }));
      reply.catch(() => undefined); // thrown when it is its turn
      waiting.push(reply);
      if (waiting.length >= 2 * processes) await addOldest();
    }
    while (waiting.length > 0) await addOldest();
  });
}

const createCounter = (vocabulary: Vocabulary, { titleWeight, analyzer }: Settings): WordCounter =>
  new WordCounter(vocabulary, { titleWeight, analyze: ANALYZERS.get(analyzer).analyze });

const vocabulary = new Vocabulary();
let counter: WordCounter | undefined;

serve<Task, Reply>(import.meta.url, async ({ contents, ...settings }) => {
  counter ??= createCounter(vocabulary, settings);
  const numKnown = vocabulary.texts.length;
  const counts = counter.count(contents);
  return { ...counts, process: process.pid, newWords: vocabulary.texts.slice(numKnown) };
});
