/** Bounds that keep a hostile or broken input from taking the process with it. */
export interface ReadLimits {
  /** Largest record (line, JSON document, framed message) in bytes after decompression. Default 256 MiB. */
  readonly maxRecordBytes: number;
  /** Largest ratio of decompressed to compressed bytes. DEFLATE itself ends near 1,032. Default 2,000. */
  readonly maxInflateRatio: number;
  /** Damaged places that are listed one by one for an input; the rest is one line with their number. Default 1,000. */
  readonly maxDamages: number;
}

export const DEFAULT_LIMITS: ReadLimits = {
  maxRecordBytes: 256 * 1024 * 1024,
  maxInflateRatio: 2_000,
  maxDamages: 1_000,
};
