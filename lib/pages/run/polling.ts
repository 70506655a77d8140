/** Milliseconds between two questions of the live page to its server. */
export const POLL_MS = 2000;
