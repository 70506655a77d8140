/** Recognises other file formats by their first bytes, for error messages. */

/** How files begin, what they are, and how to get the text or the actual file. */
const FORMATS: readonly (readonly [start: string, name: string, remedy: string])[] = [
  ['version https://git-lfs', 'a Git LFS pointer', 'Get the file itself: git lfs pull.'],
  ['/annex/objects/', 'a git-annex pointer', 'Get the file itself: git annex get.'],
  ['\xff\xfe\0\0', 'UTF-32', 'Save it as UTF-8, for example with iconv -f UTF-32 -t UTF-8.'],
  ['\0\0\xfe\xff', 'UTF-32', 'Save it as UTF-8, for example with iconv -f UTF-32 -t UTF-8.'],
  ['\xff\xfe', 'UTF-16', 'Save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8.'],
  ['\xfe\xff', 'UTF-16', 'Save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8.'],
  ['\x28\xb5\x2f\xfd', 'Zstandard', 'Unpack it.'],
  ['\x1f\x8b', 'gzip', 'Unpack it.'],
  ['\xfd7zXZ', 'xz', 'Unpack it.'],
  ['PK\x03\x04', 'zip', 'Unpack it.'],
  ['BZh91AY&SY', 'bzip2', 'Unpack it.'],
  ['PAR1', 'Parquet', 'Only files that end in .parquet are read as such.'],
];

/** Where a tar archive has its mark. */
const TAR_START = 257;

/** The number of bytes that {@link nameFormat} needs. */
export const FORMAT_BYTES = 264;

/** `it is a Git LFS pointer. Get ...`; undefined for an unknown format. */
export function nameFormat(bytes: Uint8Array): string | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, FORMAT_BYTES));
  if (start.startsWith('ustar', TAR_START)) return 'it is a tar archive. Unpack it.';
  const format = FORMATS.find(([mark]) => start.startsWith(mark));
  return format && `it is ${format[1]}. ${format[2]}`;
}
