// Preload of the instrumented runs: an OpenTelemetry SDK that knows nothing of MCP. The program under test ends its
// telemetry by `globalThis.endTelemetry`, so that spans are flushed at a moment that the program chooses.
import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK();
sdk.start();
globalThis.endTelemetry = () => sdk.shutdown();
