import { expect, it } from 'vitest';
import { ANALYZERS } from '../../lib/retrieval/analyzers.js';

it('english drops stop words and stems; plain does neither', () => {
  const text = 'The directors of these films were singing, and no film is archaeology.';
  const [plain, english] = ['plain', 'english'].map((name) =>
    ANALYZERS.get(name).analyze(text).join(' '),
  );
  expect(plain).toBe('the directors of these films were singing and no film is archaeology');
  expect(english).toBe('director film were sing film archaeolog');
});
