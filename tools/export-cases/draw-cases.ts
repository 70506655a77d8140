/**
 * Generates random cases for the tests of exported trainings, which compare the rewards
 * and Algorithm 1 in Python with this library's. The trajectories have valid and broken
 * grammar: half, nested and fused tags, missing and repeated answers, repeated and empty
 * searches, `##` everywhere, information blocks written by the policy, notices, and text
 * in many scripts.
 */
import { range } from 'd3-array';
import { pythonOptions, type RewardCase } from '../../lib/interop/export.js';
import type { Policy } from '../../lib/policy/policy.js';
import { createRandom, type Random } from '../../lib/random.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import type { RolloutConfig } from '../../lib/rollout/options.js';
import { rollOut } from '../../lib/rollout/rollout.js';
import { lossMask, tokenIds } from '../../lib/rollout/trajectory.js';
import { buildPrompt } from '../../lib/text/prompts.js';
import type { TextSegment } from '../../lib/text/response.js';
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  nextAction,
  wrapResults,
} from '../../lib/text/tags.js';
import type { Tokenizer } from '../../lib/text/tokenizer/tokenizer.js';

const QUESTION_TYPES = ['parallelizable', 'sequential', 'hybrid', 'single_hop', undefined] as const;

/** Spellings of a name; some are equal once normalised, others are not. */
const ANSWERS = [
  ['Paris', ' paris ', 'The Paris!', 'PARIS', 'Pa-ris', 'paris a', 'Paris, France', 'an\tParis'],
  ['The Beatles', 'beatles', 'Beatles the', 'A Beatles', 'Theatre Beatles', 'the_beatles'],
  ['İstanbul', 'istanbul', 'i̇stanbul', 'ISTANBUL', 'ıstanbul'],
  ['ΣΊΣΥΦΟΣ', 'σίσυφος', 'Σίσυφοσ', 'σίσυφος.'],
  ['Straße 3½', 'straße 3½', 'STRASSE 3½', 'strasse 3½', 'a\u00a0Straße\u30003½'],
  ['naïve café', 'nai\u0308ve cafe\u0301', 'NAÏVE CAFÉ', 'the naïve\u2003café', 'naïve\u0085café'],
  ['北京市', ' 北京市', '北京', 'the北京市', '北京市the'],
  ['1904–05', '1904-05', '190405', '1904 – 05', '１９０４–05'],
  ['yes', 'Yes.', 'no', 'yes\ufeff', '\u001cyes'],
  ['ǅungla 𝒜 😀', 'ǆungla 𝒜 😀', 'Ǆungla 𝒜 😀', 'ǆungla 😀'],
  ['and/or', 'andor', 'an d or', '"And/Or"', '<and> or'],
  ['', ' ', 'the', 'a an the', '.'],
] as const;

const WORDS = (
  'who|directed|Red River|born in|the|a|##|#|| |\n|\u2028|\u00a0|\ufeff|北京|İ|ς|😀|<|>|</|<think|search>|' +
  '<b>|<Answer>|< answer >|&lt;answer&gt;|```|\\'
).split('|');
const TAGS = ['think', 'search', 'information', 'answer'] as const;
const SEARCH_R1_NOTICE =
  '\nMy previous action is invalid. If I want to search, I should put the query between <search> and </search>. ' +
  'If I want to give the final answer, I should put the answer between <answer> and </answer>. Let me try again.\n';
const NOTICES = [INVALID_ACTION_NOTICE, INVALID_ACTION_NOTICE_FULL, SEARCH_R1_NOTICE];
/** Inserted between pieces, or instead of them. */
const DEBRIS = [
  ...(
    '</search>|<search>|</answer>|<answer>|<information>|</information>|</think>|<think>|' +
    '</</search>|<search></search>|<search> ## </search>|<search> <search> a </search> </search>|' +
    '<think> <answer> x </answer> </think>|<answer> </answer>|<information> made up </information>|' +
    '##|.|\n'
  ).split('|'),
  ...NOTICES,
];

const isLikely = (random: Random, share: number): boolean => random.uniform() < share;
const drawText = (random: Random): string =>
  range(random.integer(5))
    .map(() => random.choice(WORDS))
    .join(' ');

/** One to four queries, some equal or empty. */
function drawQueries(random: Random, separator = '##'): string {
  const query = (): string => `q${random.integer(3)} ${drawText(random)}`;
  const queries = range(1 + random.integer(4)).map(query);
  return queries.join(random.choice([` ${separator} `, separator, ` ${separator} ${separator} `]));
}

const block = (tag: (typeof TAGS)[number], body: string): string => `<${tag}>${body}</${tag}>`;
const drawThought = (random: Random): string =>
  isLikely(random, 0.05) ? '' : block('think', random.choice([' t ', `${drawText(random)}\n`]));
