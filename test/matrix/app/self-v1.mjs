// The program brings the plugin itself, before anything else.
import './otel.mjs';
import './report.mjs';

await import('./v1.mjs');
