import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  {
    ignores: [
      'api/',
      'dist/',
      'node_modules/',
      'runs/',
      'reports/',
      'notebooks/',
      'data/',
      '**/node_modules/',
    ],
  },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      '@typescript-eslint/require-await': 'off',
      // Spreading a literal holds the formatter off and turns off the check for excess
      // properties.
      'no-restricted-syntax': [
        'error',
        {
          selector: 'SpreadElement[argument.type=/^(Object|Array)Expression$/]',
          message: 'Write the fields of this literal out, without a spread.',
        },
      ],
      'max-len': ['error', { code: 1000, comments: 90, ignoreUrls: true }],
      // For types of packages that may be missing where the declarations are read:
      // nothing else says that.
      '@typescript-eslint/ban-ts-comment': ['error', { 'ts-ignore': 'allow-with-description' }],
    },
  },
  { files: ['**/*.mjs', '*.config.js'], ...tseslint.configs.disableTypeChecked },
  {
    files: ['**/*.mjs'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly' } },
  },
);
