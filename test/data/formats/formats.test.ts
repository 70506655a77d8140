import { describe, expect, it } from 'vitest';
import { graphAfter, PassageCollector, type DataFormat } from '../../../lib/data/formats/format.js';
import { hotpotqa } from '../../../lib/data/formats/hotpotqa.js';
import { musique } from '../../../lib/data/formats/musique.js';
import { twoWiki } from '../../../lib/data/formats/two-wiki.js';
import { graphQuestionType, type Question } from '../../../lib/data/question.js';
import {
  HOTPOT_BRIDGE,
  HOTPOT_COMPARISON,
  HOTPOT_OPEN,
  MUSIQUE_TWO_AND_ONE,
  TWO_WIKI_BRIDGE_COMPARISON,
} from './rows.js';

/** A chain of two hops in 2WikiMultiHopQA. */
const CHAIN = {
  type: 'compositional',
  evidences: [
    ['Red River (film)', 'director', 'Bo Reed'],
    ['Bo Reed', 'date of birth', '1904'],
  ],
};

function read(format: DataFormat, row: object, passages = new PassageCollector()): Question {
  expect(format.matches(row)).toBe(true);
  return format.read(row, passages)!;
}
const graphOf = (question: Question) => question.metadata.graph!;
/** Titles of the evidence of each node. */
const evidenceOf = (question: Question, passages: PassageCollector): (string | undefined)[][] =>
  graphOf(question).map(({ evidence }) => evidence.map((id) => passages.get(id)?.title));

describe('HotpotQA', () => {
  it('searches both articles of a comparison in parallel', () => {
    const passages = new PassageCollector();
    const question = read(hotpotqa, HOTPOT_COMPARISON, passages);
    expect(question).toMatchObject({
      id: 'h1',
      goldenAnswers: ['Bo Reed'],
      metadata: {
        benchmark: 'hotpotqa',
        type: 'comparison',
        level: 'hard',
        supporting: ['p2', 'p3'],
      },
    });
    expect(graphQuestionType(graphOf(question))).toBe('parallelizable');
    expect(graphOf(question).map(({ entity, answers }) => [entity, answers])).toEqual([
      ['Ada Stone', ['Ada Stone was born in 1922.']],
      ['Bo Reed', ['He was born in 1904.']],
    ]);
    expect(evidenceOf(question, passages)).toEqual([['Ada Stone'], ['Bo Reed']]);
    expect(passages.contents.get('p3')).toBe('Bo Reed\nBo Reed is a singer. He was born in 1904.');
  });

  it.each([hotpotqa, twoWiki])('finds articles whose titles have other code points', (format) => {
    // Python's unicodedata.normalize('NFD', 'Zoë Müller') gives the second.
    const [composed, decomposed] = ['Zo\u00eb M\u00fcller', 'Zoe\u0308 Mu\u0308ller'];
    const passages = new PassageCollector();
    const { metadata } = read(
      format,
      {
        ...HOTPOT_COMPARISON,
        supporting_facts: [[composed, 0]],
        context: [[decomposed, ['She sings.']]],
        ...(format === twoWiki && { evidences: [] }),
      },
      passages,
    );
    expect(metadata.supporting).toEqual(['p1']);
    expect(passages.numIncomplete).toBe(0);
  });

  it('starts a bridge with the article that mentions the other', () => {
    const question = read(hotpotqa, HOTPOT_BRIDGE);
    expect(graphQuestionType(graphOf(question))).toBe('sequential');
    expect(graphOf(question).map(({ entity, answers }) => [entity, answers])).toEqual([
      ['Red River', ['Bo Reed']],
      ['Bo Reed', ['1904']],
    ]);
  });

  it('ends a bridge with the article that has the answer if none mentions the other, or gives no graph', () => {
    const context = [
      ['Bo Reed', ['A man of 1904.']],
      ['Red River (film)', ['A film.']],
    ];
    const byAnswer = read(hotpotqa, { ...HOTPOT_OPEN, context });
    expect(graphOf(byAnswer).map(({ entity }) => entity)).toEqual(['Red River', 'Bo Reed']);
    expect(read(hotpotqa, HOTPOT_OPEN).metadata).toEqual({
      benchmark: 'hotpotqa',
      type: 'bridge',
      level: 'easy',
      supporting: ['p1', 'p2'],
    });
  });

  it('keeps an article whose supporting sentence number is out of range, or listed twice', () => {
    const question = read(hotpotqa, {
      ...HOTPOT_COMPARISON,
      supporting_facts: [
        ['Ada Stone', 0],
        ['Ada Stone', 0],
        ['Bo Reed', 7],
      ],
    });
    expect(question.metadata.supporting).toEqual(['p2', 'p3']);
    expect(graphOf(question).map(({ answers }) => answers)).toEqual([
      ['Ada Stone was born in 1922.'],
      ['Bo Reed is a singer. He was born in 1904.'],
    ]);
  });

  it('skips rows without an answer but keeps their passages', () => {
    const { answer: _, supporting_facts: __, type: ___, ...test } = HOTPOT_COMPARISON;
    const passages = new PassageCollector();
    expect(hotpotqa.read(test, passages)).toBeNull();
    expect(passages.contents.size).toBe(3);
  });
});

