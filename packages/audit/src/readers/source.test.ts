import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesOf, collect } from './collect.test-support.js';
import { readInputs } from './read.js';
import { openInputs } from './source.js';

let folder: string;
const line = (name: string): string =>
  JSON.stringify({
    resourceSpans: [
      {
        scopeSpans: [{ spans: [{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), name, attributes: [] }] }],
      },
    ],
  });

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'waybill-source-'));
  const files: Record<string, string | Uint8Array> = {
    'traces.jsonl': line('now'),
    'traces-2026-09-14T05-02-14.173.jsonl': line('later'),
    'traces-2026-09-13T05-02-14.173.jsonl': line('early'),
    'traces-of-somebody.jsonl': line('other'),
    'below/b.json': line('b'),
    'below/a.json.gz': gzipSync(line('a')),
    'below/README.md': '# not a trace',
    'below/receipts.jsonl': '{"operation_id":"o"}',
    'below/.hidden.json': line('hidden'),
    'torn/a.jsonl': `{"resourceSpans":[{"x\n${line('after a torn line')}`,
    'prose/README.md': '# not a trace',
    'served/quarantine/1.body': 'garbage',
    'served/quarantine/1.body.note.json': '{"reason":"not JSON"}',
    'served/quarantine/2.body': line('too large'),
    'served/quarantine/2.body.note.json': '{"reason":"a body of more than 1 bytes"}',
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), content);
  }
  mkdirSync(path.join(folder, 'empty'));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function names(...paths: string[]): Promise<{ spans: string[]; damages: string[] }> {
  const spans: string[] = [];
  const damages: string[] = [];
  await readInputs(
    paths.map((name) => (name === '-' ? name : path.join(folder, name))),
    {
      span: (span) => spans.push(span.name),
      log: () => undefined,
      damage: (damage) => damages.push(damage.reason),
      gap: () => undefined,
    },
  );
  return { spans, damages };
}

describe('inputs by name', () => {
  it('rotated siblings are read before the file, oldest first; other files are not', async () => {
    expect(await names('traces.jsonl')).toEqual({ spans: ['early', 'later', 'now'], damages: [] });
  });

  it('a folder is read by name; what is no trace there is passed over', async () => {
    expect(await names('below')).toEqual({ spans: ['a', 'b'], damages: [] });
  });

  it('a body in quarantine is read if it can be, and is damage if not', async () => {
    expect(await names('served')).toEqual({
      spans: ['too large'],
      damages: ['kept in quarantine by the receiver: not JSON'],
    });
  });

  it('a damaged line before the first good one is named in a folder too', async () => {
    expect(await names('torn')).toEqual({ spans: ['after a torn line'], damages: ['not JSON'] });
  });

  it('a folder without traces is named', async () => {
    expect(await names('prose')).toEqual({
      spans: [],
      damages: ['a folder without a file that holds traces'],
    });
  });

  it('a pattern is read by name', async () => {
    expect(await names('below/*.json*')).toEqual({
      spans: ['a', 'b'],
      damages: ['a receipt or target record, not a trace'],
    });
  });

  it('nothing is read twice', async () => {
    expect((await names('below/b.json', 'below', 'below/*.json')).spans).toEqual(['b', 'a']);
  });

  it.each([
    ['a file that is not there', 'missing.json', 'no such file or folder'],
    ['a pattern without a match', '*.xml', 'no file matches this pattern'],
    ['an empty folder', 'empty', 'an empty folder'],
  ])('%s is named', async (_name, input, reason) => {
    expect(await names(input)).toEqual({ spans: [], damages: [reason] });
  });

  it('ids follow the order of the names', () => {
    const { sources } = openInputs([
      path.join(folder, 'below/b.json'),
      '-',
      'jaeger+http://u:p@127.0.0.1:1/base',
    ]);
    expect(sources.map(({ id, kind }) => [id, kind])).toEqual([
      ['s1', 'file'],
      ['s2', 'stdin'],
      ['s3', 'url'],
    ]);
    expect(sources[2]?.path).toBe('jaeger+http://127.0.0.1:1/base');
  });
});

describe('second readings', () => {
  const text = [line('one'), '', line('two'), '{broken', line('three')].join('\n');

  it('only the records on the lines asked for are read', async () => {
    const { spans, damages } = await collect(bytesOf(text), { only: new Set([3]) });
    expect(spans.map(({ name, at }) => [name, at.line])).toEqual([['two', 3]]);
    expect(damages.map(({ at }) => at.line)).toEqual([4]);
  });

  it('every place that a first reading names is found again', async () => {
    const first = await collect(bytesOf(text));
    for (const span of first.spans) {
      const again = await collect(bytesOf(text), { only: new Set([span.at.line ?? 0]) });
      expect(again.spans).toEqual([span]);
    }
  });

  it('standard input is kept in a file that reads the same', async () => {
    const once = await collect(
      {
        kind: 'stdin',
        id: 's1',
        path: '-',
        stream: (async function* chunks() {
          yield await Promise.resolve(gzipSync(text));
        })(),
      },
      { spoolDirectory: folder },
    );
    expect(once.spans).toHaveLength(3);
    expect(once.summary.compression).toBe('gzip');
    const again = await collect({ kind: 'file', id: 's1', path: once.summary.spooled ?? '', found: false });
    expect(again.spans).toEqual(once.spans);
  });
});

describe('spans that nobody wants', () => {
  it('are counted and not delivered; the test sees keys as they were written', async () => {
    const attributes = (key: string): object => ({ attributes: [{ key, value: { stringValue: 'x' } }] });
    const spans = ['waybill.call_id', 'http.route'].map((key) => ({
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      name: key,
      ...attributes(key),
    }));
    const text = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ scope: { name: 'sc' }, spans }] }] });
    const keys: string[] = [];
    const result = await collect(bytesOf(text), {
      wants: (peek) =>
        peek.hasKey((key) => (keys.push(`${peek.scopeName} ${key}`), key.startsWith('waybill.'))),
    });
    expect(keys).toEqual(['sc waybill.call_id', 'sc http.route']);
    expect(result.spans.map(({ attributes: read }) => read)).toEqual([{ 'waybill.call.id': 'x' }]);
    expect(result.summary.spans).toBe(2);
  });
});

it.skipIf(process.platform === 'win32')(
  'pipes in a folder are passed over: nobody may ever write into them',
  async () => {
    const place = path.join(folder, 'piped');
    mkdirSync(place);
    execFileSync('mkfifo', [path.join(place, 'traces.jsonl')]);
    symlinkSync(path.join(place, 'traces.jsonl'), path.join(place, 'link.jsonl'));
    writeFileSync(path.join(place, 'b.jsonl'), line('b'));
    expect(await names('piped')).toEqual({ spans: ['b'], damages: [] });
    expect(await names('piped/*.jsonl')).toEqual({ spans: ['b'], damages: [] });
  },
);
