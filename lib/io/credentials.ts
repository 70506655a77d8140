/** User and password in addresses. */

/**
 * Splits an address into one without user and password, and the header that carries them:
 * servers refuse addresses with credentials, and errors must not show them.
 */
export function splitCredentials(address: string): { url: string; authorization?: string } {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  // Not an address, for example because of a bare slash in the password.
  if (!url?.host) return { url: address.replace(/^(.*:\/\/)?.*@/, '$1') };
  const { username, password } = url;
  if (username === '' && password === '') return { url: address };
  url.username = url.password = '';
  const credentials = `${decodePercent(username)}:${decodePercent(password)}`;
  return { url: url.href, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** Whether files and pages can state an address: it has no user and password. */
export const hasNoCredentials = (address: string): boolean =>
  splitCredentials(address).url === address;

/** A message whose addresses, even without `http://`, have no user and password. */
export const hideCredentials = (message: string): string =>
  message.replace(
    /(?:\w+:\/\/|https?:\/)[^\s"']*@[^\s"']*|(?<![^\s"'])[^\s"':/@=]+:[^\s"'/@]+@[^\s"']+/g,
    (address) => splitCredentials(address).url,
  );

/** Decodes percent signs, except those that stand for themselves. */
function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
