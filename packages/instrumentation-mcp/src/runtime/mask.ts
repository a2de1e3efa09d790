/** Longest masked text, in characters. */
const MAX_MASKED = 200;
/** Longest text that is looked at: masking costs the same whatever the peer sends. */
const MAX_READ = 600;

const SHAPE_DEPTH = 3;
const SHAPE_MEMBERS = 20;
const SHAPE_KEY = 40;

/**
 * A message of a peer without what may name a person, an account or a secret: queries and passwords of URLs, bearer
 * tokens and JWTs, e-mail addresses, ids (tokens of 8 or more characters with a digit), numbers of more than three
 * digits. Words stay: a name in plain words is not known for one. At most 200 characters.
 */
export function maskedText(text: string): string {
  const masked = wholeTokens(text)
    .replaceAll(/\b([a-z][a-z\d+.-]{0,20}:\/\/)[^\s/@"'<>]{1,300}@/gi, '$1<credentials>@')
    .replaceAll(/([a-z\d/])[?#][^\s"'<>]+/gi, '$1?<query>')
    .replaceAll(/\b(bearer|basic)\s+[\w.~+/=-]+/gi, '$1 <token>')
    .replaceAll(/\bey[\w-]{5,}\.[\w.-]+/g, '<token>')
    .replaceAll(/[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}/g, '<email>')
    .replaceAll(/[\w-]{8,}/g, (token) => (/\d/.test(token) && /[a-z_]/i.test(token) ? '<id>' : token))
    .replaceAll(/\d(?:[\d ,._-]{0,40}\d)?/g, (number) =>
      number.replaceAll(/\D/g, '').length > 3 ? '<number>' : number,
    );
  return masked.length > MAX_MASKED ? `${masked.slice(0, MAX_MASKED - 1)}…` : masked;
}

/** The beginning of a long text, cut between tokens: half a token would not be known for what it is. */
function wholeTokens(text: string): string {
  if (text.length <= MAX_READ) return text;
  const head = text.slice(0, MAX_READ);
  return `${head.slice(0, head.lastIndexOf(' ') + 1)}…`;
}

/** The type of a JSON value; of an object the types of its members, of an array that of its first item. */
export type Shape = string | readonly Shape[] | { readonly [key: string]: Shape };

/** The form of a value without its content: 3 levels, 20 members a level, keys masked and of at most 40 characters. */
export function shapeOf(value: unknown, depth: number = SHAPE_DEPTH): Shape {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  if (depth === 0) return Array.isArray(value) ? 'array' : 'object';
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0], depth - 1)];
  const members: [string, Shape][] = [];
  for (const key in value) {
    if (members.length === SHAPE_MEMBERS) break;
    if (!Object.hasOwn(value, key)) continue;
    const member: unknown = (value as Record<string, unknown>)[key];
    members.push([maskedText(key).slice(0, SHAPE_KEY), shapeOf(member, depth - 1)]);
  }
  return Object.fromEntries(members);
}
