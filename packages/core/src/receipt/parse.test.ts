import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from './canonical.js';
import {
  RECEIPT_PAYLOAD_TYPE,
  ed25519Signer,
  preAuthenticationEncoding,
  signReceipt,
  verifySignature,
} from './envelope.js';
import { parseReceipt } from './parse.js';
import { MAX_RECEIPT_BYTES } from './statement.js';
import type { ReceiptStatement } from './statement.js';

const ours = generateKeyPairSync('ed25519');
const theirs = generateKeyPairSync('ed25519');
const signer = ed25519Signer('key-1', ours.privateKey);
const keys = new Map([['key-1', ours.publicKey]]);
const digest = `sha256:${'0'.repeat(64)}`;

const statement: ReceiptStatement = {
  v: 'waybill/receipt/1',
  receipt_id: '3f1f9f3e-0000-4000-8000-000000000001',
  effect_id: '3f1f9f3e-0000-4000-8000-000000000002',
  operation_id: 'row-42:done:v1',
  attempt: 1,
  outcome: 'applied',
  stage: 'read_back',
  params_hash: digest,
  target: {
    system: 'todo',
    type: 'row',
    id: 'row-42',
    expected_hash: digest,
    observed_version: 2,
    observed_hash: digest,
  },
  source: { service: 'todo', instance: 'i-1', key_id: 'key-1' },
  call_id: 'c-1',
  effect_at: '1790000000060000000',
  observed_at: '1790000000061000000',
};
const plain = {
  operation_id: 'row-42:done:v1',
  call_id: 'c-1',
  object: 'row-42',
  expected: 'done',
  observed: 'done',
  version: 2,
  result: 'applied',
  at: '1790000000060000000',
  source: 'db-writer',
};

interface Envelope {
  payloadType: string;
  payload: string;
  signatures: { keyid: string; sig: string }[];
}
async function envelope(change: (e: Envelope) => unknown = () => undefined): Promise<string> {
  const opened = JSON.parse(await signReceipt(statement, signer)) as Envelope;
  change(opened);
  return JSON.stringify(opened);
}
/** An envelope around any text, signed properly. */
function sealed(text: string): string {
  const payload = Buffer.from(text);
  const sig = sign(null, preAuthenticationEncoding(RECEIPT_PAYLOAD_TYPE, payload), ours.privateKey);
  return JSON.stringify({
    payloadType: RECEIPT_PAYLOAD_TYPE,
    payload: payload.toString('base64'),
    signatures: [{ keyid: 'key-1', sig: sig.toString('base64') }],
  });
}
const text = canonicalJson(statement);

