import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Question, SubQuestion } from '../../lib/data/question.js';
import {
  BEHAVIOUR_LABELS,
  behaviourMeasures,
  BEHAVIOURS,
  behaviourShares,
  labelAnswer,
  labelTrajectory,
  namesIn,
  shownLabels,
  wilsonInterval,
  type BehaviourLabel,
} from '../../lib/evaluation/behaviour.js';
import { measure, type QuestionResult } from '../../lib/evaluation/measurement.js';
import { summariseResults } from '../../lib/evaluation/table.js';
import { parseTrajectory } from '../../lib/rollout/recorded.js';
import type { Segment, Trajectory } from '../../lib/rollout/trajectory.js';
import { normalizeAnswer } from '../../lib/text/answer-match.js';
import { findNames } from '../../lib/text/names.js';
import { formatInformation, wrapResults } from '../../lib/text/tags.js';
import { subQuestion } from '../data/questions.js';

const birth = (entity: string, passage: string, dependsOn: string[] = []): SubQuestion =>
  subQuestion(entity, { entity, dependsOn, evidence: [passage] });

const COMPARISON: Question = {
  id: 'comparison',
  question: 'Who was born first, Ada Stone or Bo Reed?',
  goldenAnswers: ['Bo Reed'],
  metadata: { type: 'comparison', graph: [birth('Ada Stone', 'ada'), birth('Bo Reed', 'bo')] },
};
const CHAIN: Question = {
  id: 'chain',
  question: 'When was the director of Red River born?',
  goldenAnswers: ['1904'],
  metadata: { graph: [birth('Red River', 'river'), birth('Bo Reed', 'bo', ['Red River'])] },
};
const TEXTS: Readonly<Record<string, string>> = {
  ada: 'Ada Stone was born in 1922.',
  bo: 'Bo Reed was born in 1904.',
  river: 'Red River is a film by Bo Reed.',
  sea: 'The sea is deep.',
};

/** Searches, each a list of `query -> passage`, then an answer unless null. */
function play(
  { id, question, goldenAnswers }: Question,
  searches: readonly (readonly string[])[],
  answer: string | null,
  extra: Partial<Trajectory> = {},
): Trajectory {
  const segment = (kind: Segment['kind'], text: string): Segment => ({ kind, text, tokenIds: [] });
  const turns = searches.map((asked) => asked.map((one) => one.split(' -> ')));
  const think = (action: string) => segment('policy', `<think> t </think>${action}`);
  const shown = (title: string) =>
    ({ status: 'ok', passages: [{ title, text: TEXTS[title] }] }) as const;
  const texts = turns.flatMap((asked) => [
    think(`<search> ${asked.map(([query]) => query).join(' ## ')} </search>`),
    segment('information', formatInformation(asked.map(([, passage]) => shown(passage)))),
  ]);
  const answered = answer === null ? [] : [think(`<answer> ${answer} </answer>`)];
  return {
    questionId: id,
    question,
    goldenAnswers,
    segments: [...texts, ...answered],
    searchTurns: turns.map((asked) => ({
      queries: asked.map(([query]) => query),
      results: asked.map(([, id]) => ({ status: 'ok', passages: [{ id, title: id, score: 1 }] })),
    })),
    answer,
    modelCalls: turns.length + answered.length,
    finish: answer === null ? 'budget' : 'answer',
    maxSearchTurns: 4,
    ...extra,
  };
}

const labelsOf = (
  question: Question,
  ...played: [string[][], string | null, Partial<Trajectory>?]
) => shownLabels(labelTrajectory(play(question, ...played), question));
const ADA = 'Ada Stone born -> ada';
const BO = 'Bo Reed born -> bo';
const RIVER = 'Red River director -> river';

