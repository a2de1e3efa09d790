export default {
  meta: {
    id: 'acme/charge-once',
    defaultLevel: 'error',
    description: 'A rule with a mistake in it.',
    messages: {},
    defaultOptions: undefined,
  },
  create: () => ({
    operation(operation) {
      throw new Error(`no price for ${operation.key}`);
    },
  }),
};
