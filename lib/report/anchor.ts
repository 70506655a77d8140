/** The anchor of a notebook's cell in its page. */
export const cellAnchor = (cellId: string): string => `cell-${cellId}`;
