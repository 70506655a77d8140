/**
 * Your own experiment: how much evidence does BM25 find for whole questions, without a
 * policy? One job, one metric, one table.
 */
import { mean, rollups } from 'd3-array';
import { evaluatedQuestions } from '../lib/data/question.js';
import {
  defineComputation,
  EXPERIMENTS,
  requireResults,
  type Experiment,
} from '../lib/experiments/index.js';
import { dataHash } from '../lib/experiments/running/answers.js';
import { graphQuestionType } from '../lib/index.js';
import { configHash } from '../lib/io/provenance.js';
import { figure, createFrame, table, type Table } from '../lib/report/index.js';

/** Passages per question. */
const TOP_K = 3;

/** Result of one question. */
interface EvidenceResult {
  subset: string;
  /** Share of sub-questions with evidence among the passages. */
  evidence: number;
}

export const plainQuestions: Experiment = {
  name: 'plain-questions',
  title: 'evidence that BM25 finds for questions as they stand',
  computation: defineComputation<number, EvidenceResult[]>({
    jobs: async () => [
      {
        key: 'plain-questions/bm25',
        hash: configHash({ data: await dataHash(), topK: TOP_K }),
        input: TOP_K,
        seconds: 20,
      },
    ],
    work: async (topK, { world: { questions, retriever } }) => {
      const evaluated = evaluatedQuestions(questions);
      const texts = evaluated.map(({ question }) => question);
      const results = await retriever.retrieve(texts, { topK });
      return evaluated.map(({ metadata: { graph = [] } }, i) => {
        const ids = new Set(results[i].map(({ passage }) => passage.id));
        const hasEvidence = graph.map(({ evidence }) => Number(evidence.some((id) => ids.has(id))));
        return { subset: graphQuestionType(graph), evidence: mean(hasEvidence) ?? 0 };
      });
    },
  }),
};

/** The table for a notebook. @throws Error naming the command that computes the result */
export async function plainQuestionsTable(folder?: string): Promise<Table> {
  const [{ record }] = await requireResults<number, EvidenceResult[]>(plainQuestions, folder);
  const means = rollups(
    record.value,
    (group) => mean(group, ({ evidence }) => evidence),
    ({ subset }) => subset,
  );
  const rows = means.map(([subset, value]) => ({ subset, metric: 'evidence_seen', value }));
  const caption = `Sub-questions whose evidence is among the first ${TOP_K} passages for the whole question.`;
  return table(createFrame(rows), { caption, rows: ['subset'], cells: { Share: figure() } });
}

// Registration. In this repository, add it to the list in lib/experiments/list.ts.
EXPERIMENTS.push(plainQuestions);
