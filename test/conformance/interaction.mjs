// The tools and the prompt of revision 2026-07-28 that ask for input in rounds (MRTR), on SDK v2.
import { inputRequired } from '@modelcontextprotocol/server';
import { z } from 'zod';

const says = (text) => ({ content: [{ type: 'text', text }] });
const name = inputRequired.elicit({
  mode: 'form',
  message: 'What is your name?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
});
const capital = inputRequired.createMessage({
  messages: [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }],
  maxTokens: 100,
});
const roots = inputRequired.listRoots();

/** Tools of one round: what is asked for first, by tool. */
const ONE_ROUND = {
  elicitation: { inputRequests: { user_name: name } },
  sampling: { inputRequests: { capital_question: capital } },
  list_roots: { inputRequests: { client_roots: roots } },
  request_state: { inputRequests: { confirm: name }, requestState: 'state-1' },
  multiple_inputs: {
    inputRequests: { user_name: name, greeting: capital, client_roots: roots },
    requestState: 'state-1',
  },
};

export function ask(server) {
  const tool = (suffix, run) => {
    const title = `test_input_required_result_${suffix}`;
    server.registerTool(title, { description: title, inputSchema: z.object({}) }, (_, { mcpReq }) =>
      run(mcpReq),
    );
  };
  for (const [suffix, spec] of Object.entries(ONE_ROUND)) {
    tool(suffix, ({ inputResponses }) =>
      inputResponses === undefined
        ? inputRequired(spec)
        : says(`state-ok, answered: ${JSON.stringify(inputResponses)}`),
    );
  }
  tool('capabilities', ({ inputResponses, envelope }) => {
    if (inputResponses !== undefined) return says('answered');
    const can = envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
    const wanted = {
      elicitation: { user_name: name },
      sampling: { capital_question: capital },
      roots: { client_roots: roots },
    };
    const inputRequests = Object.assign(
      {},
      ...Object.keys(wanted)
        .filter((key) => can[key] !== undefined)
        .map((key) => wanted[key]),
    );
    return inputRequired({ inputRequests });
  });
  tool('multi_round', ({ requestState }) => {
    const round = requestState();
    if (round === undefined)
      return inputRequired({ inputRequests: { step1: name }, requestState: 'round-1' });
    if (round === 'round-1')
      return inputRequired({ inputRequests: { step2: name }, requestState: 'round-2' });
    return says('done after two rounds');
  });
  server.registerPrompt('test_input_required_result_prompt', { description: 'Asks first' }, ({ mcpReq }) =>
    mcpReq.inputResponses === undefined
      ? inputRequired({ inputRequests: { user_context: name } })
      : { messages: [{ role: 'user', content: { type: 'text', text: 'Thank you.' } }] },
  );
}