describe('labelTrajectory', () => {
  it.each<[string, Question, [string[][], string | null, Partial<Trajectory>?], BehaviourLabel[]]>([
    ['a comparison searched in parallel', COMPARISON, [[[ADA, BO]], 'Bo Reed'], []],
    ['a chain searched in order', CHAIN, [[[RIVER], [BO]], '1904'], []],
    [
      'one query for both',
      COMPARISON,
      [[['born first, ADA  stone or the Bo Reed -> ada'], [BO]], 'Bo Reed'],
      ['compound_query'],
    ],
    [
      'a query repeated in another spelling',
      COMPARISON,
      [[[ADA], ['  the ada STONE born! -> ada'], [BO]], 'Bo Reed'],
      ['repeated_query'],
    ],
    [
      'an answer without search',
      COMPARISON,
      [[], 'Bo Reed'],
      ['no_search', 'under_search', 'gave_up', 'incomplete_evidence', 'answer_not_shown'],
    ],
    [
      'an answer after one of two searches',
      COMPARISON,
      [[[ADA]], 'Ada Stone'],
      ['under_search', 'gave_up', 'incomplete_evidence', 'answer_not_shown'],
    ],
    [
      'one of two searches in the last turn',
      COMPARISON,
      [[[ADA]], 'Ada Stone', { maxSearchTurns: 1 }],
      ['under_search', 'incomplete_evidence', 'answer_not_shown'],
    ],
    [
      'a part whose passage was not found',
      COMPARISON,
      [[[ADA, 'Bo Reed born -> sea']], 'Bo Reed'],
      ['gave_up', 'incomplete_evidence', 'answer_not_shown'],
    ],
    [
      'a search after all evidence was shown',
      COMPARISON,
      [[[ADA, BO], ['Red River -> river']], 'Bo Reed'],
      ['over_search'],
    ],
    ['a chain searched in parallel', CHAIN, [[[RIVER, BO]], '1904'], ['over_parallelized']],
    [
      'a part never searched for',
      COMPARISON,
      [[[ADA, 'Red River -> bo']], 'Bo Reed'],
      ['under_search', 'half_decomposed'],
    ],
    [
      'the wrong one of two, with all evidence',
      COMPARISON,
      [[[ADA, BO]], 'ada stone'],
      ['evidence_unused', 'wrong_aggregation', 'wrong_comparison', 'shown_answer_missed'],
    ],
    [
      'another answer, with all evidence, searched one by one',
      COMPARISON,
      [[[ADA], [BO]], '1922'],
      ['evidence_unused', 'shown_answer_missed'],
    ],
    [
      'no answer in four turns',
      CHAIN,
      [[[RIVER], ['Reed -> sea'], ['Reed age -> sea'], ['Bo Reed -> sea']], null],
      ['out_of_turns', 'no_answer', 'malformed'],
    ],
    [
      'a full context',
      CHAIN,
      [[[RIVER]], null, { finish: 'length' }],
      ['cut_off', 'no_answer', 'malformed'],
    ],
  ])('%s', (_, question, played, expected) => {
    expect(labelsOf(question, ...played)).toEqual(expected);
  });

  it('distinguishes who wrote an information block', () => {
    const response = '<information>Bo Reed was born in 1904.</information><answer> 1904 </answer>';
    const read = parseTrajectory({ id: 'q', golden_answers: ['1904'], response });
    const labels = shownLabels(labelTrajectory(read)).join(' ');
    expect(labels).toBe('no_search malformed invented_information answer_not_shown');
  });

  it('distinguishes an invented passage after a raw cut from a cut one', () => {
    const { segments, ...asked } = play(COMPARISON, [[ADA]], 'Bo Reed');
    const invents = (wrote: string, end = ''): boolean | null => {
      const changed = segments.map((segment, i) => {
        if (segment.kind === 'information')
          return { ...segment, text: `<information>Doc 1(Title: Ada) Ada Stone was${end}` };
        return i > 0 && segment.kind === 'policy'
          ? { ...segment, text: `${wrote}<answer> x </answer>` }
          : segment;
      });
      return labelTrajectory({ ...asked, segments: changed }, COMPARISON).invented_information;
    };
    const passage = ' born in 1950.\nDoc 2(Title: Bo) Bo was born in 1904.';
    for (const wrote of [passage, `${passage}</information>`]) expect(invents(wrote)).toBe(true);
    for (const wrote of ['', '\n\n<think> t </think>', '</information>\n<think> t </think>'])
      expect(invents(wrote)).toBe(false);
    // Stray text after a complete block is malformed, but not a passage.
    expect(invents('So ', '</information>')).toBe(false);
  });

  it('finds an answer in passages labelled with their queries, but not in the labels', () => {
    const question = { ...COMPARISON, goldenAnswers: ['Café Bo'] };
    const isShown = (text: string): boolean => {
      const asked = play(question, [[ADA, BO]], 'x');
      const segments = asked.segments.map((segment) =>
        segment.kind === 'information'
          ? { ...segment, text: wrapResults([text], { form: 'json', queries: ['Café Bo'] }) }
          : segment,
      );
      return labelTrajectory({ ...asked, segments }, question).answer_not_shown === false;
    };
    expect(['Doc 1: t   It is Café Bo.', 'Doc 1: t   No.'].map(isShown)).toEqual([true, false]);
  });

  it('counts a search that Search-R1 runs as one query as one', () => {
    const asked = play(COMPARISON, [[ADA, BO]], 'Bo Reed');
    const [{ queries, results }] = asked.searchTurns;
    const joined = [{ queries: [queries.join(' ')], results: results.slice(0, 1) }];
    const labels = labelTrajectory({ ...asked, searchTurns: joined }, COMPARISON);
    expect(labels.compound_query).toBe(true);
  });
});

