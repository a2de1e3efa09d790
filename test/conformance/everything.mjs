// What the conformance suite asks of a server, told once for both SDKs. `kit` is the SDK's half:
// tool(name, shape, run), resource, template, prompt, and on the context of a call notify, sample, elicit, hangUp.
import { z } from 'zod';

// One red pixel as PNG, and the header of a WAV file without samples.
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const text = (value) => ({ type: 'text', text: value });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const says = (value) => ({ content: [text(value)] });
const embedded = (uri, value) => ({
  type: 'resource',
  resource: { uri, mimeType: 'text/plain', text: value },
});
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function fill(kit) {
  kit.tool('test_simple_text', {}, () => says('A simple text.'));
  kit.tool('test_image_content', {}, () => ({ content: [image] }));
  kit.tool('test_audio_content', {}, () => ({
    content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  }));
  kit.tool('test_embedded_resource', {}, () => ({
    content: [embedded('test://embedded-resource', 'An embedded resource.')],
  }));
  kit.tool('test_multiple_content_types', {}, () => ({
    content: [text('Several kinds:'), image, embedded('test://mixed-content-resource', 'The third kind.')],
  }));
  kit.tool('test_error_handling', {}, () => ({ ...says('This tool always fails.'), isError: true }));
  kit.tool('test_tool_with_logging', {}, async (_, call) => {
    for (const data of ['Tool started', 'Tool at work', 'Tool done']) {
      await call.notify('notifications/message', { level: 'info', data });
      await pause(50);
    }
    return says('Logged.');
  });
  kit.tool('test_tool_with_progress', {}, async (_, call) => {
    for (const progress of [0, 50, 100]) {
      if (call.progressToken !== undefined) {
        const { progressToken } = call;
        await call.notify('notifications/progress', { progressToken, progress, total: 100 });
      }
      await pause(50);
    }
    return says('Done.');
  });
  kit.tool('test_sampling', { prompt: z.string() }, async ({ prompt }, call) => {
    const answer = await call.sample({
      messages: [{ role: 'user', content: text(prompt) }],
      maxTokens: 100,
    });
    return says(`LLM response: ${answer.content.text}`);
  });
  kit.tool('test_elicitation', { message: z.string() }, async ({ message }, call) => {
    const properties = {
      username: { type: 'string', description: 'Name' },
      email: { type: 'string', description: 'Address' },
    };
    return answered(
      await call.elicit(message, { type: 'object', properties, required: ['username', 'email'] }),
    );
  });
  kit.tool('test_elicitation_sep1034_defaults', {}, async (_, call) => {
    const properties = {
      name: { type: 'string', description: 'Name', default: 'John Doe' },
      age: { type: 'integer', description: 'Age', default: 30 },
      score: { type: 'number', description: 'Score', default: 95.5 },
      status: {
        type: 'string',
        description: 'Status',
        enum: ['active', 'inactive', 'pending'],
        default: 'active',
      },
      verified: { type: 'boolean', description: 'Verified', default: true },
    };
    return answered(await call.elicit('Please confirm', { type: 'object', properties, required: [] }));
  });
  kit.tool('test_elicitation_sep1330_enums', {}, async (_, call) => {
    const titled = (n) => [1, 2, 3].slice(0, n).map((i) => ({ const: `value${i}`, title: `Option ${i}` }));
    const options = ['option1', 'option2', 'option3'];
    const properties = {
      untitledSingle: { type: 'string', enum: options },
      titledSingle: { type: 'string', oneOf: titled(3) },
      legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
      untitledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', enum: options } },
      titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: titled(3) } },
    };
    return answered(await call.elicit('Please choose', { type: 'object', properties, required: [] }));
  });
  kit.tool('test_reconnection', {}, async (_, call) => {
    await pause(100);
    call.hangUp();
    await pause(100);
    return says('Sent after the stream was closed and opened again.');
  });
  kit.tool(
    'json_schema_2020_12_tool',
    { name: z.string().optional(), address: z.object({ city: z.string() }).optional() },
    () => says('ok'),
  );

  kit.resource('static-text', 'test://static-text', 'text/plain', (uri) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'The content of the static text resource.' }],
  }));
  kit.resource('static-binary', 'test://static-binary', 'image/png', (uri) => ({
    contents: [{ uri, mimeType: 'image/png', blob: PNG }],
  }));
  kit.resource('watched-resource', 'test://watched-resource', 'text/plain', (uri) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'Watched.' }],
  }));
  kit.template('template', 'test://template/{id}/data', 'application/json', (uri, { id }) => ({
    contents: [{ uri, mimeType: 'application/json', text: JSON.stringify({ id, data: `Data for ${id}` }) }],
  }));

  const user = (content) => ({ role: 'user', content });
  kit.prompt('test_simple_prompt', undefined, () => ({ messages: [user(text('A simple prompt.'))] }));
  kit.prompt('test_prompt_with_arguments', { arg1: z.string(), arg2: z.string() }, ({ arg1, arg2 }) => ({
    messages: [user(text(`arg1='${arg1}', arg2='${arg2}'`))],
  }));
  kit.prompt('test_prompt_with_embedded_resource', { resourceUri: z.string() }, ({ resourceUri }) => ({
    messages: [user(embedded(resourceUri, 'Embedded.')), user(text('Please read it.'))],
  }));
  kit.prompt('test_prompt_with_image', undefined, () => ({
    messages: [user(image), user(text('Please look at it.'))],
  }));
}

export const CAPABILITIES = {
  completions: {},
  logging: {},
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  tools: { listChanged: true },
};

export const NO_COMPLETION = { completion: { values: [], total: 0, hasMore: false } };

function answered({ action, content }) {
  return says(`Elicitation: action=${action}, content=${JSON.stringify(content ?? {})}`);
}
