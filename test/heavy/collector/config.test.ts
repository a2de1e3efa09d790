import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import {
  ATTRIBUTES,
  ATTRIBUTE_ALIASES,
  DURATION_BOUNDARIES_SECONDS,
  JUDGEMENT_ATTRIBUTES,
  OUTCOMES,
} from '@waybill/core';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { patterns } from '../../../scripts/collector/patterns.mjs';
import { render } from '../../../scripts/collector/render.mjs';
import { configuration, program } from './support/programs.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8');
const collector = program('collector');
const files = render();
const overlays: Readonly<Record<string, { readonly on: string; readonly gates: readonly string[] }>> = {
  'drop-links.yaml': { on: 'audit-first.yaml', gates: ['--feature-gates=+ottl.set.allowNil'] },
};

describe('the configuration files', () => {
  it.each(files)('$name is what its sources give', ({ name, text }) => {
    expect(read(`collector-config/${name}`)).toBe(text);
  });

  it.each(files)('$name is YAML without a key twice', ({ text }) => {
    expect(() => parse(text, { uniqueKeys: true }) as unknown).not.toThrow();
  });

  const known = new Set([...ATTRIBUTES.map(({ key }) => key), ...ATTRIBUTE_ALIASES.keys()]);
  const said = new Set(JUDGEMENT_ATTRIBUTES.map(({ key }) => key));
  it.each(files)('$name names no attribute of ours that does not exist', ({ text }) => {
    const named = [
      ...text.matchAll(
        /attributes\["(waybill\.[a-z_.]+)"\]|"(waybill\.[a-z_.]+)"|key: (waybill\.[a-z_.]+)|name: (waybill\.[a-z_.]+)/g,
      ),
    ]
      .map((match) => match[1] ?? match[2] ?? match[3] ?? match[4] ?? '')
      // Its own carrier of a name between two processors.
      .filter((key) => key !== 'waybill.scrub.name');
    expect(named.filter((key) => !known.has(key) && !said.has(key))).toStrictEqual([]);
  });

  it.each(files.filter(({ text }) => text.includes('transform/scrub:')))(
    '$name lets every attribute of ours and every other spelling through on spans',
    ({ text }) => {
      const list = /keep_keys\(span\.attributes, \[([^\]]*)\]/.exec(text)?.[1] ?? '';
      const kept = new Set([...list.matchAll(/"([^"]+)"/g)].map((match) => match[1]));
      expect([...known].filter((key) => !kept.has(key))).toStrictEqual([]);
    },
  );

  it('let every attribute of ours through on events and logs, but ids on events and lists', () => {
    const text = read('collector-config/src/parts/scrub.yaml');
    const kept = (place: string): ReadonlySet<string | undefined> =>
      new Set(
        [
          ...(
            new RegExp(`keep_keys\\(${place}\\.attributes, \\[([^\\]]*)\\]`).exec(text)?.[1] ?? ''
          ).matchAll(/"([^"]+)"/g),
        ].map((match) => match[1]),
      );
    const single = ATTRIBUTES.filter(({ type }) => type !== 'string[]').map(({ key }) => key);
    const id = /\.(run|call|operation|parent|boundary)\.id$|\.continues$/;
    expect(single.filter((key) => !kept('log').has(key))).toStrictEqual([]);
    expect(single.filter((key) => !id.test(key) && !kept('spanevent').has(key))).toStrictEqual([]);
  });

  it('let everything that the audit backend says through on its way back', () => {
    const text = read('collector-config/src/parts/findings.yaml');
    const kept = (place: string): ReadonlySet<string | undefined> =>
      new Set(
        [
          ...(
            new RegExp(`keep_keys\\(${place}\\.attributes, \\[([^\\]]*)\\]`).exec(text)?.[1] ?? ''
          ).matchAll(/"([^"]+)"/g),
        ].map((match) => match[1]),
      );
    const onSpans = JUDGEMENT_ATTRIBUTES.filter(({ where }) => where.includes('verdict spans'));
    expect(onSpans.length).toBeGreaterThan(8);
    expect(onSpans.filter(({ key }) => !kept('span').has(key))).toStrictEqual([]);
    expect(JUDGEMENT_ATTRIBUTES.filter(({ key }) => !kept('log').has(key))).toStrictEqual([]);
  });

  it('name only outcomes that exist', () => {
    const outcomes = new Set<string>(OUTCOMES.map(({ outcome }) => outcome));
    const set = [
      ...read('collector-config/src/parts/outcome.yaml').matchAll(/waybill\.outcome"\], "([A-Z_]+)"/g),
    ];
    expect(set.length).toBeGreaterThan(4);
    expect(set.filter((match) => !outcomes.has(match[1] ?? ''))).toStrictEqual([]);
  });

  it('measure durations with the buckets of the conventions', () => {
    const buckets = /buckets: \[([^\]]*)\]/.exec(read('collector-config/audit-first.yaml'))?.[1] ?? '';
    const seconds = buckets
      .split(', ')
      .map((text) => (text.endsWith('ms') ? Number(text.slice(0, -2)) / 1000 : Number(text.slice(0, -1))));
    expect(seconds).toStrictEqual(DURATION_BOUNDARIES_SECONDS);
  });

  it.skipIf(collector === undefined).each(files)('$name passes otelcol validate', ({ name }) => {
    const overlay = overlays[name];
    const chosen = overlay === undefined ? [name] : [overlay.on, name];
    const run = spawnSync(
      collector ?? '',
      ['validate', ...chosen.flatMap((one) => ['--config', configuration(one)]), ...(overlay?.gates ?? [])],
      { encoding: 'utf8', env: { ...process.env, WAYBILL_DATA: tmpdir() } },
    );
    expect(run.stderr + run.stdout).not.toContain('Error');
    expect(run.status).toBe(0);
  });

  it.skipIf(collector === undefined)('otelcol validate refuses a file with a misspelt key', () => {
    const run = spawnSync(
      collector ?? '',
      [
        'validate',
        '--config',
        configuration('collector.yaml'),
        '--config',
        'yaml:processors::memory_limiter::limit_mibs: 5',
      ],
      { encoding: 'utf8', env: { ...process.env, WAYBILL_DATA: tmpdir() } },
    );
    expect(run.status).not.toBe(0);
    expect(run.stderr).toContain('limit_mibs');
  });
});

