/**
 * A configuration comes from a file that nobody has checked. What is wrong in it is said before anything is audited,
 * each with the member, the rule and the option that it stands in: a misspelled rule that is silently never turned off
 * would look like a clean run.
 */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import type { AuditConfig, Rule } from '../rule.js';
import { builtinRules } from '../rules/index.js';
import { CONFIG_SCHEMA, LEVELS } from './schema.js';

export interface ConfigProblem {
  /** Member of the configuration, for instance `rules['clock-order']`. */
  readonly at: string;
  readonly problem: string;
  readonly remedy: string;
}

/**
 * @param config what the file exports
 * @param extra rules that were loaded beside it, as by `--rule`
 * @returns an empty list for a configuration that `audit` can use
 */
export function checkConfig(config: unknown, extra: readonly Rule<unknown>[] = []): readonly ConfigProblem[] {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  const validate = ajv.compile<AuditConfig>(CONFIG_SCHEMA);
  if (!validate(config)) return structureProblems(validate.errors ?? []);
  const plugins = (config.plugins ?? []).flatMap((plugin) => Object.values(plugin.rules));
  const rules = new Map([...builtinRules, ...plugins, ...extra].map((rule) => [rule.meta.id, rule]));
  return [
    ...doubles([...builtinRules, ...plugins, ...extra]),
    ...Object.entries<unknown>(config.rules ?? {}).flatMap(([id, setting]) => {
      const rule = rules.get(id);
      return rule === undefined
        ? [unknownRule(`rules['${id}']`, id, rules.keys())]
        : settingProblems(ajv, rule, setting);
    }),
    ...(config.suppress ?? []).flatMap(({ rule, until }, index) => [
      ...(rules.has(rule) ? [] : [unknownRule(`suppress[${index}].rule`, rule, rules.keys())]),
      ...(Number.isNaN(Date.parse(until))
        ? [
            {
              at: `suppress[${index}].until`,
              problem: `'${until}' is no date`,
              remedy: 'write the last day on which it holds, for instance 2027-01-31.',
            },
          ]
        : []),
    ]),
  ];
}

function structureProblems(errors: readonly ErrorObject[]): readonly ConfigProblem[] {
  const told = new Map<string, ConfigProblem>();
  for (const error of errors) {
    const at = memberOf(error.instancePath);
    const problem = textOf(error);
    if (!told.has(at)) told.set(at, { at, problem, remedy: 'docs/rules/README.md shows a configuration.' });
  }
  return [...told.values()];
}

/** A setting is a level, or a level and options. */
function settingProblems(ajv: Ajv2020, rule: Rule<unknown>, setting: unknown): readonly ConfigProblem[] {
  const list: readonly unknown[] = Array.isArray(setting) ? setting : [setting];
  const [level, options] = list;
  const at = `rules['${rule.meta.id}']`;
  if (!LEVELS.includes(level)) {
    const problem = `its level is ${JSON.stringify(level)}, and must be one of ${LEVELS.join(', ')}`;
    return [{ at, problem, remedy: "write 'info', or ['info', { … }] with options." }];
  }
  if (!Array.isArray(setting)) return [];
  if (list.length > 2) {
    return [
      { at, problem: 'it is a list of more than 2', remedy: 'write the level, then one object of options.' },
    ];
  }
  return options === undefined ? [] : optionProblems(ajv, rule, options);
}

function optionProblems(ajv: Ajv2020, rule: Rule<unknown>, options: unknown): readonly ConfigProblem[] {
  const { id, optionsSchema, defaultOptions } = rule.meta;
  const at = `rules['${id}']`;
  if (optionsSchema === undefined) {
    return defaultOptions === undefined
      ? [{ at, problem: `the rule ${id} takes no options`, remedy: 'give its level alone.' }]
      : [];
  }
  let errors: readonly ErrorObject[];
  try {
    const validate = ajv.compile(optionsSchema);
    errors = validate(options) ? [] : (validate.errors ?? []);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [
      {
        at,
        problem: `the optionsSchema of the rule ${id} is no JSON Schema: ${why}`,
        remedy: 'this is a defect of the rule; tell its author.',
      },
    ];
  }
  return errors.map((error) => {
    const option = memberOf(error.instancePath);
    return {
      at: option === '' ? at : `${at}, option ${option}`,
      problem: textOf(error),
      remedy: `see the options of ${id}${rule.meta.url === undefined ? '' : ` in ${rule.meta.url}`}; its defaults are ${JSON.stringify(defaultOptions)}.`,
    };
  });
}

/** `/suppress/0/until` as `suppress[0].until`. */
function memberOf(path: string): string {
  return path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part, index) => {
      if (/^\d+$/.test(part)) return `[${part}]`;
      if (/^[A-Za-z_$][\w$]*$/.test(part)) return index === 0 ? part : `.${part}`;
      return `['${part}']`;
    })
    .join('');
}

function textOf(error: ErrorObject): string {
  const params: Readonly<Record<string, unknown>> = error.params;
  const name = params['additionalProperty'];
  if (typeof name === 'string') return `there is no member '${name}'`;
  const allowed = params['allowedValues'];
  if (Array.isArray(allowed)) return `it must be one of ${allowed.map(String).join(', ')}`;
  return `it ${error.message ?? 'is not as it should be'}`;
}

function unknownRule(at: string, id: string, known: Iterable<string>): ConfigProblem {
  const parts = id.toLowerCase().split(/[-_/ ]+/);
  const near = [...known].filter((each) => each.split(/[-/]/).some((part) => parts.includes(part)));
  const hint = near.length === 0 ? '' : `; near to it are ${near.slice(0, 5).join(', ')}`;
  return {
    at,
    problem: `there is no rule '${id}'${hint}`,
    remedy:
      'docs/rules/README.md lists the rules; those of a plugin need it in `plugins`, single ones `--rule`.',
  };
}

function doubles(rules: readonly Rule<unknown>[]): readonly ConfigProblem[] {
  const ids = rules.map((rule) => rule.meta.id);
  const twice = new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
  return [...twice].map((id) => ({
    at: 'plugins',
    problem: `two rules are called '${id}'`,
    remedy: "give each its own id, for instance with the plugin's name before it.",
  }));
}
