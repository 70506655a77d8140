import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { startWatchServer } from '../../../lib/pages/runs/run-server.js';
import { closeChromium, openPage, testsPages } from '../../browser/chromium.js';
import { accessibilityComplaints } from '../../browser/page-checks.js';
import { temporaryFolder } from '../../folder.js';
import { RUN, writeStep } from '../../training/synthetic-run.js';

const folder = temporaryFolder();
writeStep(folder, 0);
const server = await startWatchServer({ ...RUN, folder });
afterAll(() => server.close());

/** Unlike fetch, allows any Host header. */
async function ask(
  target: string,
  options: { method?: string; headers?: Record<string, string> } = {},
) {
  const sent = request(new URL(target, server.url), options).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

describe('the server of the live page', () => {
  it('listens locally, and serves a page that may only request from its own server', async () => {
    expect(new URL(server.url).hostname).toBe('127.0.0.1');
    const { status, headers, body } = await ask('/');
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(body).toContain('1 of 30 steps finished');
    expect(body).toContain("connect-src 'self'");
    expect(body).not.toMatch(/(src|href)="(https?:)?\/\//);
  });

  it('sends content only if it has changed', async () => {
    const { body } = await ask('/content');
    expect(body).toMatch(/^<div id="run" data-version="/);
    const [, version] = /data-version="([^"]+)"/.exec(body)!;
    expect((await ask(`/content?version=${version}`)).status).toBe(204);
    expect((await ask('/content?version=older')).status).toBe(200);
  });

  const evil = ['evil.example', 'evil.example:80', '127.0.0.1', 'localhost:1'];
  const methods = ['POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'];
  const paths = ['/metrics.jsonl', '/constructor', '/../package.json', '/content/x', '//x'];
  it.each([
    ...evil.map((host) => ({ status: 403, path: '/', headers: { host } })), // also by DNS rebinding
    ...methods.map((method) => ({ status: 405, path: '/', method })),
    ...paths.map((path) => ({ status: 404, path })),
  ])('rejects $path, $method, $headers.host with $status', async ({ status, path, ...options }) => {
    const answered = await ask(`${server.url.slice(0, -1)}${path}`, options);
    expect(answered.status).toBe(status);
    expect(answered.headers.allow).toBe(status === 405 ? 'GET' : undefined);
    expect(answered.body).not.toContain('steps');
  });

  it('accepts the host name localhost', async () => {
    const { port } = new URL(server.url);
    expect((await ask('/', { headers: { host: `localhost:${port}` } })).status).toBe(200);
  });

  it('rejects a taken port', async () => {
    const port = Number(new URL(server.url).port);
    await expect(startWatchServer({ ...RUN, folder, port })).rejects.toThrow('EADDRINUSE');
  });

  it.skipIf(!testsPages)(
    'shows later steps, and keeps details unfolded (needs Chromium and test:full)',
    async () => {
      const live = await startWatchServer({ ...RUN, folder });
      const { page, ...log } = await openPage(new URL(live.url));
      const drawn = page.locator('.vega-embed svg');
      await expect.poll(() => drawn.count(), { timeout: 30_000 }).toBe(9);
      await page.locator('details.rollout > summary').first().click();
      writeStep(folder, 1);
      await page.locator('#live-status', { hasText: '2 of 30' }).waitFor();
      expect(await page.locator('details.rollout').first().getAttribute('open')).not.toBeNull();
      expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('SUMMARY');
      expect(await drawn.count()).toBe(9);
      const question = page.locator('#rollouts-shown h3').first();
      expect(await question.textContent()).toContain('Step 1: 0');
      await page.locator('#rollouts-step').fill('0');
      await expect.poll(() => question.textContent()).toContain('Step 0: 0');
      writeStep(folder, 2);
      await page.locator('#live-status', { hasText: '3 of 30' }).waitFor();
      await expect.poll(() => question.textContent()).toContain('Step 0: 0');
      expect(log.complaints).toEqual([]);
      expect(log.requests.every((url) => url.startsWith(live.url))).toBe(true);
      expect(await accessibilityComplaints(page)).toEqual([]);
      await live.close();
      await page.getByText('No response').waitFor();
      await closeChromium();
    },
    300_000,
  );
});
