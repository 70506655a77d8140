import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { linkModules } from '../../../lib/pages/viewer/link.js';
import { scriptOfSources } from './synthetic.js';

function link(modules: Record<string, string>): string {
  return linkModules(new URL('file:///page/main.js'), (module) => {
    const code = modules[module.pathname.replace('/page/', '')];
    if (code === undefined) throw new Error(`no ${module.pathname}`);
    return code;
  });
}

describe('linkModules', () => {
  it('joins each module once, imported ones first, also through a re-export', () => {
    const script = link({
      'main.js':
        "import { b } from './b.js';\nimport { a,\n  c } from './a.js';\nglobalThis.result = b() + a + c;\n",
      'b.js':
        "import { a } from './a.js';\nexport { c } from './a.js';\nexport function b() { return a * 10; }\n",
      'a.js': 'export const a = 2;\nexport const c = 0.5;\nexport {};\n//# sourceMappingURL=a.js.map\n',
    });
    expect(script).not.toMatch(/import|export|sourceMapping/);
    const context: { result?: number } = {};
    runInNewContext(script, context);
    expect(context.result).toBe(22.5);
  });

  it('refuses what a plain join would get wrong', () => {
    expect(() => link({ 'main.js': "import { a } from 'package';\n" })).toThrow('/page/main.js');
    expect(() => link({ 'main.js': "import { a as b } from './a.js';\n" })).toThrow('a as b');
    expect(() => link({ 'main.js': "import './a.js';\n" })).toThrow("import './a.js'");
    expect(() => link({ 'main.js': 'export default 1;\n' })).toThrow('export default 1');
    const twice = {
      'main.js': "import { a } from './a.js';\nconst b = 1;\n",
      'a.js': 'export const a = 1;\nconst b = 2;\n',
    };
    expect(() => link(twice)).toThrow(SyntaxError);
  });

  it("joins the viewer's own modules", () => {
    expect(scriptOfSources()).toContain('function buildViewer');
  });
});
