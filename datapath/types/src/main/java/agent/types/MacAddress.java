package agent.types;

/** A 48-bit hardware address. Immutable. */
public final class MacAddress implements Comparable<MacAddress> {
  private static final int BYTES = 6;
  private static final int TEXT_LENGTH = 17;

  private final long bits;

  private MacAddress(long bits) {
    this.bits = bits;
  }

  /**
   * Returns the address with these bits.
   *
   * @param bits 48 bits, the first byte of the address highest
   * @return the address
   */
  public static MacAddress of(long bits) {
    if (bits >>> 48 != 0) {
      throw new IllegalArgumentException("a MAC address has 48 bits");
    }
    return new MacAddress(bits);
  }

  /**
   * Returns the address with these bytes.
   *
   * @param bytes six bytes in the order of the wire; copied
   * @return the address
   */
  public static MacAddress of(byte[] bytes) {
    if (bytes.length != BYTES) {
      throw new IllegalArgumentException("a MAC address has 6 bytes, not " + bytes.length);
    }
    long bits = 0;
    for (final byte b : bytes) {
      bits = bits << 8 | b & 0xff;
    }
    return new MacAddress(bits);
  }

  /**
   * Reads {@code aa:bb:cc:dd:ee:ff}, in either case.
   *
   * @param text the address
   * @return the address
   * @throws Refusal INVALID without a field
   */
  public static MacAddress parse(String text) {
    return parse("", text);
  }

  /**
   * Reads an address, and names the field in the refusal.
   *
   * @param field the field the text came from
   * @param text the address
   * @return the address
   * @throws Refusal INVALID, of that field
   */
  public static MacAddress parse(String field, String text) {
    long bits = 0;
    boolean good = text != null && text.length() == TEXT_LENGTH;
    for (int i = 0; good && i < TEXT_LENGTH; i++) {
      final char c = text.charAt(i);
      if (i % 3 == 2) {
        good = c == ':';
      } else {
        final int digit = c < 128 ? Character.digit(c, 16) : -1;
        good = digit >= 0;
        bits = bits << 4 | digit & 0xf;
      }
    }
    if (!good) {
      throw Refusal.invalid(field, "'" + text + "' is not a MAC address");
    }
    return new MacAddress(bits);
  }

  /** Returns the 48 bits, the first byte of the address highest. */
  public long bits() {
    return bits;
  }

  /** Returns a new array of six bytes in the order of the wire. */
  public byte[] toBytes() {
    final byte[] bytes = new byte[BYTES];
    for (int i = 0; i < BYTES; i++) {
      bytes[i] = (byte) (bits >>> 8 * (BYTES - 1 - i));
    }
    return bytes;
  }

  /**
   * Returns whether the group bit is set (multicast and broadcast); no interface has such an
   * address.
   */
  public boolean isMulticast() {
    return (bits >>> 40 & 1) != 0;
  }

  @Override
  public int compareTo(MacAddress other) {
    return Long.compare(bits, other.bits);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof MacAddress that && bits == that.bits;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(bits);
  }

  /** {@code aa:bb:cc:dd:ee:ff}. */
  @Override
  public String toString() {
    final StringBuilder text = new StringBuilder(TEXT_LENGTH);
    for (int i = 0; i < BYTES; i++) {
      if (i > 0) {
        text.append(':');
      }
      final int b = (int) (bits >>> 8 * (BYTES - 1 - i)) & 0xff;
      text.append(Character.forDigit(b >>> 4, 16)).append(Character.forDigit(b & 0xf, 16));
    }
    return text.toString();
  }
}
