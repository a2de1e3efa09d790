import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api';
import {
  DURATION_BOUNDARIES_SECONDS,
  METRIC_CLIENT_CALLS,
  METRIC_CLIENT_OPERATION_DURATION,
  METRIC_CLIENT_SESSION_DURATION,
  METRIC_SERVER_CALLS,
  METRIC_SERVER_OPERATION_DURATION,
  METRIC_SERVER_SESSION_DURATION,
} from '@waybill/core';

interface SideInstruments {
  readonly duration: Histogram;
  readonly calls: Counter;
  /** Made at its first use: most programs do not measure sessions. */
  readonly session: () => Histogram;
}
export interface Instruments {
  readonly client: SideInstruments;
  readonly server: SideInstruments;
}

export function createInstruments(meter: Meter): Instruments {
  const histogram = (name: string, description: string): Histogram =>
    meter.createHistogram(name, {
      description,
      unit: 's',
      advice: { explicitBucketBoundaries: [...DURATION_BOUNDARIES_SECONDS] },
    });
  const counter = (name: string, description: string): Counter =>
    meter.createCounter(name, { description, unit: '{call}' });
  return {
    client: {
      duration: histogram(
        METRIC_CLIENT_OPERATION_DURATION,
        'Duration of an MCP request as seen by its sender',
      ),
      calls: counter(METRIC_CLIENT_CALLS, 'Tool calls sent, by outcome'),
      session: once(() =>
        histogram(METRIC_CLIENT_SESSION_DURATION, 'Duration of an MCP session as seen by its client'),
      ),
    },
    server: {
      duration: histogram(
        METRIC_SERVER_OPERATION_DURATION,
        'Duration of an MCP request as seen by its receiver',
      ),
      calls: counter(METRIC_SERVER_CALLS, 'Tool calls received, by outcome'),
      session: once(() =>
        histogram(METRIC_SERVER_SESSION_DURATION, 'Duration of an MCP session as seen by its server'),
      ),
    },
  };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** Keeps the attributes that a metric may carry: no ids, nothing of unbounded cardinality. */
export function metricAttributes(all: Attributes, keys: readonly string[]): Attributes {
  const kept: Attributes = {};
  for (const key of keys) {
    const value = all[key];
    if (value !== undefined) kept[key] = value;
  }
  return kept;
}
