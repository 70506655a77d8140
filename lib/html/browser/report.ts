/** The script of every report: shows the buttons that copy a text, where the browser allows copying. */
for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
  const source = document.getElementById(button.dataset.copy!)!;
  const say = (words: string) => (button.parentElement!.querySelector('[role=status]')!.textContent = words);
  // In a page that comes over plain HTTP from elsewhere there is no clipboard.
  button.hidden = !('clipboard' in navigator);
  button.onclick = () =>
    navigator.clipboard.writeText(source.textContent).then(
      () => say('Copied.'),
      () => say('The browser did not allow it: select the text and copy it.'),
    );
}

export {};
