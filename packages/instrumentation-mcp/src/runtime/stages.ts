import type { Span } from '@opentelemetry/api';
import { ATTR_STAGE_SEQ, type Stage, eventNameOf } from '@waybill/core';

export type StageAttributes = Readonly<Record<string, string | number | boolean>>;

/** Takes a stage at the moment it is observed. */
export type StageSink = (stage: Stage, attributes: StageAttributes) => void;

/** The stages of one call on one side. `waybill.stage.seq` is dense from 1. */
export interface StageRecorder {
  /** Records a stage at once. `detail` must hold ids, versions and counts only. */
  record(stage: Stage, detail?: StageAttributes): void;
  /** Records a stage that came after the span had ended, where that is no matter: as a log and in the journal. */
  recordLate(stage: Stage, detail?: StageAttributes): { readonly seq: number };
  has(stage: Stage): boolean;
  /** Names in order, for `waybill.stages`. */
  names(): readonly Stage[];
  /** Lets the span go, which has ended. */
  release(): void;
}

/**
 * @param span takes the stages as events; undefined where they are not wanted there. An event after the end of a span is
 * lost: late stages go elsewhere.
 * @param lasting the sinks that outlive the span
 */
export function createStageRecorder(
  span: Span | undefined,
  lasting: readonly StageSink[],
  failed: (error: unknown) => void,
): StageRecorder {
  return new Recorder(span, lasting, failed);
}

class Recorder implements StageRecorder {
  #span: Span | undefined;
  readonly #lasting: readonly StageSink[];
  readonly #failed: (error: unknown) => void;
  readonly #reached: Stage[] = [];

  constructor(span: Span | undefined, lasting: readonly StageSink[], failed: (error: unknown) => void) {
    this.#span = span;
    this.#lasting = lasting;
    this.#failed = failed;
  }

  record(stage: Stage, detail?: StageAttributes): void {
    const attributes = this.#next(stage, detail);
    try {
      this.#span?.addEvent(eventNameOf(stage), attributes);
    } catch (error) {
      this.#failed(error); // a span that does not take it must not cost the journal its line
    }
    this.#tell(stage, attributes);
  }

  recordLate(stage: Stage, detail?: StageAttributes): { readonly seq: number } {
    this.#tell(stage, this.#next(stage, detail));
    return { seq: this.#reached.length };
  }

  has(stage: Stage): boolean {
    return this.#reached.includes(stage);
  }

  names(): readonly Stage[] {
    return this.#reached;
  }

  release(): void {
    this.#span = undefined;
  }

  #next(stage: Stage, detail: StageAttributes | undefined): StageAttributes {
    const seq = this.#reached.push(stage);
    const attributes: Record<string, string | number | boolean> = detail === undefined ? {} : { ...detail };
    attributes[ATTR_STAGE_SEQ] = seq;
    return attributes;
  }

  #tell(stage: Stage, attributes: StageAttributes): void {
    for (const sink of this.#lasting) sink(stage, attributes);
  }
}
