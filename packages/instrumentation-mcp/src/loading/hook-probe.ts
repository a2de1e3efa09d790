/** Imported once by `register` after it installed the loader hook: a hook that works sees it. */
export const probe = true;