it.each([
  [hotpotqa, HOTPOT_COMPARISON],
  [twoWiki, TWO_WIKI_BRIDGE_COMPARISON],
  [musique, MUSIQUE_TWO_AND_ONE],
])('skips a row with a blank answer', (format, row) => {
  expect(format.read({ ...row, answer: ' ' }, new PassageCollector())).toBeNull();
});

describe('2WikiMultiHopQA', () => {
  it('turns each triple into a sub-question', () => {
    const passages = new PassageCollector();
    const question = read(twoWiki, TWO_WIKI_BRIDGE_COMPARISON, passages);
    expect(graphQuestionType(graphOf(question))).toBe('hybrid');
    expect(graphOf(question).map(({ id, dependsOn, query }) => [id, dependsOn, query])).toEqual([
      ['q1', [], 'Red River director'],
      ['q2', [], 'Blue Lake director'],
      ['q3', ['q1'], 'Bo Reed date of death'],
      ['q4', ['q2'], 'Ada Stone date of death'],
    ]);
    expect(evidenceOf(question, passages)).toEqual([
      ['Red River'],
      ['Blue Lake'],
      ['Bo Reed'],
      ['Ada Stone'],
    ]);
    expect(passages.contents.get('p1')).toBe(
      'Red River\nRed River is a film. Bo Reed directed it.',
    );
  });

  it('finds articles whose titles have qualifiers or only punctuation', () => {
    const passages = new PassageCollector();
    const question = read(
      twoWiki,
      {
        ...TWO_WIKI_BRIDGE_COMPARISON,
        context: [
          ['!!!', ['A band of Sacramento.']],
          ['???', ['An album.']],
          ['Red River (film)', ['Bo Reed directed it.']],
          ['Red River (song)', ['No support.']],
          ['Red River', ['No support, either.']],
        ],
        supporting_facts: [
          ['!!!', 0],
          ['Red River (film)', 0],
        ],
        evidences: [
          ['Red River', 'director', '???'],
          ['!!!', 'founded in', 'Sacramento'],
        ],
      },
      passages,
    );
    expect(evidenceOf(question, passages)).toEqual([['Red River (film)'], ['!!!']]);
    expect(graphOf(question).map(({ dependsOn }) => dependsOn)).toEqual([[], []]);
    expect(question.metadata.supporting).toEqual(['p1', 'p3']);
  });

  it('falls back on the order of hops if names differ', () => {
    const [red, blue, , ada] = TWO_WIKI_BRIDGE_COMPARISON.evidences;
    const evidences = [red, blue, ['B. Reeves Reed', 'date of death', '1956'], ada];
    const compared = read(twoWiki, { ...TWO_WIKI_BRIDGE_COMPARISON, evidences });
    expect(graphOf(compared).map(({ dependsOn }) => dependsOn)).toEqual([[], [], ['q1'], ['q2']]);
    const chain = {
      ...TWO_WIKI_BRIDGE_COMPARISON,
      type: 'compositional',
      evidences: [red, evidences[2]],
    };
    expect(graphQuestionType(graphOf(read(twoWiki, chain)))).toBe('sequential');
    expect(graphQuestionType(graphOf(read(twoWiki, { ...chain, type: 'comparison' })))).toBe(
      'parallelizable',
    );
  });

  it('merges triples with several answers, and writes them separately', () => {
    const [red, blue, bo, ada] = TWO_WIKI_BRIDGE_COMPARISON.evidences;
    const evidences = [
      red,
      ['Red River', 'director', 'Cy Hill'],
      blue,
      bo,
      ['Cy Hill', ...bo.slice(1)],
      ada,
    ];
    const passages = new PassageCollector();
    const question = read(twoWiki, { ...TWO_WIKI_BRIDGE_COMPARISON, evidences }, passages);
    expect(graphOf(question).map(({ id, answers, dependsOn }) => [id, answers, dependsOn])).toEqual(
      [
        ['q1', ['Bo Reed', 'Cy Hill'], []],
        ['q2', ['Ada Stone'], []],
        ['q3', ['1956'], ['q1']],
        ['q4', ['1956'], ['q1']],
        ['q5', ['1993'], ['q2']],
      ],
    );
    expect(twoWiki.print(question, passages)).toMatchObject({ evidences });
    // A hop counts sub-questions, not triples.
    const renamed = [...evidences.slice(0, 3), ['B. Reeves Reed', ...bo.slice(1)], ada];
    const compared = read(twoWiki, { ...TWO_WIKI_BRIDGE_COMPARISON, evidences: renamed });
    expect(graphOf(compared).map(({ dependsOn }) => dependsOn)).toEqual([[], [], ['q1'], ['q2']]);
  });

  it('is distinguished from HotpotQA', () => {
    expect(hotpotqa.matches(TWO_WIKI_BRIDGE_COMPARISON)).toBe(false);
    expect(twoWiki.matches(HOTPOT_BRIDGE)).toBe(false);
    expect(musique.matches(HOTPOT_BRIDGE)).toBe(false);
  });
});

