/** Every input that once failed, and some that stand for many, once more. Part of `npm test`. */
import { describe, expect, it } from 'vitest';
import { confirm } from './support/compare.js';
import { checkClassifier } from './support/classifier.js';
import { readCorpus } from './support/corpus.js';

const corpus = readCorpus();

describe('the corpus', () => {
  it('is there', () => {
    expect(corpus.length).toBeGreaterThan(0);
  });

  it.each(corpus)('$name is read as it should', ({ input }) => {
    if (input.kind === 'classifier') expect(checkClassifier(input)).toBeUndefined();
  });

  it('is answered by real clients as without the plugin', { timeout: 300_000 }, async () => {
    const live = corpus.flatMap(({ input }) => (input.kind === 'live' ? [input] : []));
    expect([...(await confirm(live)).values()]).toEqual([]);
  });
});
