// Hands the modules of the SDK over, where nothing finds them.
import * as client from '@modelcontextprotocol/sdk/client/index.js';
import * as clientStdio from '@modelcontextprotocol/sdk/client/stdio.js';
import * as clientHttp from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as server from '@modelcontextprotocol/sdk/server/mcp.js';
import * as stdio from '@modelcontextprotocol/sdk/shared/stdio.js';
import { instrumentModules } from '@waybill/instrumentation-mcp';

instrumentModules({ client, clientHttp, clientStdio, server, stdio });
await import('./v1.mjs');
