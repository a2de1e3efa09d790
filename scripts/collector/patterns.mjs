/**
 * What a value must not contain, by class, in the syntax of RE2 (no look-around). The list goes into
 * `redaction/values` (every value is masked) and `transform/ids` (an id is deleted) of every configuration file.
 *
 * No pattern may match a UUID, a trace id or a digest: `test/heavy/collector/config.test.ts` tries them.
 */
export const patterns = [
  {
    class: 'e-mail address, also percent-encoded',
    pattern: '[A-Za-z0-9._%+-]+(?:@|%40)[A-Za-z0-9-]+(?:[.][A-Za-z0-9-]+)+',
  },
  { class: 'bearer credentials', pattern: '(?i)\\bbearer[ :=]+[a-z0-9._~+/=-]{6,}' },
  { class: 'basic credentials', pattern: '(?i)\\bbasic[ :=]+[a-z0-9+/=]{6,}' },
  { class: 'credentials inside a URL', pattern: '://[^/@ ]{1,200}:[^/@ ]{1,200}@' },
  { class: 'JSON web token', pattern: '\\beyJ[A-Za-z0-9_-]{5,}[.][A-Za-z0-9_-]{5,}(?:[.][A-Za-z0-9_-]*)?' },
  {
    class: 'key or token as a parameter',
    pattern:
      '(?i)(?:api[_-]?key|apikey|access[_-]?token|auth[_-]?token|token|secret|password|passwd|pwd|signature|sig|key)=[^&; ]{3,}',
  },
  {
    class: 'keys of known makers',
    pattern:
      '\\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)[-_][A-Za-z0-9_-]{8,}|\\bsk-[A-Za-z0-9]{20,}|\\bAKIA[0-9A-Z]{16}\\b|\\bgh[pousr]_[A-Za-z0-9]{20,}|\\bxox[abprs]-[A-Za-z0-9-]{10,}|\\bAIza[0-9A-Za-z_-]{35}',
  },
  {
    class: 'cookie',
    pattern:
      '(?i)\\bcookie[ :=]+[^ ].*|\\b(?:session|sessionid|session_id|sid|connect[.]sid|phpsessid|jsessionid|csrf[a-z_-]*)=[^; ]{3,}',
  },
  { class: 'private key', pattern: '(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*' },
  {
    class: 'payment card, with or without separators',
    pattern:
      '\\b(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|2[2-7][0-9]{14}|3[47][0-9]{13}|6(?:011|5[0-9]{2})[0-9]{12})\\b|\\b(?:[0-9]{4}[ -]){3}[0-9]{4}\\b|\\b3[47][0-9]{2}[ -][0-9]{6}[ -][0-9]{5}\\b',
  },
  {
    class: 'phone number, international or North American',
    pattern:
      '[+][0-9]{1,3}[0-9 ().-]{6,16}[0-9]|(?:[(][0-9]{3}[)] ?|\\b[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}\\b',
  },
  {
    class: 'stack trace',
    pattern:
      '(?s)(?:\\n *at |^ *at )[^\\n]*:[0-9]+.*|(?s)Traceback [(]most recent call last[)].*|(?s)\\n +File "[^\\n]*line [0-9].*|(?s)\\n *at [A-Za-z0-9_.$]+[(].*',
  },
];
