import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseJson, parsePlainJson, parseUniqueJson } from '../../lib/io/json.js';

it('keeps every digit of integers beyond 2^53, and leaves text and other numbers unchanged', () => {
  expect(
    parseJson(
      '{"id": 12345678901234567891, "ids": [-9007199254740993, 9007199254740991], "x": 0.12345678901234567890, "text": "say \\"12345678901234567891, 1\\""}',
    ),
  ).toEqual({
    id: '12345678901234567891',
    ids: ['-9007199254740993', 9007199254740991],
    x: 0.12345678901234568,
    text: 'say "12345678901234567891, 1"',
  });
  expect(() => parseJson('{"id": 12345678901234567891')).toThrow();
});

it('rejects excessive nesting', () => {
  const nest = (depth: number): string => '[{"a":'.repeat(depth / 2) + '1' + '}]'.repeat(depth / 2);
  for (const parse of [parseJson, parsePlainJson]) {
    expect(parse(nest(1000))).toEqual(JSON.parse(nest(1000)));
    expect(() => parse(nest(1002))).toThrow(/nested more than 1000/);
    expect(() => parse(nest(200_000))).toThrow(/nested more than 1000/);
  }
  expect(() => parseJson(`{"id": 12345678901234567891, "a": ${nest(2000)}}`)).toThrow(/nested/);
});

it.each([
  ['{"a": NaN}', 'it has NaN'],
  ['[1, -Infinity]', 'it has -Infinity'],
  ['["NaN", 1', /^(?!it has)/],
  ['{"Infinity": "\\"NaN"', /^(?!it has)/],
])("names Python's numbers: %s", (text, message) => {
  for (const parse of [parseJson, parsePlainJson]) expect(() => parse(text)).toThrow(message);
  expect(parseJson('["NaN, Infinity"]')).toEqual(['NaN, Infinity']);
});

it('rejects a key that an object has twice', () => {
  const unique = '{"a": {"b": "{\\"a\\": 1}", "c": ["b", {"b": "a"}, {"b": ":"}]}, "b": 1}';
  expect(parseUniqueJson(unique)).toEqual(JSON.parse(unique));
  for (const text of ['{"a": 1, "b": {}, "a" : 2}', '[{"x": {"b": 1, "a": [], "a": 1}}]'])
    expect(() => parseUniqueJson(text)).toThrow('it has "a" twice');
});

it('parses everything else like JSON.parse', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const hasLarge = /\d{16}/.test(text.replace(/"(?:[^"\\]|\\.)*"|\d+\.\d+|\d+e/g, ''));
      fc.pre(!hasLarge);
      expect(parseJson(text)).toEqual(JSON.parse(text));
    }),
  );
});
