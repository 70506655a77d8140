/**
 * A reward of your own: for asking several things in one turn. It is added to those of
 * train.json.
 */
import type { Reward } from 'parallelsearch';

const askedAtOnce: Reward = {
  name: 'asked_at_once',
  weight: 0.2,
  score: ({ searchTurns }) => Number(searchTurns.some((queries) => queries.length > 1)),
};

export default askedAtOnce;