describe('a signed receipt does not verify', () => {
  it('after any one byte of the statement was changed', () => {
    const payload = Buffer.from(text);
    const sig = sign(null, preAuthenticationEncoding(RECEIPT_PAYLOAD_TYPE, payload), ours.privateKey);
    for (let i = 0; i < payload.length; i++) {
      const tampered = Buffer.from(payload);
      tampered[i] = (tampered[i] ?? 0) ^ 1;
      const parsed = parseReceipt(
        JSON.stringify({
          payloadType: RECEIPT_PAYLOAD_TYPE,
          payload: tampered.toString('base64'),
          signatures: [{ keyid: 'key-1', sig: sig.toString('base64') }],
        }),
        { keys },
      );
      if (parsed.kind === 'receipt') expect(parsed.verification).not.toBe('valid');
    }
  });

  const wrong: readonly [string, (e: Envelope) => unknown, string][] = [
    [
      'by another key under the same name',
      (e) => (e.signatures = [{ keyid: 'key-1', sig: signedBy(theirs.privateKey) }]),
      'invalid',
    ],
    [
      'with one bit of the signature changed',
      (e) => e.signatures.forEach((s) => (s.sig = flipped(s.sig))),
      'invalid',
    ],
    ['with a cut signature', (e) => e.signatures.forEach((s) => (s.sig = s.sig.slice(0, 40))), 'invalid'],
    ['with an empty signature', (e) => e.signatures.forEach((s) => (s.sig = '')), 'invalid'],
    [
      'with a signature in loose base64',
      (e) => e.signatures.forEach((s) => (s.sig = ` ${s.sig}`)),
      'invalid',
    ],
    [
      'with a signature over the bare bytes',
      (e) =>
        (e.signatures = [
          { keyid: 'key-1', sig: sign(null, Buffer.from(text), ours.privateKey).toString('base64') },
        ]),
      'invalid',
    ],
    [
      'with an HMAC in place of a signature',
      (e) =>
        (e.signatures = [{ keyid: 'key-1', sig: createHmac('sha512', 'key').update(text).digest('base64') }]),
      'invalid',
    ],
  ];
  function signedBy(key: Parameters<typeof sign>[2]): string {
    return sign(null, preAuthenticationEncoding(RECEIPT_PAYLOAD_TYPE, Buffer.from(text)), key).toString(
      'base64',
    );
  }
  function flipped(sig: string): string {
    const bytes = Buffer.from(sig, 'base64');
    bytes[0] = (bytes[0] ?? 0) ^ 1;
    return bytes.toString('base64');
  }
  it.each(wrong)('%s', async (_, change, verification) => {
    expect(parseReceipt(await envelope(change), { keys })).toMatchObject({
      kind: 'receipt',
      operationId: 'row-42:done:v1',
      verification,
    });
  });

  it('without its key, which is told apart from a wrong signature', async () => {
    expect(parseReceipt(await envelope())).toMatchObject({ verification: 'unknown_key' });
  });

  it('with a key of another type', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(verifySignature(Buffer.from(text), Buffer.alloc(64).toString('base64'), rsa.publicKey)).toBe(
      false,
    );
    expect(() => ed25519Signer('k', rsa.privateKey)).toThrow(/Ed25519/);
  });
});

