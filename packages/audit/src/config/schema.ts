/** Structure of a configuration. Rules and plugins hold functions; of them only what the auditor relies on is stated. */
export const LEVELS: readonly unknown[] = ['error', 'warning', 'info', 'off'];
const LEVEL = { enum: LEVELS };
const NAMES = { type: 'array', items: { type: 'string', minLength: 1 } } as const;

export const CONFIG_SCHEMA: object = {
  type: 'object',
  additionalProperties: false,
  properties: {
    plugins: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'rules'],
        properties: {
          name: { type: 'string', minLength: 1 },
          rules: {
            type: 'object',
            additionalProperties: {
              type: 'object',
              required: ['meta', 'create'],
              properties: {
                meta: {
                  type: 'object',
                  required: ['id', 'defaultLevel', 'messages'],
                  properties: {
                    id: { type: 'string', minLength: 1 },
                    defaultLevel: LEVEL,
                    messages: { type: 'object', additionalProperties: { type: 'string' } },
                  },
                },
              },
            },
          },
        },
      },
    },
    // Each a level, or a level and options: what is wrong of two forms is said better by hand.
    rules: { type: 'object' },
    receipts: { type: 'object', additionalProperties: false, properties: { required: NAMES } },
    suppress: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['rule', 'reason', 'until'],
        properties: {
          rule: { type: 'string', minLength: 1 },
          operation: { type: 'string' },
          tool: { type: 'string' },
          reason: { type: 'string', minLength: 1 },
          until: { type: 'string', minLength: 1 },
        },
      },
    },
  },
};
