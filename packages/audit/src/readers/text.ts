/** Records of text inputs: parsed, exactly where numbers would be rounded, and handed to their format. */
import { isAscii, isUtf8 } from 'node:buffer';
import { parseExact, type Json } from './exact-json.js';
import { JsonRecords } from './json-records.js';
import type { RecordHandler, RecordProblem } from './record-handler.js';
import { explainForeign, readRecord } from './record.js';
import type { Reading } from './reading.js';
import { salvage } from './salvage.js';
import { ROUNDED } from './values.js';

/** Tells how the records of a text input lay, for the name of the format. */
export interface TextInput {
  readonly records: JsonRecords;
  /** Call after the last byte. */
  end(): void;
}

export interface TextOptions {
  /** The input was found in a folder: until something in it was understood, nothing is complained of. */
  readonly found: boolean;
  /** Only records that begin on these lines are parsed; undefined reads all. */
  readonly only: ReadonlySet<number> | undefined;
}

interface Complaints {
  say(reason: string, remedy: string): void;
  /** A record was understood. */
  understood(): void;
}

function spokenComplaints(reading: Reading): Complaints {
  return {
    say(reason, remedy) {
      reading.damage(reason, remedy);
    },
    understood: () => undefined,
  };
}

/** Held back until something was understood: before that, the file is perhaps no trace at all. */
function heldComplaints(reading: Reading): Complaints {
  const held: (() => void)[] = [];
  let understood = false;
  return {
    say(reason, remedy) {
      const at = reading.place();
      if (understood) reading.damage(reason, remedy, at);
      else if (held.length < reading.limits.maxDamages) {
        held.push(() => {
          reading.damage(reason, remedy, at);
        });
      }
    },
    understood() {
      understood = true;
      for (const speak of held.splice(0)) speak();
    },
  };
}

/** Begins a text input; push bytes into `records`. */
export function openText(reading: Reading, options: TextOptions): TextInput {
  let lines = 0;
  const complaints = options.found ? heldComplaints(reading) : spokenComplaints(reading);
  const { only } = options;
  const handler: RecordHandler = {
    record(bytes, line, alone) {
      reading.line = line;
      reading.begin();
      const parsed = readJson(bytes, reading, complaints);
      if (parsed && alone) lines += 1;
      return parsed;
    },
    problem(problem, bytes, line) {
      reading.line = line;
      reading.begin();
      const saved = problem === 'incomplete' || problem === 'broken' ? salvage(bytes) : undefined;
      const { reason, remedy } = PROBLEMS[problem];
      const rest = saved === undefined ? '' : `; its ${saved.records} undamaged records were read`;
      complaints.say(reason(bytes) + rest, remedy);
      if (saved !== undefined) readJson(Buffer.from(saved.text), reading, complaints);
    },
    wantsLine: only === undefined ? undefined : (line) => only.has(line),
  };
  const records = new JsonRecords(handler, reading.limits.maxRecordBytes);
  return {
    records,
    end() {
      records.end();
      reading.line = undefined;
      if (reading.format === 'otlp') reading.format = lines > 1 ? 'otlp-jsonl' : 'otlp-json';
      else if (reading.format !== '') reading.format += '-json';
    },
  };
}

/** Reads one JSON object that the framing of a binary input holds. */
export function readJsonRecord(bytes: Buffer, reading: Reading): void {
  const complaints = spokenComplaints(reading);
  if (!readJson(bytes, reading, complaints)) {
    complaints.say(PROBLEMS.broken.reason(bytes), PROBLEMS.broken.remedy);
  }
}

/** False, with nothing read, when the bytes are not JSON. */
function readJson(bytes: Buffer, reading: Reading, complaints: Complaints): boolean {
  // The same text, made several times faster.
  const text = bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');
  let root: Json;
  try {
    root = reading.exact ? parseExact(text) : (JSON.parse(text) as Json);
  } catch {
    return false;
  }
  // A replacement character may stand in the text itself; only its absence from the bytes is damage.
  if (text.includes('\uFFFD') && !isUtf8(bytes)) {
    complaints.say(
      'bytes that are not UTF-8 (read as U+FFFD)',
      'export again, or repair the encoding; the record was read',
    );
  }
  readParsed(root, text, reading, complaints);
  return true;
}

function readParsed(root: Json, text: string, reading: Reading, complaints: Complaints): void {
  let understood: boolean;
  try {
    understood = readRecord(root, reading);
  } catch (error) {
    if (error !== ROUNDED) throw error;
    reading.exact = true;
    reading.again();
    understood = readRecord(parseExact(text), reading);
  }
  if (understood) {
    reading.records += 1;
    complaints.understood();
    return;
  }
  const { reason, remedy } = explainForeign(root);
  complaints.say(reason, remedy);
}

const FORMATS = 'OTLP JSON, JSON Lines, OTLP protobuf, or an export of Jaeger, Tempo or Zipkin';

const PROBLEMS: Readonly<
  Record<RecordProblem, { readonly reason: (bytes: Buffer) => string; readonly remedy: string }>
> = {
  incomplete: {
    reason: () => 'the record ends early',
    remedy: 'the writer was stopped in the middle of it, or the file was cut: export again if it matters',
  },
  broken: {
    reason: () => 'not JSON',
    remedy: 'repair this record or export again; the rest was read',
  },
  unexpected: {
    reason: (bytes) => `text that begins no JSON object (${sample(bytes)})`,
    remedy: `remove it, or give ${FORMATS}`,
  },
  too_large: {
    reason: (bytes) => `a record of more than ${bytes.length} bytes`,
    remedy: 'export as JSON Lines, or split the document into smaller ones',
  },
  too_deep: {
    reason: () => 'JSON nested too deeply for a trace',
    remedy: 'repair this record or export again; the rest was read',
  },
};

/** A few characters that name the place without printing the content of an export. */
function sample(bytes: Buffer): string {
  const text = bytes.toString('latin1', 0, Math.min(bytes.length, 16));
  return JSON.stringify(text.replace(/[^\x20-\x7e]/g, '?')) + (bytes.length > 16 ? '…' : '');
}
