import type { Span } from '@opentelemetry/api';
import { ATTR_STAGE_SEQ, type Stage, eventNameOf } from '@waybill/core';

export type StageAttributes = Readonly<Record<string, string | number | boolean>>;

/** Takes a stage at the moment it is observed. */
export type StageSink = (stage: Stage, attributes: StageAttributes) => void;

/** The stages of one call on one side. `waybill.stage.seq` is dense from 1. */
export interface StageRecorder {
  /** Records a stage at once. `detail` must hold ids, versions and counts only. */
  record(stage: Stage, detail?: StageAttributes): void;
  has(stage: Stage): boolean;
  /** Names in order, for `waybill.stages`. */
  names(): readonly Stage[];
}

export function createStageRecorder(sinks: readonly StageSink[]): StageRecorder {
  const reached: Stage[] = [];
  return {
    record(stage, detail) {
      reached.push(stage);
      const attributes = { ...detail, [ATTR_STAGE_SEQ]: reached.length };
      for (const sink of sinks) sink(stage, attributes);
    },
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
