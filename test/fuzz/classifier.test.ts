import { expect, it } from 'vitest';
import { keep } from './support/corpus.js';
import { checkClassifier, classifierInput } from './support/classifier.js';
import { seedOf } from './support/random.js';
import { SEED, inputCount } from './support/run.js';

const INPUTS = inputCount(100_000);

it(
  `gives a legal outcome for ${INPUTS} mutated replies, the same however they are cut, and throws for none`,
  { timeout: 1_800_000 },
  () => {
    const problems: string[] = [];
    const outcomes = new Map<string, number>();
    for (let index = 0; index < INPUTS && problems.length < 5; index++) {
      const input = classifierInput(seedOf(SEED, index));
      const problem = checkClassifier(input, outcomes);
      if (problem !== undefined) problems.push(`input ${index}, kept as ${keep(input)}: ${problem}`);
    }
    console.log(
      `classifier: ${INPUTS} inputs, seed ${SEED}; outcomes and reasons reached: ${outcomes.size}\n` +
        [...outcomes]
          .toSorted(([a], [b]) => a.localeCompare(b))
          .map(([name, count]) => `  ${name}: ${count}`)
          .join('\n'),
    );
    expect(problems).toEqual([]);
  },
);