describe('MuSiQue', () => {
  it('turns the decomposition into a graph with answers in place of references', () => {
    const passages = new PassageCollector();
    const question = read(musique, MUSIQUE_TWO_AND_ONE, passages);
    expect(question).toMatchObject({
      goldenAnswers: ['Medieval Latin', 'medieval latin language'],
      metadata: { benchmark: 'musique', type: '3hop2' },
    });
    expect(graphOf(question)).toMatchObject([
      { entity: 'Franks', attribute: 'king', query: 'Franks king', dependsOn: [] },
      { entity: 'Sylvester', query: 'where does the name sylvester come from', dependsOn: [] },
      {
        entity: 'Latin',
        question: 'What was the Latin of Charlemagne later known as?',
        dependsOn: ['q2', 'q1'],
      },
    ]);
    expect(graphQuestionType(graphOf(question))).toBe('hybrid');
    expect(evidenceOf(question, passages)).toEqual([['Franks'], ['Sylvester'], ['Latin']]);
  });

  it('keeps a number that refers to no earlier step as text', () => {
    const steps = [
      { id: 1, question: 'Which song was the #1 hit?', answer: 'Alder', paragraph_support_idx: 0 },
      { id: 2, question: 'When was #1 sung in F#1, as #2, #9 or #1b?', answer: '1904' },
    ];
    const question = read(musique, { ...MUSIQUE_TWO_AND_ONE, question_decomposition: steps });
    expect(graphOf(question)).toMatchObject([
      { question: 'Which song was the #1 hit?', dependsOn: [] },
      { question: 'When was Alder sung in F#1, as #2, #9 or #1b?', dependsOn: ['q1'] },
    ]);
  });

  it.each(['#1', '# 1', '＃1', '#１', '＃　１'])('reads the reference %s', (reference) => {
    const steps = [
      { id: 1, question: 'Who directed it?', answer: 'Bo' },
      { id: 2, question: `When was ${reference} born?`, answer: '1904' },
    ];
    const question = read(musique, { ...MUSIQUE_TWO_AND_ONE, question_decomposition: steps });
    expect(graphOf(question)[1]).toMatchObject({
      question: 'When was Bo born?',
      dependsOn: ['q1'],
    });
  });

  it('writes references for whole words, and null if no paragraph supports a step', () => {
    const passages = new PassageCollector();
    const steps = [
      { id: 1, question: 'Who directed it?', answer: 'or' },
      {
        id: 2,
        question: 'When was director #1 born?',
        answer: 'A-b/c (d)',
        paragraph_support_idx: 3,
      },
      { id: 3, question: 'Where is #2?', answer: 'Oslo', paragraph_support_idx: 99 },
    ];
    const question = read(
      musique,
      { ...MUSIQUE_TWO_AND_ONE, question_decomposition: steps },
      passages,
    );
    expect(passages.numIncomplete).toBe(1);
    expect(musique.print(question, passages)).toMatchObject({
      question_decomposition: [
        { question: 'Who directed it?', paragraph_support_idx: null },
        { question: 'When was director #1 born?', paragraph_support_idx: 0 },
        { question: 'Where is #2?' },
      ],
    });
  });

  it.each([
    [['Bo', '1'], 'What did Bo and 1 do?', 'What did #1 and #2 do?', 'kept'],
    [['York', 'New York'], 'Is New York near York?', 'Is #2 near #1?', 'kept'],
    [['Bo', 'Bo'], 'Is Bo older than Bo?', 'Is #1 older than #2?', 'kept'],
    [['The Beatles'], 'When did the Beatles split?', 'When did #1 split?', 'kept'],
    [['May'], 'Who may have died in May?', 'Who may have died in #1?', 'kept'],
    [['Hit #1'], 'Who sang Hit #1?', 'Who sang #1?', 'kept'],
    [['Bo'], 'Who loved the #1 hit by Bo?', 'Who loved the #1 hit by #1?', 'changed'],
    [['Bo'], 'When was Bo L. born?', 'When was #1 L. born?', 'kept'],
    [['Bo'], 'Who loved the # 1 hit by Bo?', 'Who loved the # 1 hit by #1?', 'changed'],
    [['Ada'], 'When was she born?', 'When was she born?', 'changed'],
    [['Bo', 'Bo'], 'When was Bo born?', 'When was #1 born?', 'changed'],
    [[''], 'When was it?', undefined, 'changed'],
  ])('refers to %j in %j', (answers, last, written, expected) => {
    const steps = [...answers.map((answer) => ['Who?', answer]), [last, 'x']];
    const graph = steps.map(([question, answer], i) => ({
      id: `q${i + 1}`,
      question,
      entity: 'e',
      attribute: 'a',
      query: question,
      evidence: [],
      answers: [answer],
      dependsOn: i === answers.length ? answers.map((_, at) => `q${at + 1}`) : [],
    }));
    const question = { id: 'q', question: 'Q?', goldenAnswers: ['x'], metadata: { graph } };
    const passages = new PassageCollector();
    if (written !== undefined) {
      const row = musique.print(question, passages);
      expect(row).toHaveProperty(`question_decomposition.${answers.length}.question`, written);
    }
    expect(graphAfter(musique, question, passages)).toBe(expected);
  });

  it('takes only the first >> of a step apart', () => {
    const steps = [{ id: 1, question: 'A >> b >> c', answer: 'x' }];
    const question = read(musique, { ...MUSIQUE_TWO_AND_ONE, question_decomposition: steps });
    expect(graphOf(question)).toMatchObject([
      { entity: 'A', attribute: 'b >> c', query: 'A b >> c' },
    ]);
  });

  it('skips unanswerable questions', () => {
    expect(
      musique.read({ ...MUSIQUE_TWO_AND_ONE, answerable: false }, new PassageCollector()),
    ).toBeNull();
  });
});

