/**
 * Synthetic passages with the word statistics of an encyclopedia: Zipf's law with
 * exponent 1 for frequent words and 1.7 for rare ones, so that ten million words have
 * about 230,000 distinct ones.
 */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { range } from 'd3-array';
import { createRandom } from '../../lib/random.js';

const [WORDS, PASSAGES_PER_ARTICLE, TOPIC_WORDS] = [100, 5, 20];
/** Number of frequent words, and their share of a text. */
const [FREQUENT, SHARE] = [8000, 0.9];
/** The most frequent words. */
const FUNCTION_WORDS = (
  'the of and in to was a is for as on by with he at from that his it an were which are this had ' +
  'be or has first their one its new after but who not they have her she two been other when during'
).split(' ');
const SYLLABLES = 'ba ce di fo gu ka le mi no pu ra se ti vo wu xa ye zi hor lan'.split(' ');

/** The word of a rank; every word has one rank. */
function word(rank: number): string {
  if (rank < FUNCTION_WORDS.length) return FUNCTION_WORDS[rank];
  let text = '';
  for (let left = rank; left > 0; left = Math.floor(left / SYLLABLES.length))
    text += SYLLABLES[left % SYLLABLES.length];
  // Some words need more than ASCII.
  return rank % 100 === 0 ? text.replace(/[aeiou]/, (vowel) => `${vowel}\u0301`.normalize()) : text;
}

const capitalised = (text: string): string => text[0].toUpperCase() + text.slice(1);

/**
 * Writes passages of a hundred words, five per article. Every seventh word belongs to the
 * article's topic. Returns questions about the articles.
 */
export async function writeEncyclopedia(
  file: string,
  numPassages: number,
  numQuestions: number,
): Promise<string[]> {
  const random = createRandom(numPassages);
  const draw = (least: number, share = SHARE): string => {
    const isFrequent = random.uniform() < share;
    const quantile = 1 - random.uniform();
    return word(
      Math.floor(
        isFrequent
          ? least * (FREQUENT / least) ** quantile
          : Math.min(1e9, FREQUENT * quantile ** (-1 / 0.7)),
      ),
    );
  };
  const questions: string[] = [];
  const stride = Math.max(1, Math.floor(numPassages / PASSAGES_PER_ARTICLE / numQuestions));
  function* lines(): Generator<string> {
    for (let article = 0; article * PASSAGES_PER_ARTICLE < numPassages; article++) {
      const title = range(1 + (article % 3))
        .map(() => capitalised(draw(2000, 0.5)))
        .join(' ');
      const topic = range(TOPIC_WORDS).map(() => draw(300, 0.6));
      if (article % stride === 0 && questions.length < numQuestions)
        questions.push(
          `when was the ${topic[0]} ${topic[1]} of ${title} the first in the ${draw(1)} ${topic[2]}`,
        );
      for (let part = 0; part < PASSAGES_PER_ARTICLE; part++) {
        const text = range(WORDS).map((i) => {
          const drawn = i % 7 === 3 ? topic[Math.floor(TOPIC_WORDS * random.uniform())] : draw(1);
          return i % 20 === 0 ? capitalised(drawn) : i % 20 === 19 ? `${drawn}.` : drawn;
        });
        const id = `${article}-${part}`;
        yield `${JSON.stringify({ id, contents: `${title}\n${text.join(' ')}` })}\n`;
      }
    }
  }
  await pipeline(Readable.from(lines()), createWriteStream(file));
  return questions;
}
