/**
 * An experiment of one's own: does a question find its evidence when it is searched for
 * as it stands, without a policy? One job, one measure, one table.
 */
import { mean, rollups } from 'd3-array';
import {
  computation,
  EXPERIMENTS,
  requireResults,
  type Experiment,
} from '../../lib/experiments/index.js';
import { dataHash } from '../../lib/experiments/answers.js';
import { evaluatedQuestions } from '../../lib/data/question.js';
import { graphQuestionType } from '../../lib/index.js';
import { figure, frameOf, table, type Table } from '../../lib/report/index.js';
import { configHash } from '../../lib/io/provenance.js';

/** Passages that are looked at. */
const TOP_K = 3;

/** What is measured of one question. */
interface Found {
  subset: string;
  /** Share of its sub-questions with evidence among the passages. */
  evidence: number;
}

export const plainQuestions: Experiment = {
  name: 'plain-questions',
  title: 'evidence that BM25 finds for questions as they stand',
  computation: computation<number, Found[]>({
    jobs: async () => [
      {
        key: 'plain-questions/bm25',
        hash: configHash({ data: await dataHash(), topK: TOP_K }),
        input: TOP_K,
        seconds: 20,
      },
    ],
    work: async (topK, { world: { questions, retriever } }) => {
      const asked = evaluatedQuestions(questions);
      const texts = asked.map(({ question }) => question);
      const found = await retriever.retrieve(texts, { topK });
      return asked.map(({ metadata: { graph = [] } }, i) => {
        const ids = new Set(found[i].map(({ passage }) => passage.id));
        const hasEvidence = graph.map(({ evidence }) => Number(evidence.some((id) => ids.has(id))));
        return { subset: graphQuestionType(graph), evidence: mean(hasEvidence) ?? 0 };
      });
    },
  }),
};

/**
 * What its notebook shows. @throws Error naming the command that computes it, where it
 * has not been
 */
export async function plainQuestionsTable(folder?: string): Promise<Table> {
  const [{ record }] = await requireResults<number, Found[]>(plainQuestions, folder);
  const means = rollups(
    record.value,
    (own) => mean(own, ({ evidence }) => evidence),
    ({ subset }) => subset,
  );
  const rows = means.map(([subset, value]) => ({ subset, metric: 'evidence_seen', value }));
  const caption = `Sub-questions whose evidence is among the first ${TOP_K} passages for the whole question.`;
  return table(frameOf(rows), { caption, rows: ['subset'], cells: { Share: figure() } });
}

// The one line of registration. In this repository: the experiment's name in the list of
// lib/experiments/list.ts.
EXPERIMENTS.push(plainQuestions);
