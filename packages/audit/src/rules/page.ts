import { RULES, type RuleId, type RuleLevel } from '@waybill/core';

/** Relative to the root of the project: the rules do not know where the project is published. */
const PAGES = 'docs/rules/';

/** Id, default level and page of a built-in rule; the level has one source, the vocabulary of `@waybill/core`. */
export function builtin(id: RuleId): {
  readonly id: RuleId;
  readonly defaultLevel: RuleLevel;
  readonly url: string;
} {
  return { id, defaultLevel: RULES[id], url: `${PAGES}${id}.md` };
}