describe('the versions', () => {
  it('of the manifest are those that the tests build', () => {
    const module = read('collector-config/build/go.mod');
    const manifest = read('collector-config/manifest.yaml');
    const wanted = [...manifest.matchAll(/gomod: (\S+) (v\S+)/g)];
    expect(wanted.length).toBeGreaterThan(15);
    for (const [, name = '', version = ''] of wanted)
      expect(module, name).toContain(`\t${name} ${version}\n`);
    const imported = [
      ...read('collector-config/build/components.go').matchAll(
        /"([^"]+\/(?:receiver|processor|exporter|connector|extension)\/[^"]+)"/g,
      ),
    ];
    expect(
      imported.map((match) => match[1] ?? '').filter((name) => !manifest.includes(`gomod: ${name} `)),
    ).toStrictEqual([]);
  });
});

describe('the patterns of values that must not leave', () => {
  const harmless = [
    '4bf92f3577b34da6a3ce929d0e0e4736',
    '41234123412341234123412341234123',
    '41234123-4123-4123-8123-412341234123',
    '12345678-1234-1234-1234-123456789012',
    '01J9Z3K4Q5W6E7R8T9Y0ABCDEF',
    'row-42:done:v1',
    'plan 7 / step 2',
    'host-1:4711:client',
    '2026-07-28',
    '1790000000000000000',
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'open_no_response_at_timeout',
    'tools/call',
    'agent.example.internal',
  ];
  // RE2 differs from the expressions of JavaScript in its inline flags only, as far as these patterns go.
  const compile = (pattern: string): RegExp =>
    new RegExp(pattern.replaceAll(/\(\?[is]+\)/g, ''), pattern.includes('(?s)') ? 'is' : 'i');
  it.each(patterns)('$class: no id, date, digest or word of ours', ({ pattern }) => {
    expect(harmless.filter((value) => compile(pattern).test(value))).toStrictEqual([]);
  });
});

describe('the scripts', () => {
  it('render.mjs --check is silent when all is current', () => {
    expect(
      execFileSync('node', [`${root}scripts/collector/render.mjs`, '--check'], { encoding: 'utf8' }),
    ).toBe('');
    expect(readdirSync(`${root}collector-config/src`).filter((name) => name.endsWith('.yaml'))).toHaveLength(
      files.length,
    );
  });
});