it.each([
  [hotpotqa, HOTPOT_COMPARISON],
  [hotpotqa, HOTPOT_BRIDGE],
  [hotpotqa, HOTPOT_OPEN],
  [twoWiki, TWO_WIKI_BRIDGE_COMPARISON],
  [musique, MUSIQUE_TWO_AND_ONE],
])('%o writes rows that are read back as the same question', (format, row) => {
  const passages = new PassageCollector();
  const question = read(format, row, passages);
  const again = read(format, format.print(question, passages), passages);
  // Written paragraphs are one sentence each.
  const withoutSentences = ({ metadata: { graph, ...metadata }, ...rest }: Question) => ({
    ...rest,
    metadata,
    graph: graph?.map(({ answers, ...node }) =>
      row === HOTPOT_COMPARISON ? node : { ...node, answers },
    ),
  });
  expect(withoutSentences(again)).toEqual(withoutSentences(question));
});

it.each([
  [musique, HOTPOT_BRIDGE, hotpotqa, 'kept'],
  [twoWiki, HOTPOT_BRIDGE, hotpotqa, 'kept'],
  [musique, TWO_WIKI_BRIDGE_COMPARISON, twoWiki, 'kept'],
  [hotpotqa, TWO_WIKI_BRIDGE_COMPARISON, twoWiki, 'lost'],
  // Two articles of another type are no comparison.
  [hotpotqa, { ...HOTPOT_BRIDGE, ...CHAIN }, twoWiki, 'lost'],
  [musique, MUSIQUE_TWO_AND_ONE, musique, 'kept'],
  // A triple has one subject, so it needs one other triple.
  [twoWiki, MUSIQUE_TWO_AND_ONE, musique, 'changed'],
])('%o reads a graph of another format back, or reports it', (to, row, from, expected) => {
  const passages = new PassageCollector();
  expect(graphAfter(to, read(from, row, passages), passages)).toBe(expected);
});

