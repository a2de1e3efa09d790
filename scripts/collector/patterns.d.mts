/** What a value must not contain, in the syntax of RE2. */
export const patterns: readonly { readonly class: string; readonly pattern: string }[];
