// Hands the modules of the SDK over, where nothing finds them.
import * as client from '@modelcontextprotocol/client';
import * as clientStdio from '@modelcontextprotocol/client/stdio';
import * as server from '@modelcontextprotocol/server';
import { instrumentModules } from '@waybill/instrumentation-mcp';

instrumentModules({ client, clientStdio, server });
await import('./v2.mjs');
