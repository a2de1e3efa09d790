import { trace } from '@opentelemetry/api';
import { NO_SDK, warnOnce } from './warnings.js';

interface ProxyProvider {
  getDelegateTracer(name: string, version?: string): unknown;
}

/**
 * Says once that spans go nowhere: the global tracer provider has nothing behind it. To be asked when a span is
 * needed, not at start, since an SDK may be registered in between. `OTEL_SDK_DISABLED=true` and
 * `OTEL_TRACES_EXPORTER=none`, with which NodeSDK registers no provider, are wishes and no mistakes.
 */
export function warnWithoutSdk(name: string, version: string): void {
  if (isSet('OTEL_SDK_DISABLED', 'true') || isSet('OTEL_TRACES_EXPORTER', 'none')) return;
  const provider: object = trace.getTracerProvider();
  if (!isProxy(provider) || provider.getDelegateTracer(name, version) !== undefined) return;
  warnOnce(
    NO_SDK,
    'An MCP call was made and no OpenTelemetry TracerProvider is registered: its span is lost. Start an SDK, for ' +
      'example `new NodeSDK({ instrumentations: [new McpInstrumentation()] }).start()`, before the first MCP connection.',
  );
}

function isSet(variable: string, value: string): boolean {
  return process.env[variable]?.trim().toLowerCase() === value;
}

/** By feature and not by class: the application may have another copy of the API than this package. */
function isProxy(provider: object): provider is ProxyProvider {
  return typeof (provider as Partial<ProxyProvider>).getDelegateTracer === 'function';
}
