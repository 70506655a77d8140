/**
 * The script of every report: folds the contents where the window is narrow, and shows
 * the buttons that copy a text, where the browser allows copying.
 */
for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
  const source = document.getElementById(button.dataset.copy!)!;
  const say = (words: string) =>
    (button.parentElement!.querySelector('[role=status]')!.textContent = words);
  // In a page that comes over plain HTTP from elsewhere there is no clipboard.
  button.hidden = !('clipboard' in navigator);
  button.onclick = () =>
    navigator.clipboard.writeText(source.textContent).then(
      () => say('Copied.'),
      () => say('The browser did not allow it: select the text and copy it.'),
    );
}

// Where there is no room beside the text, the contents would stand before it.
const contents = document.querySelector<HTMLDetailsElement>('nav.toc details');
if (contents && !matchMedia('(min-width: 68rem)').matches) contents.open = false;

export {};