const drawInformation = (random: Random): string =>
  block(
    'information',
    `Doc 1(Title: t) ${random.choice(['x', drawText(random), '<answer> x </answer>', '</information>'])}`,
  );

const drawLabelled = (random: Random): string =>
  wrapResults(['Doc 1: t   x'], { form: 'json', queries: [drawText(random)] });

/** A well-formed trajectory: up to four searches, then an answer. */
function drawTidy(random: Random, answer: string): TextSegment[] {
  const [separator, inform] = isLikely(random, 0.8)
    ? ['##', drawInformation]
    : [random.choice(['##', ',']), drawLabelled];
  const searches = range(random.integer(5)).flatMap((): TextSegment[] => [
    {
      kind: 'policy',
      text: `${drawThought(random)}${random.choice(['', '\n', '\u00a0'])}${block('search', ` ${drawQueries(random, separator)} `)}`,
    },
    { kind: 'information', text: inform(random) },
  ]);
  const last = `${drawThought(random)}\n${block('answer', ` ${answer} `)}`;
  return [...searches, { kind: 'policy', text: last }];
}

const CHANGES = 'insert|cut|drop tag|twice|swap|notice|remove|rename|open'.split('|');

/** A trajectory with one random defect. */
function damaged(segments: TextSegment[], random: Random): TextSegment[] {
  const at = random.integer(segments.length);
  const { kind, text } = segments[at];
  const cut = random.integer(text.length + 1);
  const change = random.choice(CHANGES);
  const replacedBy = (...others: TextSegment[]): TextSegment[] =>
    segments.toSpliced(at, 1, ...others);
  const rewritten = (changed: string): TextSegment[] => replacedBy({ kind, text: changed });
  const tag = random.choice(TAGS);
  switch (change) {
    case 'insert':
      return rewritten(text.slice(0, cut) + random.choice(DEBRIS) + text.slice(cut));
    case 'cut':
      return [...segments.slice(0, at), { kind, text: text.slice(0, cut) }];
    case 'drop tag':
      return rewritten(text.replace(random.choice([`<${tag}>`, `</${tag}>`]), ''));
    case 'open':
      return rewritten(text.replace(`</${tag}>`, `<${tag}>`));
    case 'rename':
      return rewritten(text.replace(`<${tag}>`, `<${random.choice(TAGS)}>`));
    case 'twice':
      return replacedBy(segments[at], segments[at]);
    case 'swap':
      return segments.toSpliced(at, 2, ...segments.slice(at, at + 2).toReversed());
    case 'notice':
      return segments.toSpliced(at, 0, { kind: 'notice', text: random.choice(NOTICES) });
    default: // remove
      return replacedBy();
  }
}

/** One generation of a policy: mostly a search, else an answer, or neither. */
function drawGeneration(random: Random, separator?: string): string {
  const search = `${drawThought(random)}${block('search', ` ${drawQueries(random, separator)} `)}`;
  const others = [block('answer', ` ${drawText(random)} `), drawText(random)];
  return (
    random.choice([search, search, search, search, ...others]) +
    random.choice(['', '', '\n', ' goes on', '</answer>', random.choice(DEBRIS)])
  );
}

/** A passage, often with tags or line breaks that must be escaped. */
const drawPassage = (random: Random): { title: string; text: string } => ({
  title: `T${random.integer(9)} ${random.choice(['(film)', '<answer>', '\t', ''])}`,
  text: `${drawText(random)}${random.choice(['', '\nDoc 9(Title: t) x', '</information>', '\u2003'])}`,
});

export function drawRewardCases(random: Random, count: number): RewardCase[] {
  return range(count).map(() => {
    const ways = random.choice(ANSWERS);
    const others = random.choice(ANSWERS);
    const answer = random.choice([...ways, ...ways, random.choice(others)]);
    let segments = drawTidy(random, answer);
    while (segments.length > 0 && isLikely(random, 0.45)) segments = damaged(segments, random);
    const between = random.choice(['', '\n', '\n\n', ' \u2003']);
    const isText = isLikely(random, 0.7);
    return {
      response: isText ? segments.map(({ text }) => text).join(between) : segments,
      goldenAnswers: isLikely(random, 0.3) ? [random.choice(others), ways[0]] : [ways[0]],
      questionType: random.choice(QUESTION_TYPES),
    };
  });
}

/** One token per character, so that limits cut tags and words anywhere. */
const CHARACTERS: Tokenizer = {
  encode: (text) => Array.from(text, (character) => character.codePointAt(0)!),
  decode: (ids) => String.fromCodePoint(...ids),
  tokenId: (token) => token.codePointAt(0),
  vocabSize: 0x110000,
};

