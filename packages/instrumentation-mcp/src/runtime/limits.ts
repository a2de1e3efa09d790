/** Longest name, id or version of a peer that stands on a span, in characters: they are its words, and may be anything. */
const MAX_WORD = 200;
const MAX_URI = 1000;

/** A name, id or version of at most 200 characters. */
export function capped(text: string): string {
  return text.length <= MAX_WORD ? text : text.slice(0, MAX_WORD);
}

/**
 * A URI without what may be a secret: user and password, query, fragment. At most 1,000 characters. `data:` holds its
 * content and keeps its scheme alone.
 */
export function bareUri(uri: string): string {
  if (/^data:/i.test(uri)) return 'data:';
  const head = uri.slice(0, MAX_URI);
  const end = head.search(/[?#]/);
  return (end === -1 ? head : head.slice(0, end)).replace(/^([a-z][a-z\d+.-]{0,30}:\/\/)[^/]*@/i, '$1');
}

/** A code or name of an error, where it is a word; anything else may hold what the application or a peer wrote. */
export function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w.-]{1,64}$/.test(value) ? value : undefined;
}
