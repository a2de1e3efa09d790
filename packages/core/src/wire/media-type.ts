/**
 * The essence of a Content-Type value: `type/subtype` in lower case, without parameters (RFC 9110 section 8.3.1).
 * Undefined when the header is missing or is no media type.
 *
 * @example mediaType('Text/Event-Stream;charset=utf-8') // 'text/event-stream'
 */
export function mediaType(contentType: string | null | undefined): string | undefined {
  if (contentType === null || contentType === undefined) return undefined;
  const semicolon = contentType.indexOf(';');
  const essence = (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
  return /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+$/.test(essence) ? essence : undefined;
}
