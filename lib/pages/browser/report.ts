/** Every report's script: copy buttons, folded tables, contents in narrow windows. */
for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
  const source = document.getElementById(button.dataset.copy!)!;
  const showStatus = (words: string) =>
    (button.parentElement!.querySelector('[role=status]')!.textContent = words);
  // Pages over plain HTTP have no clipboard.
  button.hidden = !('clipboard' in navigator);
  button.onclick = () =>
    navigator.clipboard.writeText(source.textContent).then(
      () => showStatus('Copied.'),
      () => showStatus('Copying was blocked: select the text and copy it.'),
    );
}

// Tables are parsed when unfolded: many thousands of cells would open late.
document.addEventListener(
  'toggle',
  ({ target }) => {
    const folded = target as Element;
    if (!folded.matches('details.data')) return;
    for (const unread of folded.querySelectorAll('noscript')) unread.outerHTML = unread.textContent;
  },
  { capture: true }, // it does not bubble
);

// In narrow windows, the contents come before the text.
const contents = document.querySelector<HTMLDetailsElement>('nav.toc details');
if (contents && !matchMedia('(min-width: 68rem)').matches) contents.open = false;

export {};
