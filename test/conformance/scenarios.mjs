// What the conformance suite asks of a client, told once for both SDKs. `kit` is the SDK's half:
// open(url, { capabilities, answerElicitation, authProvider }) connects and gives { listTools, callTool, close };
// isUnauthorized(error) tells that the user was sent to an authorization server, finish(code) that he
// is back with a code.
const name = process.env.MCP_CONFORMANCE_SCENARIO;
const url = process.argv.at(-1);

/** Plays the scenario that the suite names. An error ends the program as usual, so that telemetry is still sent. */
export async function play(kit) {
  try {
    await playScenario(kit);
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
}

async function playScenario(kit) {
  const client = await connect(kit);
  switch (name) {
    case 'initialize':
      await client.listTools();
      break;
    case 'tools_call':
      await client.listTools();
      await client.callTool({ name: 'add_numbers', arguments: { a: 5, b: 3 } });
      break;
    case 'sse-retry':
      await client.listTools();
      await client.callTool({ name: 'test_reconnection', arguments: {} });
      break;
    case 'elicitation-sep1034-client-defaults':
      await client.listTools();
      await client.callTool({ name: 'test_client_elicitation_defaults', arguments: {} });
      break;
    default:
      await client.listTools();
      await client.callTool({ name: 'test-tool', arguments: {} });
  }
  await client.close();
}

async function connect(kit) {
  if (name.startsWith('elicitation')) {
    const capabilities = { elicitation: { form: { applyDefaults: true } } };
    return kit.open(url, { capabilities, answerElicitation: () => ({ action: 'accept', content: {} }) });
  }
  if (!name.startsWith('auth/')) return kit.open(url, { capabilities: {} });
  const authProvider = new User();
  const attempt = async (act) => {
    for (let left = 3; ; left--) {
      try {
        return await act();
      } catch (error) {
        if (left === 0 || !kit.isUnauthorized(error)) throw error;
        await kit.finish(await authProvider.consent());
      }
    }
  };
  const client = await attempt(() => kit.open(url, { capabilities: {}, authProvider }));
  const again = (method) => (params) => attempt(() => client[method](params));
  return { listTools: again('listTools'), callTool: again('callTool'), close: () => client.close() };
}

/** A client of OAuth 2.1 whose user agrees to everything: follows the redirect and takes the code out of it. */
class User {
  #client;
  #tokens;
  #verifier;
  #page;
  redirectUrl = 'http://localhost:3000/callback';
  clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';
  clientMetadata = {
    client_name: 'waybill conformance client',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_post',
  };
  clientInformation = () => this.#client;
  saveClientInformation = (client) => void (this.#client = client);
  tokens = () => this.#tokens;
  saveTokens = (tokens) => void (this.#tokens = tokens);
  codeVerifier = () => this.#verifier;
  saveCodeVerifier = (verifier) => void (this.#verifier = verifier);
  redirectToAuthorization = (page) => void (this.#page = page);
  async consent() {
    const response = await fetch(this.#page, { redirect: 'manual' });
    await response.body?.cancel();
    return new URL(response.headers.get('location')).searchParams.get('code');
  }
}