describe('a line that is no receipt says why', () => {
  const twice = text.replace('"outcome":"applied"', '"outcome":"failed","outcome":"applied"');
  const bad: readonly [string, string, string, RegExp][] = [
    ['nothing', '  ', 'empty', /empty/],
    ['half a line', text.slice(0, 50), 'not_json', /./],
    ['an array', '[]', 'not_a_receipt', /object/],
    ['text', '"receipt"', 'not_a_receipt', /object/],
    ['null', 'null', 'not_a_receipt', /object/],
    ['a huge line', `{"a":"${'x'.repeat(3 * MAX_RECEIPT_BYTES)}"}`, 'too_large', /limit/],
    [
      'a huge plain receipt',
      JSON.stringify({ ...plain, extra: 'x'.repeat(MAX_RECEIPT_BYTES) }),
      'too_large',
      /16384/,
    ],
    [
      'a huge statement',
      sealed(canonicalJson({ ...statement, run_id: 'x'.repeat(MAX_RECEIPT_BYTES) })),
      'too_large',
      /16384/,
    ],
    [
      'a member twice in a plain receipt',
      `{"result":"failed",${JSON.stringify(plain).slice(1)}`,
      'duplicate_key',
      /\$\.result/,
    ],
    [
      'a member twice in escapes',
      '{"result":"failed","\\u0072esult":"applied","call_id":"c"}',
      'duplicate_key',
      /\$\.result/,
    ],
    ['a member twice in a signed statement', sealed(twice), 'duplicate_key', /\$\.outcome/],
    [
      'a member twice inside the target',
      sealed(text.replace('"id":"row-42"', '"id":"row-41","id":"row-42"')),
      'duplicate_key',
      /\$\.target\.id/,
    ],
    ['white space in a signed statement', sealed(text.replace(',', ', ')), 'not_canonical', /RFC 8785/],
    ['another order of members', sealed(JSON.stringify(statement)), 'not_canonical', /RFC 8785/],
    [
      'a number in another form',
      sealed(text.replace('"attempt":1', '"attempt":1.0')),
      'not_canonical',
      /RFC 8785/,
    ],
    ['an escape that is not needed', sealed(text.replace('todo', '\\u0074odo')), 'not_canonical', /RFC 8785/],
    [
      'a bare statement that is not canonical',
      JSON.stringify(statement, undefined, 1).replaceAll('\n', ''),
      'not_canonical',
      /RFC 8785/,
    ],
    [
      'a fraction as version',
      sealed(
        canonicalJson(
          { ...statement, target: { ...statement.target, observed_version: 1.5 } },
          { fractions: 'allow' },
        ),
      ),
      'bad_field',
      /target\.observed_version/,
    ],
    [
      'a version beyond 2^53',
      sealed(text.replace('"observed_version":2', '"observed_version":9007199254740993')),
      'bad_field',
      /target\.observed_version/,
    ],
    [
      'a field that the statement does not know',
      sealed(canonicalJson({ ...statement, params: { secret: 1 } })),
      'bad_field',
      /params is no field/,
    ],
    [
      'a missing field',
      sealed(canonicalJson({ ...statement, params_hash: undefined })),
      'bad_field',
      /params_hash is missing/,
    ],
    [
      'an unknown outcome',
      sealed(canonicalJson({ ...statement, outcome: 'done' })),
      'bad_field',
      /outcome must be one of/,
    ],
    [
      'another version of the statement',
      sealed(canonicalJson({ ...statement, v: 'waybill/receipt/2' })),
      'bad_field',
      /v must be one of waybill\/receipt\/1/,
    ],
    [
      'a lone surrogate',
      sealed(text.replace('"run', '"x').replace('row-42:done:v1', '\\ud800')),
      'not_canonical',
      /RFC 8785/,
    ],
    [
      'an envelope of another type',
      JSON.stringify({ payloadType: 'application/vnd.in-toto+json', payload: '', signatures: [] }),
      'bad_envelope',
      /payloadType/,
    ],
    [
      'an envelope without signatures',
      JSON.stringify({
        payloadType: RECEIPT_PAYLOAD_TYPE,
        payload: Buffer.from(text).toString('base64'),
        signatures: [],
      }),
      'bad_envelope',
      /signature/,
    ],
    [
      'an envelope in loose base64',
      sealed(text).replace('"payload":"', '"payload":"\\n'),
      'bad_envelope',
      /base64/,
    ],
    [
      'an envelope whose key is not the one in the statement',
      sealed(text).replace('"keyid":"key-1"', '"keyid":"key-2"'),
      'bad_envelope',
      /source\.key_id/,
    ],
    [
      'a payload that is not UTF-8',
      JSON.stringify({ payloadType: RECEIPT_PAYLOAD_TYPE, payload: '/////w==', signatures: [] }),
      'not_canonical',
      /UTF-8/,
    ],
    [
      'a plain receipt of no operation',
      JSON.stringify({ ...plain, operation_id: null, call_id: undefined }),
      'bad_field',
      /belongs to no operation/,
    ],
    [
      'a plain receipt with another result',
      JSON.stringify({ ...plain, result: 'ok' }),
      'bad_field',
      /result must be one of/,
    ],
    [
      'a plain receipt with a fraction as version',
      JSON.stringify({ ...plain, version: 0.1 }),
      'bad_field',
      /version/,
    ],
    [
      'a plain receipt with a time in words',
      JSON.stringify({ ...plain, at: 'yesterday' }),
      'bad_field',
      /at must be/,
    ],
    [
      'a plain receipt with an endless id',
      JSON.stringify({ ...plain, operation_id: 'x'.repeat(201) }),
      'bad_field',
      /operation_id/,
    ],
  ];
  it.each(bad)('%s', (_, line, reason, detail) => {
    const parsed = parseReceipt(line, { keys });
    expect(parsed).toMatchObject({ kind: 'invalid', reason });
    expect(parsed.kind === 'invalid' ? parsed.detail : '').toMatch(detail);
  });

  it('and names the operation that it claims to be about', () => {
    expect(parseReceipt(sealed(twice))).toMatchObject({ operationId: 'row-42:done:v1' });
  });
});

