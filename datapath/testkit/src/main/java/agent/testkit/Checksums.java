package agent.testkit;

/** The Internet checksum (RFC 1071). */
final class Checksums {
  private Checksums() {}

  /** Returns the ones' complement sum of 16-bit words, not yet folded. */
  static long sum(byte[] bytes, int offset, int length) {
    long sum = 0;
    for (int i = 0; i < length; i++) {
      final int value = bytes[offset + i] & 0xff;
      sum += (i & 1) == 0 ? (long) value << 8 : value;
    }
    return sum;
  }

  static int fold(long sum) {
    long folded = sum;
    while (folded >>> 16 != 0) {
      folded = (folded & 0xffff) + (folded >>> 16);
    }
    return (int) (~folded & 0xffff);
  }

  /** Returns the sum of the pseudo header (RFC 9293, section 3.1; RFC 8200, section 8.1). */
  static long pseudoHeader(byte[] source, byte[] destination, int protocol, int length) {
    return sum(source, 0, source.length)
        + sum(destination, 0, destination.length)
        + protocol
        + (length >>> 16)
        + (length & 0xffff);
  }
}