describe('an unknown label is null', () => {
  const response = `<search> Ada Stone or Bo Reed </search>${formatInformation([])}<answer> Ada Stone </answer>`;
  const { id, question } = COMPARISON;
  const recorded = { id, question, golden_answers: ['Bo Reed'], response };
  const transcript = (fields: object) =>
    labelTrajectory(parseTrajectory({ ...recorded, ...fields }));
  const nulls = (labels: Record<string, boolean | null>): string[] =>
    Object.keys(labels).filter((label) => labels[label] === null);

  it('without gold passages', () => {
    const labels = transcript({});
    expect(nulls(labels)).toEqual([
      'under_search',
      'over_search',
      'over_parallelized',
      'half_decomposed',
      'gave_up',
      'cut_off',
      'incomplete_evidence',
      'evidence_unused',
      'wrong_aggregation',
      'wrong_comparison',
    ]);
    expect(shownLabels(labels)).toEqual(['compound_query', 'malformed', 'answer_not_shown']);
  });

  it('with a graph, but without the ids of the passages', () => {
    const labels = transcript({ metadata: COMPARISON.metadata });
    expect(labels).toMatchObject({ under_search: false, half_decomposed: false, gave_up: null });
    expect(labels.evidence_unused).toBeNull();
  });

  it('without gold answers, or with yes or no', () => {
    const none = transcript({ golden_answers: [] });
    expect([none.answer_not_shown, none.shown_answer_missed]).toEqual([null, null]);
    expect(transcript({ golden_answers: ['Yes'] }).answer_not_shown).toBeNull();
    const asked = play({ ...COMPARISON, goldenAnswers: [] }, [[ADA, BO]], 'Bo Reed');
    const labels = labelTrajectory(asked, { ...COMPARISON, goldenAnswers: [] });
    expect(labels.evidence_unused).toBeNull();
  });

  it('with fewer than two names, or without a choice', () => {
    expect(transcript({ question: 'who was born first' }).compound_query).toBeNull();
    const labels = labelTrajectory(play(CHAIN, [[RIVER], [BO]], '1922'), CHAIN);
    expect(labels).toMatchObject({ compound_query: null, wrong_comparison: null });
  });

  it('without an answer, a stop reason or a limit', () => {
    const open = { response: '<search> a </search>' };
    expect(transcript(open).out_of_turns).toBeNull();
    const cut = transcript({ ...open, stop_reason: 'length' });
    expect(cut).toMatchObject({ out_of_turns: false, cut_off: true });
    expect(transcript({ ...open, max_search_turns: 3 }).out_of_turns).toBe(false);
    expect(transcript({ ...open, max_search_turns: 0 }).out_of_turns).toBe(true);
  });
});

