/** Browsers give the clipboard only to pages of https and of the machine itself; elsewhere there is the old way. */
export async function copyText(text: string): Promise<void> {
  if (window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  area.style.opacity = "0";
  // Within an open dialog only what is in it can be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  // Deprecated, and the only thing that works there.
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("The browser did not allow copying. Select the text and copy it yourself.");
}
