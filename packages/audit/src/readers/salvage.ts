/**
 * What can be saved of an OTLP record that is not JSON any more: its spans (or log records) that are whole. A Collector
 * writes hundreds of spans into one line, and a torn last line need not cost them all.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** Lists whose elements stand on their own. */
const RECORD_LISTS = new Set(['spans', 'logRecords', 'log_records']);
const MAX_KEY = 64;

interface Open {
  readonly closer: '}' | ']';
  /** The key of the array or object in its parent. */
  readonly key: string;
  readonly start: number;
}

/**
 * A JSON text with the undamaged records of the damaged one, in the envelope (resource, scope) that they came in;
 * undefined when there are none. The envelope before the first record must be whole.
 */
export function salvage(bytes: Buffer): { readonly text: string; readonly records: number } | undefined {
  const open: Open[] = [];
  /** The envelope and the good records so far. */
  let saved = '';
  /** Envelope after the last good record, from which damaged ones were taken out. */
  let pending = '';
  let closers = '';
  let records = 0;
  let copied = 0;
  let key = '';
  let lastString = '';
  let balanced = true;
  for (let at = 0; at < bytes.length && balanced; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      const stop = endOfString(bytes, at);
      if (stop < 0) balanced = false;
      else {
        lastString = stop - at < MAX_KEY ? bytes.toString('latin1', at + 1, stop) : '';
        at = stop;
      }
    } else if (byte === COLON) key = lastString;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      open.push({ closer: byte === OPEN_OBJECT ? '}' : ']', key, start: at });
      key = '';
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      const closed = open.pop();
      if (closed?.closer !== String.fromCharCode(byte)) {
        balanced = false;
        continue;
      }
      const list = open.at(-1);
      if (list?.closer !== ']' || !RECORD_LISTS.has(list.key)) continue;
      pending = joined(pending, bytes.toString('utf8', copied, closed.start));
      copied = at + 1;
      const record = bytes.toString('utf8', closed.start, copied);
      if (!isJson(record)) continue;
      saved += pending + record;
      pending = '';
      records += 1;
      closers = open
        .map((item) => item.closer)
        .reverse()
        .join('');
    }
  }
  if (records === 0) return undefined;
  // The end of the envelope is kept where there is one: it may hold the resource.
  const candidates = [saved + closers];
  if (balanced && open.length === 0)
    candidates.unshift(saved + joined(pending, bytes.toString('utf8', copied)));
  const text = candidates.find(isJson);
  return text === undefined ? undefined : { text, records };
}

/** Two pieces of envelope between which a record was left out: one comma at most, and none before a bracket. */
function joined(before: string, after: string): string {
  if (before === '') return after;
  if (after.trim() === ',') return before;
  return before.trim() === ',' && after.trimStart().startsWith(']') ? after : before + after;
}

function endOfString(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === NEWLINE) return -1;
    if (byte === BACKSLASH) at += 1;
  }
  return -1;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