describe('labelAnswer', () => {
  const answerTo = (question: Question, ...played: [string[][], string | null]) =>
    measure(question, play(question, ...played));

  it('agrees with the trajectory for all known labels', () => {
    const plays: [Question, [string[][], string | null]][] = [
      [COMPARISON, [[[ADA, BO]], 'Ada Stone']],
      [COMPARISON, [[[ADA]], 'Ada Stone']],
      [CHAIN, [[[RIVER, BO]], null]],
    ];
    for (const [question, played] of plays) {
      const answer = { ...answerTo(question, ...played), maxSearchTurns: 4 };
      const ofAnswer = labelAnswer(answer, question);
      const ofTrajectory = labelTrajectory(play(question, ...played, { finish: null }), question);
      const known = BEHAVIOUR_LABELS.filter((label) => ofAnswer[label] !== null);
      expect(known.length).toBeGreaterThanOrEqual(10);
      for (const label of known) expect(ofAnswer[label], label).toBe(ofTrajectory[label]);
    }
  });

  it('has fewer known labels without the question', () => {
    const labels = labelAnswer(answerTo(COMPARISON, [[ADA]], 'Ada Stone'));
    expect(labels).toMatchObject({ compound_query: null, gave_up: null });
  });
});

it('docs/behaviour.md defines every label', () => {
  const docs = readFileSync(join(import.meta.dirname, '../../docs/behaviour.md'), 'utf8');
  for (const [label, { meaning, needs }] of Object.entries(BEHAVIOURS))
    expect(docs).toContain(`| \`${label}\` | ${meaning} | ${needs} |`);
});

describe('namesIn', () => {
  it('finds whole words, and the longest name only', () => {
    const names = ['York', 'New York', 'Boston', 'Bos'];
    expect(namesIn('new york and boston', names)).toEqual(['New York', 'Boston']);
    expect(namesIn('York, New York', ['York', 'New York'])).toEqual(['New York', 'York']);
    expect(namesIn('a the', ['The', '?'])).toEqual([]);
  });
});

describe('any trajectory', () => {
  const tags = ['<search> a ## b </search>', '<answer> x </answer>', '<information>', '</think>'];
  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom(...tags));
  const kind = fc.constantFrom('prompt', 'policy', 'information', 'notice');
  const trajectories = fc.record({
    questionId: fc.string(),
    question: fc.oneof(text, fc.constant('Is Ada Stone older than Bo Reed?')),
    goldenAnswers: fc.array(
      text.filter((answer) => answer.trim() !== ''),
      { maxLength: 2 },
    ),
    segments: fc.array(fc.record({ kind, text }), { maxLength: 6 }),
    finish: fc.option(fc.constantFrom('answer', 'budget', 'length', 'refused', 'stop')),
    maxSearchTurns: fc.option(fc.nat(5)),
    metadata: fc.option(fc.constantFrom(COMPARISON.metadata, CHAIN.metadata, {})),
  });

  it('has every label, each true, false or null', () => {
    fc.assert(
      fc.property(trajectories, (line) => {
        const labels = labelTrajectory(parseTrajectory(line));
        expect(Object.keys(labels)).toEqual(BEHAVIOUR_LABELS);
        for (const value of Object.values(labels)) expect([true, false, null]).toContain(value);
      }),
    );
  });

  it('keeps its labels if queries change in case, spaces and punctuation', () => {
    const word = fc.constantFrom('Ada Stone', 'Bo Reed', 'born', 'Red River', 'director', 'film');
    const query = fc.array(word, { minLength: 1, maxLength: 4 });
    const shouted = (words: readonly string[]) =>
      `  ${words.map((one) => one.toUpperCase().replaceAll(' ', '   ')).join('  ')} ?`;
    fc.assert(
      fc.property(fc.array(query, { maxLength: 5 }), (queries) => {
        const [plain, changed] = [
          queries.map((words) => [`${words.join(' ')} -> sea`]),
          queries.map((words, i) => [`${i % 2 ? shouted(words) : words.join(' ')} -> sea`]),
        ].map((searches) => labelTrajectory(play(COMPARISON, searches, 'x'), COMPARISON));
        expect(changed).toEqual(plain);
      }),
    );
  });
});