it.each([
  [hotpotqa, HOTPOT_COMPARISON, []],
  [hotpotqa, HOTPOT_COMPARISON, [' ', '']],
  [twoWiki, { ...HOTPOT_COMPARISON, evidences: [] }, []],
])('%o counts a supporting article without sentences as missing', (format, row, sentences) => {
  const passages = new PassageCollector();
  read(format, { ...row, context: [...row.context.slice(0, 2), ['Bo Reed', sentences]] }, passages);
  expect(passages.numIncomplete).toBe(1);
});

it('counts an empty paragraph of MuSiQue as missing', () => {
  const [first, ...others] = MUSIQUE_TWO_AND_ONE.paragraphs;
  const paragraphs = [{ ...first, paragraph_text: ' ' }, ...others];
  const passages = new PassageCollector();
  read(musique, { ...MUSIQUE_TWO_AND_ONE, paragraphs }, passages);
  expect(passages.numIncomplete).toBe(1);
});

it('keeps equal passages once and rejects repeated ids', () => {
  const passages = new PassageCollector();
  expect([passages.add('a', 'x'), passages.add('a', 'y'), passages.add('a', 'x')]).toEqual([
    'p1',
    'p2',
    'p1',
  ]);
  expect(() => passages.keep({ id: 'p1', contents: 'other' })).toThrow(/p1 names two/);
  expect(passages.get('none')).toBeUndefined();
});
