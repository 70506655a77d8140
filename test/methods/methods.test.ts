import { describe, expect, it } from 'vitest';
import { METHODS, methodTitle, rolloutConfigOf, trainedBy, trainedMethods } from '../../lib/methods/index.js';
import { paperTables } from '../../lib/experiments/paper.js';

describe('the methods', () => {
  it('stand in the order of tables, with weights of a training, of another method, or of the initial model', () => {
    expect(METHODS.names()).toEqual(['r1', 'search-r1', 'search-r1-parallel-prompt', 'parallelsearch']);
    expect(trainedMethods()).toEqual(['search-r1', 'parallelsearch']);
    expect(METHODS.names().map(trainedBy)).toEqual([null, 'search-r1', 'search-r1', 'parallelsearch']);
  });

  it('search in up to four turns, but for r1', () => {
    for (const name of METHODS.names())
      expect(rolloutConfigOf(name)).toMatchObject({ topK: 1, maxSearchTurns: name === 'r1' ? 0 : 4 });
  });

  it('are called as the tables of the paper call them', () => {
    const inPaper = new Set(paperTables().rows.map(({ method }) => method));
    for (const { paperName } of METHODS.all()) expect(inPaper).toContain(paperName);
  });

  it('differ in colour and shape', () => {
    for (const of of ['color', 'shape', 'title'] as const)
      expect(new Set(METHODS.all().map((method) => method[of])).size).toBe(METHODS.all().length);
  });

  it('are refused with a list of those that there are', () => {
    for (const look of [METHODS.get, rolloutConfigOf, trainedBy])
      expect(() => look('mine')).toThrow('Expected a method of r1, search-r1, search-r1-parallel-prompt,');
    expect(methodTitle('mine')).toBe('mine');
  });
});
