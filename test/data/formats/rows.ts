/** Invented rows in the published formats. */
export const HOTPOT_COMPARISON = {
  _id: 'h1',
  answer: 'Bo Reed',
  question: 'Who was born first, Ada Stone or Bo Reed?',
  supporting_facts: [
    ['Ada Stone', 0],
    ['Bo Reed', 1],
  ],
  context: [
    ['Tallinn', ['Tallinn is the capital of Estonia.']],
    ['Ada Stone', ['Ada Stone was born in 1922.', ' She sings.']],
    ['Bo Reed', ['Bo Reed is a singer.', ' He was born in 1904.']],
  ],
  type: 'comparison',
  level: 'hard',
};

/** As on Hugging Face: columns, `id`, and nulls. */
export const onHuggingFace = (
  row: typeof HOTPOT_BRIDGE | typeof TWO_WIKI_BRIDGE_COMPARISON,
): object => {
  const { _id: id, context, supporting_facts: facts, ...others } = row;
  const columns = {
    context: { sentences: context.map(([, lines]) => lines), title: context.map(([name]) => name) },
    supporting_facts: { title: facts.map(([name]) => name), sent_id: facts.map(([, at]) => at) },
  };
  if (!('evidences' in others)) return { id, ...others, ...columns };
  const [fact, relation, entity] = [0, 1, 2].map((i) => others.evidences.map((one) => one[i]));
  return { id, ...others, ...columns, level: null, evidences: { fact, relation, entity } };
};

/** The first article names the second. */
export const HOTPOT_BRIDGE = {
  _id: 'h2',
  answer: '1904',
  question: 'When was the director of Red River born?',
  supporting_facts: [
    ['Bo Reed', 0],
    ['Red River (film)', 0],
  ],
  context: [
    ['Bo Reed', ['Bo Reed was born in 1904.']],
    ['Red River (film)', ['Red River is a film by Bo Reed.']],
    ['Tallinn', ['Tallinn is the capital of Estonia.']],
  ],
  type: 'bridge',
  level: 'easy',
};

/** Neither article names the other, and both contain the answer. */
export const HOTPOT_OPEN = {
  ...HOTPOT_BRIDGE,
  _id: 'h3',
  context: [
    ['Bo Reed', ['A man of 1904.']],
    ['Red River (film)', ['A film of 1904.']],
  ],
};

export const TWO_WIKI_BRIDGE_COMPARISON = {
  _id: 'w1',
  type: 'bridge_comparison',
  question: 'Which film has the director who died first, Red River or Blue Lake?',
  context: [
    ['Red River', ['Red River is a film.', 'Bo Reed directed it.']],
    ['Blue Lake', ['Blue Lake is by Ada Stone.']],
    ['Bo Reed', ['He died in 1956.']],
    ['Ada Stone', ['She died in 1993.']],
  ],
  supporting_facts: [
    ['Red River', 1],
    ['Blue Lake', 0],
    ['Bo Reed', 0],
    ['Ada Stone', 0],
  ],
  evidences: [
    ['Red River', 'director', 'Bo Reed'],
    ['Blue Lake', 'director', 'Ada Stone'],
    ['Bo Reed', 'date of death', '1956'],
    ['Ada Stone', 'date of death', '1993'],
  ],
  answer: 'Red River',
};

export const MUSIQUE_TWO_AND_ONE = {
  id: '3hop2__1_2_3',
  paragraphs: [
    { idx: 0, title: 'Franks', paragraph_text: 'Charlemagne ruled them.', is_supporting: true },
    { idx: 1, title: 'Other', paragraph_text: 'Nothing.', is_supporting: false },
    { idx: 2, title: 'Sylvester', paragraph_text: 'A name from the Latin.', is_supporting: true },
    { idx: 3, title: 'Latin', paragraph_text: 'Later Medieval Latin.', is_supporting: true },
  ],
  question: 'What was the language of the name later known as?',
  question_decomposition: [
    { id: 11, question: 'Franks >> king', answer: 'Charlemagne', paragraph_support_idx: 0 },
    {
      id: 12,
      question: 'where does the name sylvester come from',
      answer: 'Latin',
      paragraph_support_idx: 2,
    },
    {
      id: 13,
      question: 'What was the #2 of #1 later known as?',
      answer: 'Medieval Latin',
      paragraph_support_idx: 3,
    },
  ],
  answer: 'Medieval Latin',
  answer_aliases: ['medieval latin language'],
  answerable: true,
};
