/** Inputs that once failed, or that stand for many. Each file is one input; all are replayed by `npm test`. */
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ClassifierInput } from './classifier.js';
import type { LiveInput } from './live.js';

export type FuzzInput = ClassifierInput | LiveInput;

const FOLDER = fileURLToPath(new URL('../corpus/', import.meta.url));

export function readCorpus(): readonly { readonly name: string; readonly input: FuzzInput }[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => ({ name, input: JSON.parse(readFileSync(FOLDER + name, 'utf8')) as FuzzInput }));
}

/** Keeps an input that failed; gives the name of its file. */
export function keep(input: FuzzInput): string {
  const text = `${JSON.stringify(input, undefined, 2)}\n`;
  const name = `${input.kind}-${createHash('sha256').update(text).digest('hex').slice(0, 12)}.json`;
  writeFileSync(FOLDER + name, text);
  return name;
}
