/** User and password in addresses. */

/** Hides an address's query, which may hold a key. */
const hideQuery = (address: string): string => address.replace(/\?.*/s, '?...');

/**
 * Splits an address into one without user and password, the header that carries them
 * (servers refuse addresses with credentials), and the form for messages, without query.
 */
export function splitCredentials(address: string): {
  url: string;
  shown: string;
  authorization?: string;
} {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  // Not an address, for example because of a bare slash in the password.
  if (!url?.host) {
    const rest = address.replace(/^(.*:\/\/)?.*@/, '$1');
    return { url: rest, shown: hideQuery(rest) };
  }
  const { username, password } = url;
  if (username === '' && password === '') return { url: address, shown: hideQuery(address) };
  url.username = url.password = '';
  const credentials = `${decodePercent(username)}:${decodePercent(password)}`;
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  return { url: url.href, shown: hideQuery(url.href), authorization };
}

/** Whether files and pages can state an address: it has no user and password. */
export const hasNoCredentials = (address: string): boolean =>
  splitCredentials(address).url === address;

/** A message without passwords in addresses, or queries of http addresses. */
export const hideCredentials = (message: string): string =>
  message.replace(
    /(?:\w+:\/\/|https?:\/)[^\s"']*@[^\s"']*|(?<![^\s"'])[^\s"':/@=]+:[^\s"'/@]+@[^\s"']+|https?:\/\/[^\s"'?]*\?[^\s"']+/gi,
    (address) => splitCredentials(address).shown,
  );

/** Decodes percent signs, except those that stand for themselves. */
function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
