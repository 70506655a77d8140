import { transpose } from 'd3-array';
import { expect, it } from 'vitest';
import { PassageCollector } from '../../../lib/data/formats/format.js';
import { withAnnotatedGraph } from '../../../lib/data/formats/read.js';
import {
  graphQuestionType,
  type Question,
  type QuestionMetadata,
} from '../../../lib/data/question.js';

function corpus(): PassageCollector {
  const passages = new PassageCollector();
  const texts = [
    ['a', 'Red River (film)\nRed River is a film by Bo Reed. It ran long.'],
    ['b', 'Bo Reed\nBo Reed is a singer. He was born in 1904.'],
    ['c', 'Ada Stone\nAda Stone was born in 1922. She sings.'],
  ] as const;
  for (const [id, contents] of texts) passages.keep({ id, contents });
  return passages;
}

const question = (
  metadata: QuestionMetadata,
  text = 'When was the director of Red River born?',
): Question => ({ id: 'q', question: text, goldenAnswers: ['1904'], metadata });
const graphOf = (asked: Question) => withAnnotatedGraph(asked, corpus()).metadata.graph;
const summary = (asked: Question) =>
  graphOf(asked)?.map(({ entity, answers, dependsOn, evidence }) => [
    entity,
    answers[0],
    dependsOn,
    evidence,
  ]);

it('builds graphs from 2WikiMultiHopQA’s triples', () => {
  const evidences = [
    ['Red River', 'director', 'Bo Reed'],
    ['Bo Reed', 'date of birth', '1904'],
  ];
  const [fact, relation, entity] = transpose(evidences);
  for (const given of [evidences, { fact, relation, entity }])
    expect(
      summary(question({ type: 'compositional', supporting: ['a', 'b'], evidences: given })),
    ).toEqual([
      ['Red River', 'Bo Reed', [], ['a']],
      ['Bo Reed', '1904', ['q1'], ['b']],
    ]);
});

it.each(['1904', 1904])('builds graphs from MuSiQue’s decomposition, with %j', (answer) => {
  const decomposition = [
    { question: 'Red River >> director', answer: 'Bo Reed', depends_on: [] },
    { question: 'When was #1 born?', answer, depends_on: [1] },
  ];
  expect(summary(question({ type: '2hop', supporting: ['a', 'b'], decomposition }))).toEqual([
    ['Red River', 'Bo Reed', [], ['a', 'b']],
    ['Bo Reed', '1904', ['q1'], ['b']],
  ]);
});

it('builds graphs from HotpotQA’s supporting articles', () => {
  expect(summary(question({ type: 'bridge', supporting: ['b', 'a'] }))).toEqual([
    ['Red River', 'Bo Reed', [], ['a']],
    ['Bo Reed', '1904', ['q1'], ['b']],
  ]);
  const compared = question(
    { type: 'comparison', supporting: ['b', 'c'] },
    'Was Bo Reed or Ada Stone born first?',
  );
  expect(graphQuestionType(graphOf(compared)!)).toBe('parallelizable');
  expect(summary(compared)).toEqual([
    ['Bo Reed', 'Bo Reed is a singer.', [], ['b']],
    ['Ada Stone', 'Ada Stone was born in 1922.', [], ['c']],
  ]);
});

it('leaves questions with a graph or without usable annotations unchanged', () => {
  const withGraph = withAnnotatedGraph(
    question({ type: 'bridge', supporting: ['b', 'a'] }),
    corpus(),
  );
  for (const same of [
    withGraph,
    question({}),
    question({ type: 'bridge' }),
    question({ type: 'bridge', supporting: ['a', 'nowhere'] }),
    question({ type: 'single_hop', supporting: ['a'] }),
    question({ type: 'compositional', evidences: 'none' }),
  ])
    expect(withAnnotatedGraph(same, corpus())).toBe(same);
});
