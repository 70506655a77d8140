/**
 * The tag grammar on one page: the parser and printer of blocks, the environment's information block, the
 * judge of the format, and what a response did, which all read the same blocks.
 */
export * from './blocks.js';
export * from './information.js';
export * from './format.js';
export * from './turns.js';
