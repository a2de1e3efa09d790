// @mastra/mcp takes in exit-hook, which ends the process on `beforeExit` without waiting for the other listeners of
// that event. What must be sent before the end is therefore handed to exit-hook itself.
import { trace } from '@opentelemetry/api';
import { asyncExitHook } from 'exit-hook';

asyncExitHook(() => trace.getTracerProvider().getDelegate().forceFlush(), { wait: 5000 });
