/**
 * Little-endian numbers and texts, one after the other. Reading past the end throws a
 * RangeError.
 */
export class ByteReader {
  private readonly view: DataView;

  constructor(
    readonly bytes: Uint8Array,
    public at = 0,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  private take(numBytes: number): number {
    this.at += numBytes;
    return this.at - numBytes;
  }

  readonly u8 = (): number => this.view.getUint8(this.take(1));
  readonly i8 = (): number => this.view.getInt8(this.take(1));
  readonly u16 = (): number => this.view.getUint16(this.take(2), true);
  readonly i16 = (): number => this.view.getInt16(this.take(2), true);
  readonly u32 = (): number => this.view.getUint32(this.take(4), true);
  readonly i32 = (): number => this.view.getInt32(this.take(4), true);
  readonly f32 = (): number => this.view.getFloat32(this.take(4), true);
  readonly f64 = (): number => this.view.getFloat64(this.take(8), true);
  /** Up to 2^53, as counts and offsets are. */
  readonly u64 = (): number => Number(this.view.getBigUint64(this.take(8), true));
  readonly i64 = (): number => Number(this.view.getBigInt64(this.take(8), true));

  /** UTF-8 of so many bytes. */
  text(numBytes: number): string {
    const from = this.take(numBytes);
    return new TextDecoder().decode(this.bytes.subarray(from, from + numBytes));
  }

  list<T>(count: number, read: () => T): T[] {
    return Array.from({ length: count }, read);
  }
}
