/**
 * Fills a message of a rule: `{name}` becomes the value of that name. A name without a value stays as it is written,
 * so that a mistake in a rule is seen in its first test.
 */
export function formatMessage(
  template: string,
  data: Readonly<Record<string, string | number>> | undefined,
): string {
  return template.replace(/\{([A-Za-z0-9_]+)\}/g, (whole, name: string) => {
    const value = data !== undefined && Object.hasOwn(data, name) ? data[name] : undefined;
    return value === undefined ? whole : String(value);
  });
}