describe('shares of labels', () => {
  // Newcombe, Statistics in Medicine 17 (1998), Table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
    [29, 29, 0.883, 1],
  ])('for %d of %d have the interval [%d, %d]', (count, n, low, high) => {
    const interval = wilsonInterval(count, n);
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
  });

  it('only count known labels', () => {
    const known = labelTrajectory(play(COMPARISON, [[ADA]], 'x'), COMPARISON);
    const others = [null, false].map((gave_up) => ({ ...known, gave_up }));
    const shares = behaviourShares([known, ...others]);
    expect(shares.find(({ label }) => label === 'gave_up')).toMatchObject({ count: 1, n: 2 });
    expect(shares.map(({ label }) => label)).not.toContain('over_parallelized');
    expect(behaviourShares([])).toEqual([]);
  });

  it('are metrics of evaluation results, over the questions that can show a label', () => {
    const results = [COMPARISON, CHAIN].flatMap((question): QuestionResult[] =>
      [1, 2].map((seed) => {
        const trajectory = play(question, seed === 1 ? [[ADA, BO]] : [[ADA]], 'Ada Stone');
        const behaviour = labelTrajectory(trajectory, question);
        const run = { method: 'm', model: 'base', initSeed: 1, seed } as const;
        return { ...run, ...measure(question, trajectory), behaviour };
      }),
    );
    const measures = behaviourMeasures(results);
    const { rows } = summariseResults(results, { measures, pairs: [], resamples: 10 });
    const row = (metric: string) =>
      rows.find((one) => one.metric === metric && one.benchmark === 'all' && one.subset === 'all');
    expect(row('wrong_comparison')).toMatchObject({ value: 0.5, n: 1, seeds: 2 });
    expect(row('over_parallelized')).toMatchObject({ value: 0.5, n: 1 });
    expect(row('no_search')).toMatchObject({ value: 0, n: 2 });
    expect(measures.map(({ metric }) => metric)).not.toContain('invented');
  });
});

const rollouts =
  process.env.PARALLELSEARCH_ROLLOUTS ?? join(import.meta.dirname, '../../../shared/rollouts');
const NAMES = join(import.meta.dirname, '../fixtures/behaviour/names.json');

describe.skipIf(!existsSync(rollouts))('real trajectories (needs PARALLELSEARCH_ROLLOUTS)', () => {
  const read = (name: string): Trajectory[] =>
    readFileSync(join(rollouts, `${name}.jsonl`), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => parseTrajectory(JSON.parse(line)));
  const countsOf = (name: string) => {
    const shares = behaviourShares(read(name).map((one) => labelTrajectory(one)));
    return Object.fromEntries(shares.map(({ label, count, n }) => [label, [count, n]]));
  };

  // The figures in docs/behaviour.md.
  it('show the behaviour reported in the docs', () => {
    expect(countsOf('search-r1-base-nq')).toMatchObject({
      repeated_query: [10, 150],
      no_search: [18, 150],
      cut_off: [14, 150],
      invented_information: [21, 150],
      answer_not_shown: [43, 150],
      shown_answer_missed: [47, 150],
    });
    expect(countsOf('search-r1-instruct-bamboogle')).toMatchObject({
      compound_query: [10, 13],
      repeated_query: [1, 125],
      no_search: [0, 125],
      out_of_turns: [0, 125],
      answer_not_shown: [62, 124],
      shown_answer_missed: [20, 124],
    });
  });

  it('contain the hand-annotated names as often as the docs say', () => {
    type Annotated = Record<string, { names: string[]; compound: boolean | null }>;
    const byHand = JSON.parse(readFileSync(NAMES, 'utf8')) as Record<string, Annotated>;
    const agreement = (file: string) => {
      const tally = { shared: 0, found: 0, annotated: 0, sameLabel: 0, questions: 0 };
      for (const trajectory of read(file)) {
        const annotated = byHand[file][trajectory.questionId];
        if (!annotated) continue;
        const found = findNames(trajectory.question).map(normalizeAnswer);
        const names = annotated.names.map(normalizeAnswer);
        const { compound_query: compound } = labelTrajectory(trajectory);
        tally.questions++;
        tally.shared += found.filter((name) => names.includes(name)).length;
        tally.found += found.length;
        tally.annotated += names.length;
        tally.sameLabel += Number(compound === annotated.compound);
      }
      return tally;
    };
    const names = { shared: 67, found: 79, annotated: 73 };
    const bamboogle = agreement('search-r1-instruct-bamboogle');
    expect(bamboogle).toEqual({ ...names, questions: 125, sameLabel: 123 });
    // Without capital letters no names are found, and the label is unknown.
    const nq = agreement('search-r1-base-nq');
    expect(nq).toMatchObject({ questions: 40, found: 0, annotated: 39 });
  });
});
