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
}

/** @param lasting the sinks that outlive the span */
export function createStageRecorder(
  spanSinks: readonly StageSink[],
  lasting: readonly StageSink[],
): StageRecorder {
  const reached: Stage[] = [];
  const sinks = [...spanSinks, ...lasting];
  const tell = (
    to: readonly StageSink[],
    stage: Stage,
    detail: StageAttributes | undefined,
  ): { readonly seq: number } => {
    const seq = reached.push(stage);
    const attributes = { ...detail, [ATTR_STAGE_SEQ]: seq };
    for (const sink of to) sink(stage, attributes);
    return { seq };
  };
  return {
    record: (stage, detail) => void tell(sinks, stage, detail),
    recordLate: (stage, detail) => tell(lasting, stage, detail),
    has: (stage) => reached.includes(stage),
    names: () => reached,
  };
}

/** Stages as events of a span. An event after the end of the span is lost: late stages go elsewhere. */
export function spanEventSink(span: Span): StageSink {
  return (stage, attributes) => {
    span.addEvent(eventNameOf(stage), attributes);
  };
}