describe('a receipt is read', () => {
  it('from a signed envelope', async () => {
    expect(parseReceipt(await envelope(), { keys })).toEqual({
      kind: 'receipt',
      form: 'statement',
      receiptId: statement.receipt_id,
      effectId: statement.effect_id,
      operationId: 'row-42:done:v1',
      callId: 'c-1',
      runId: undefined,
      traceId: undefined,
      spanId: undefined,
      attempt: 1,
      outcome: 'applied',
      stage: 'read_back',
      binding: 'bound',
      target: { system: 'todo', type: 'row', id: 'row-42', version: '2', preconditionVersion: undefined },
      expected: digest,
      observed: digest,
      paramsHash: digest,
      source: 'todo',
      keyId: 'key-1',
      atUnixNano: 1_790_000_000_060_000_000n,
      verification: 'valid',
    });
  });

  it('from a bare statement, unsigned', () => {
    expect(parseReceipt(text, { keys })).toMatchObject({ form: 'statement', verification: 'unsigned' });
  });

  it('from a plain line, which is a read back when it has an observation and a version', () => {
    expect(parseReceipt(`\uFEFF${JSON.stringify(plain)}\r`)).toMatchObject({
      form: 'plain',
      operationId: 'row-42:done:v1',
      outcome: 'applied',
      stage: 'read_back',
      binding: 'bound',
      target: { id: 'row-42', version: '2' },
      expected: '"done"',
      observed: '"done"',
      source: 'db-writer',
      verification: 'unsigned',
      atUnixNano: 1_790_000_000_060_000_000n,
    });
  });

  const shapes: readonly [string, object, object][] = [
    [
      'without an observation: committed',
      { ...plain, observed: undefined },
      { stage: 'committed', binding: 'bound' },
    ],
    [
      'without a version: committed and unbound',
      { ...plain, version: undefined },
      { stage: 'committed', binding: 'unbound' },
    ],
    ['without an object: unbound', { ...plain, object: undefined }, { binding: 'unbound' }],
    [
      'failed without a version: bound to its object',
      { ...plain, result: 'failed', version: null },
      { binding: 'bound' },
    ],
    ['by the call alone', { ...plain, operation_id: null }, { operationId: undefined, callId: 'c-1' }],
    ['version as text', { ...plain, version: '2' }, { target: { version: '2' } }],
    [
      'fields in another order compare equal',
      { ...plain, expected: { a: 1, b: 2 }, observed: { b: 2, a: 1 } },
      { expected: '{"a":1,"b":2}', observed: '{"a":1,"b":2}' },
    ],
  ];
  it.each(shapes)('plain, %s', (_, line, expected) => {
    expect(parseReceipt(JSON.stringify(line))).toMatchObject(expected);
  });

  it('twice as the same receipt: a plain line without an id is identified by its content', () => {
    const ids = [plain, Object.fromEntries(Object.entries(plain).reverse()), { ...plain, version: 3 }]
      .map((line) => parseReceipt(JSON.stringify(line)))
      .map((parsed) => (parsed.kind === 'receipt' ? parsed.receiptId : parsed.detail));
    expect(ids[0]).toBe(ids[1]);
    expect(ids[0]).not.toBe(ids[2]);
  });
});

describe('signReceipt refuses', () => {
  const refused: readonly [string, ReceiptStatement, RegExp][] = [
    [
      'an effect without the version that shows it',
      { ...statement, target: { system: 'todo', id: 'row-42' } },
      /observed_version/,
    ],
    ['the key of somebody else', { ...statement, source: { ...statement.source, key_id: 'key-2' } }, /key-2/],
    ['a time that is no number', { ...statement, effect_at: 'now' }, /effect_at/],
    ['an attempt 0', { ...statement, attempt: 0 }, /attempt/],
  ];
  it.each(refused)('%s', async (_, wrong, message) => {
    await expect(signReceipt(wrong, signer)).rejects.toThrow(message);
  });
});
