/** Random numbers that a seed repeats: the same seed gives the same inputs on every machine. */
export interface Random {
  /** From 0 to `limit`, without it. */
  below(limit: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
}

/** xorshift of 32 bits, started from a well mixed seed (splitmix32). */
export function createRandom(seed: number): Random {
  let state = mix(seed) || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  const below = (limit: number): number => next() % limit;
  return {
    below,
    chance: (probability) => next() < probability * 2 ** 32,
    pick: (from) => {
      const at = below(Math.max(1, from.length));
      for (const [index, value] of from.entries()) if (index === at) return value;
      throw new RangeError('nothing to pick from');
    },
  };
}

/** One number for the input of that number: so one input can be made without those before it. */
export function seedOf(seed: number, index: number): number {
  return mix(mix(seed) + index * 0x9e3779b1);
}

function mix(value: number): number {
  let z = (value + 0x9e3779b9) | 0;
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return (z ^ (z >>> 15)) >>> 0;
}
