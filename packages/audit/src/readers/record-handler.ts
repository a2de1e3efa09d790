/** What the framing of a text input tells of the records that it cuts out. */
export type RecordProblem = 'incomplete' | 'broken' | 'unexpected' | 'too_large' | 'too_deep';

export interface RecordHandler {
  /**
   * A complete object (balanced brackets at least). `alone` says that it is a whole line.
   * @returns false when it is not JSON; a whole line is then looked at again by its structure
   */
  record(bytes: Buffer, line: number, alone: boolean): boolean;
  /** Bytes that belong to no complete object: `bytes` is what there is of it. */
  problem(problem: RecordProblem, bytes: Buffer, line: number): void;
  /** Asked for records that a second reading may pass over; undefined when all are to be read. */
  readonly wantsLine?: ((line: number) => boolean) | undefined;
}
