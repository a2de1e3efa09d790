export function framed(request: { readonly resourceSpans: readonly unknown[] }): Buffer;
export function convert(from: string, to: string): Promise<void>;
