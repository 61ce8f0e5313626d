const MB_PER_GB = 1024;

/** Megabytes as people read them. */
export function memory(mb: number | null | undefined): string {
  if (mb == null) return "–";
  return mb < MB_PER_GB ? `${String(mb)} MB` : `${(mb / MB_PER_GB).toFixed(1)} GB`;
}
