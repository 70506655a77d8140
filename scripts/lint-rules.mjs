/** The project's own lint rules, for which oxlint has none. */

const noLiteralSpread = {
  meta: { type: 'problem' },
  create: (context) => ({
    SpreadElement(node) {
      if (/^(Object|Array)Expression$/.test(node.argument.type))
        context.report({
          node,
          message: 'Write the fields of this literal out, without a spread.',
        });
    },
  }),
};

const MAX_COMMENT_WIDTH = 90;

const commentWidth = {
  meta: { type: 'layout' },
  create: (context) => ({
    Program() {
      const lines = context.sourceCode.text.split('\n');
      for (const { loc } of context.sourceCode.getAllComments())
        for (let line = loc.start.line; line <= loc.end.line; line++) {
          const text = lines[line - 1];
          if (text.length > MAX_COMMENT_WIDTH && isComment(text) && !text.includes('://'))
            context.report({
              loc: { start: { line, column: 0 }, end: { line, column: text.length } },
              message: `Wrap comments at ${MAX_COMMENT_WIDTH} characters; this line has ${text.length}.`,
            });
        }
    },
  }),
};

/** Whether the line has a comment and nothing else. */
const isComment = (line) => /^\s*(\/\/|\/\*|\*)/.test(line);

/** In `toMatchObject`, a regular expression is an empty object: all objects match. */
const noPatternInMatch = {
  meta: { type: 'problem' },
  create: (context) => ({
    Literal(node) {
      if (!node.regex) return;
      let outer = node.parent;
      while (/^(Property|(Object|Array)Expression)$/.test(outer.type)) outer = outer.parent;
      if (outer.type === 'CallExpression' && outer.callee.property?.name === 'toMatchObject')
        context.report({
          node,
          message: 'Write expect.stringMatching(...): toMatchObject ignores regular expressions.',
        });
    },
  }),
};

export default {
  meta: { name: 'parallelsearch' },
  rules: {
    'no-literal-spread': noLiteralSpread,
    'comment-width': commentWidth,
    'no-pattern-in-match': noPatternInMatch,
  },
};