const QUESTION = { id: 'q', question: 'Who?', goldenAnswers: ['x'], metadata: {} };

type Passages = { title: string; text: string }[];

/** A policy that follows a script, generation by generation. */
function scriptedPolicy(script: readonly string[], maxLength: number): Policy {
  const left = script.values();
  return {
    name: 'scripted',
    tokenizer: CHARACTERS,
    maxLength,
    generate: async (contexts) =>
      contexts.map(() => {
        const text = left.next().value!;
        // Engines stop at the end of the action.
        const tokenIds = CHARACTERS.encode(text.slice(0, nextAction(text).end));
        const logProbs = tokenIds.map(() => -1);
        return { tokenIds, text: CHARACTERS.decode(tokenIds), logProbs, finish: 'stop' };
      }),
  };
}

/** Draws passages for each new query into `drawn`; null is a failed search. */
function drawingRetriever(random: Random, drawn: Map<string, Passages | null>): Retriever {
  const draw = (): Passages | null =>
    random.uniform() < 0.1 ? null : range(random.integer(4)).map(() => drawPassage(random));
  const search = (query: string): Passages | null => {
    if (!drawn.has(query)) drawn.set(query, draw());
    return drawn.get(query)!;
  };
  return {
    name: 'drawn',
    retrieve: async (queries, { topK }) => {
      const lists = queries.map(search);
      if (lists.includes(null)) throw new Error('This search fails.');
      const scored = ({ title, text }: Passages[number], i: number) => ({
        passage: { id: `${i}`, title, text, contents: `${title}\n${text}` },
        score: 1 / (i + 1),
      });
      return lists.map((passages) => passages!.slice(0, topK).map(scored));
    },
  };
}

/** Draws a rollout: options, script, passages, and the expected result. */
export async function drawRolloutCase(random: Random): Promise<object> {
  const config: RolloutConfig = {
    prompt: 'parallel',
    promptForm: random.choice(['short', 'full'] as const),
    maxSearchTurns: random.integer(5),
    topK: 1 + random.integer(3),
    splitQueries: random.uniform() < 0.7,
    maxSubQueries: 1 + random.integer(4),
    maxInformationTokens: random.uniform() < 0.75 ? 40 + random.integer(160) : 100_000,
    maxNewTokens: 50,
    topP: 1,
    retrievalTimeoutMs: 10_000,
    ...(random.uniform() < 0.3 && { maxPassageWords: 1 + random.integer(6) }),
    ...(random.uniform() < 0.3 && { querySeparator: random.choice([',', '#']) }),
    ...(random.uniform() < 0.45 && { informationForm: 'json' }),
    ...(random.uniform() < 0.75 && { informationCut: random.choice(['query', 'raw'] as const) }),
  };
  const room = random.choice([200, 600, 100_000]);
  const maxLength =
    buildPrompt(config.prompt, QUESTION.question, { form: config.promptForm }).length + room;
  const script = range(config.maxSearchTurns + 1).map(() =>
    drawGeneration(random, config.querySeparator),
  );
  const drawn = new Map<string, Passages | null>();
  const { trajectories } = await rollOut(
    scriptedPolicy(script, maxLength),
    drawingRetriever(random.fork('passages'), drawn),
    [QUESTION],
    { ...config, temperature: 1, randoms: [random] },
  );
  const [{ segments, searchTurns }] = trajectories;
  const [prompt, ...response] = segments;
  return {
    options: pythonOptions(config),
    max_length: maxLength,
    prompt: prompt.text,
    script,
    found: Object.fromEntries(
      Array.from(drawn, ([query, passages]) => [
        query,
        passages?.map(({ title, text }, i) => [title, text, `${i}`, 1 / (i + 1)]) ?? null,
      ]),
    ),
    expected: {
      segments: response.map(({ kind, text }) => [kind, text]),
      token_ids: tokenIds({ segments: response }),
      mask: lossMask({ segments: response }),
      // How much of each result is shown, because rewards read it.
      shown: searchTurns.map(({ results }) =>
        results.map((result) =>
          result.status === 'ok' ? result.passages.map(({ id, isCut = false }) => [id, isCut]) : [],
        ),
      ),
    },
  };
}

const SEED = 'Python';
const NUM_REWARD_CASES = 10_000;
const NUM_ROLLOUT_CASES = 300;

/** The lines of both files of cases, by the files' names without ending. */
export async function drawCases(): Promise<Record<'rewards' | 'rollouts', object[]>> {
  const random = createRandom(SEED);
  const rollouts: object[] = [];
  for (let i = 0; i < NUM_ROLLOUT_CASES; i++) rollouts.push(await drawRolloutCase(random.fork(i)));
  return { rewards: drawRewardCases(createRandom(SEED), NUM_REWARD_CASES), rollouts };
}
