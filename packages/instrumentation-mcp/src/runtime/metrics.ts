import {
  type Attributes,
  type Counter,
  type Histogram,
  type Meter,
  createNoopMeter,
} from '@opentelemetry/api';
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
  /** Nothing takes what is recorded: no meter provider is registered. */
  readonly silent: boolean;
  readonly duration: Histogram;
  readonly calls: Counter;
  /** Made at its first use: most programs do not measure sessions. */
  readonly session: () => Histogram;
}
export interface Instruments {
  readonly client: SideInstruments;
  readonly server: SideInstruments;
}

/** All instruments of the API's own meter are one. */
const SILENT = createNoopMeter().createHistogram('silent');

export function createInstruments(meter: Meter): Instruments {
  const histogram = (name: string, description: string): Histogram =>
    meter.createHistogram(name, {
      description,
      unit: 's',
      advice: { explicitBucketBoundaries: [...DURATION_BOUNDARIES_SECONDS] },
    });
  const counter = (name: string, description: string): Counter =>
    meter.createCounter(name, { description, unit: '{call}' });
  const client = histogram(
    METRIC_CLIENT_OPERATION_DURATION,
    'Duration of an MCP request as seen by its sender',
  );
  const silent = client === SILENT;
  return {
    client: {
      silent,
      duration: client,
      calls: counter(METRIC_CLIENT_CALLS, 'Tool calls sent, by outcome'),
      session: once(() =>
        histogram(METRIC_CLIENT_SESSION_DURATION, 'Duration of an MCP session as seen by its client'),
      ),
    },
    server: {
      silent,
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

const NONE: Attributes = {};

/**
 * Keeps the attributes that a metric may carry, of a call and otherwise of its connection: no ids, nothing of unbounded
 * cardinality.
 */
export function metricAttributes(
  all: Attributes,
  keys: readonly string[],
  others: Attributes = NONE,
): Attributes {
  const kept: Attributes = {};
  for (const key of keys) {
    const value = all[key] ?? others[key];
    if (value !== undefined) kept[key] = value;
  }
  return kept;
}
