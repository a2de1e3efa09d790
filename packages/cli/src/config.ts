/**
 * Configuration and rules from files: ES modules that run in this process with its rights, like those of a linter.
 * What they export is checked here, by `@waybill/audit/config`, before anything is audited.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AuditConfig, Rule } from '@waybill/audit';
import type { ConfigProblem } from '@waybill/audit/config';
import { CliError, EXIT, messageOf } from './errors.js';

const DEFAULT_FILES = ['waybill.config.js', 'waybill.config.mjs'] as const;

async function load(path: string, what: string): Promise<unknown> {
  const file = resolve(path);
  if (!existsSync(file)) {
    throw new CliError(EXIT.usage, `${what} ${path} does not exist`, 'give the path of an ES module.');
  }
  let module: { readonly default?: unknown };
  try {
    module = await import(pathToFileURL(file).href);
  } catch (error) {
    throw new CliError(
      EXIT.usage,
      `${what} ${path} cannot be loaded: ${messageOf(error)}`,
      'it must be an ES module (.mjs, or .js in a package of "type": "module") that runs without errors.',
    );
  }
  if (module.default === undefined) {
    throw new CliError(
      EXIT.usage,
      `${what} ${path} has no default export`,
      'write `export default …` in it.',
    );
  }
  return module.default;
}

function isRule(value: unknown): value is Rule<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const { meta, create } = value as { readonly meta?: unknown; readonly create?: unknown };
  return (
    typeof create === 'function' &&
    typeof meta === 'object' &&
    meta !== null &&
    'id' in meta &&
    typeof meta.id === 'string' &&
    'messages' in meta
  );
}

/** The rules of one `--rule` file: its default export is a rule or an array of rules. */
async function loadRules(path: string): Promise<readonly Rule<unknown>[]> {
  const exported = await load(path, 'rule');
  const rules: readonly unknown[] = Array.isArray(exported) ? exported : [exported];
  const found: Rule<unknown>[] = [];
  for (const rule of rules) {
    if (!isRule(rule)) {
      throw new CliError(
        EXIT.usage,
        `rule ${path} exports something that is no rule`,
        'export default defineRule({ meta: { id, messages, … }, create }) from @waybill/audit, or an array of such.',
      );
    }
    found.push(rule);
  }
  return found;
}

export interface LoadedConfig {
  readonly config: AuditConfig;
  /** Rules of `--rule`, at their own levels unless the configuration names others. */
  readonly rules: readonly Rule<unknown>[];
}

/**
 * The configuration of one audit: the file given, or the one found here, and the rules of `--rule`.
 * @param configFile false for none, not even one that is here
 * @param say told of a file that is loaded without having been named: it is code, and evidence may come from anywhere
 */
export async function loadConfig(
  configFile: string | false | undefined,
  ruleFiles: readonly string[],
  say: (text: string) => void,
): Promise<LoadedConfig> {
  const here = configFile === undefined ? DEFAULT_FILES.find((name) => existsSync(name)) : undefined;
  if (here !== undefined) say(`running ${here} of this folder as configuration; --no-config leaves it alone`);
  const file = configFile === false ? undefined : (configFile ?? here);
  const rules = (await Promise.all(ruleFiles.map(loadRules))).flat();
  if (file === undefined) return { config: {}, rules };
  const config = await load(file, 'configuration');
  // Loaded only where there is a configuration: a validator of schemas costs more than the rest of the start.
  const { checkConfig } = await import('@waybill/audit/config');
  const [first, ...others] = checkConfig(config, rules);
  if (first === undefined) return { config: config as AuditConfig, rules };
  const place = ({ at, problem }: ConfigProblem): string => (at === '' ? problem : `${at}: ${problem}`);
  throw new CliError(
    EXIT.usage,
    [`configuration ${file}: ${place(first)}`, ...others.map((each) => `  and ${place(each)}`)].join('\n'),
    first.remedy,
  );
}
