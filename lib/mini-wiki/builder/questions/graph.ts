/** Writes sub-questions of entities: the nodes of dependency graphs. */
import type { Operation, SubQuestion } from '../../../data/question.js';
import type { Random } from '../../../random.js';
import type { Entity, EntityMap, Fact, Split } from '../entities.js';
import { normaliseName, phrasesOf } from '../names.js';
import { OTHER_SUB_QUESTIONS, RELATIONS } from './templates.js';

/** What the question writers share. */
export interface Wiki {
  entities: EntityMap;
  passageIds: ReadonlyMap<string, string>;
  /** Texts of the questions so far; none is written twice. */
  written: Set<string>;
}

/** A question before it has an id. */
export interface Draft {
  benchmark: string;
  type: string;
  template: string;
  split: Split;
  question: string;
  goldenAnswers: string[];
  graph: SubQuestion[];
  operation: Operation | null;
  /** Entities that the text of the question names. */
  named: string[];
}

/** One step of a chain: an entity and the key of the fact that is read. */
export interface Step {
  entity: Entity;
  attribute: string;
}

/** Entities of a type and split that questions may name. */
export function askedEntities(wiki: Wiki, type: string, split: Split): Entity[] {
  return [...wiki.entities.values()].filter((e) => e.asked && e.type === type && e.split === split);
}

/** All forms of a fact that count as right. */
export function answersOf({ value, aliases = [] }: Fact): string[] {
  return [value, ...aliases];
}

/** The sub-question that reads one fact of an entity. */
export function subQuestion(
  wiki: Wiki,
  { entity, attribute }: Step,
  id: string,
  dependsOn: string[] = [],
): SubQuestion {
  const [kind, year = ''] = attribute.split(' ');
  const relation = `${entity.type}.${kind}`;
  const wording = RELATIONS[relation]?.sub ?? OTHER_SUB_QUESTIONS[relation];
  const passage = wiki.passageIds.get(entity.title);
  if (!wording || !passage)
    throw new Error(`Expected ${entity.title} to have a ${attribute} that can be asked for.`);
  return {
    id,
    question: wording.replace('{e}', entity.title).replace('{y}', year),
    entity: entity.title,
    attribute: kind,
    query: entity.title,
    dependsOn,
    answers: answersOf(entity.facts[attribute]),
    evidence: [passage],
  };
}

/** A chain of sub-questions, each depending on the one before; ids go on from `firstId`. */
export function chainGraph(wiki: Wiki, steps: readonly Step[], firstId = 1): SubQuestion[] {
  return steps.map((step, index) =>
    subQuestion(wiki, step, `q${firstId + index}`, index === 0 ? [] : [`q${firstId + index - 1}`]),
  );
}

/** Follows a path of attributes from an entity within its split; null where a fact or a link is missing. */
export function walk(wiki: Wiki, start: Entity, path: readonly string[], random: Random): Step[] | null {
  const steps: Step[] = [];
  let entity = start;
  for (const [index, name] of path.entries()) {
    const attribute = name === 'film' ? filmKey(entity, start, random) : name;
    const fact = entity.facts[attribute];
    if (!fact) return null;
    steps.push({ entity, attribute });
    if (index === path.length - 1) break;
    const next = fact.linked ? wiki.entities.get(fact.value) : undefined;
    if (!next?.asked || next.split !== start.split) return null;
    entity = next;
  }
  return steps;
}

/** The key of one of the director's films other than the film that the question names. */
function filmKey(director: Entity, named: Entity, random: Random): string {
  const keys = Object.keys(director.facts).filter((key) => director.facts[key].value !== named.title);
  return keys.length > 0 ? random.choice(keys) : '';
}

/** True when the text gives an answer away. */
export function containsAnswer(question: string, answers: readonly string[]): boolean {
  const phrases = phrasesOf(question, 8);
  return answers.some((answer) => phrases.has(normaliseName(answer)));
}
