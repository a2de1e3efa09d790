/** Name and version of the instrumentation scope. A test holds them against package.json. */
export const PACKAGE_NAME = '@waybill/instrumentation-mcp';
export const PACKAGE_VERSION = '0.1.0';
