package agent.types;

/**
 * An address prefix in canonical form: the host bits are cleared. Immutable; ordered by address and
 * then by length, so that a prefix stands directly before what it covers.
 */
public final class Prefix implements Comparable<Prefix> {
  /** Every IPv4 address. */
  public static final Prefix ALL_IPV4 = of(IpAddress.ofIpv4(0), 0);

  /** Every IPv6 address. */
  public static final Prefix ALL_IPV6 = of(IpAddress.ofIpv6(0, 0), 0);

  private final IpAddress address;
  private final int length;

  private Prefix(IpAddress address, int length) {
    this.address = address;
    this.length = length;
  }

  /**
   * Returns the prefix that an address lies in.
   *
   * @param address any address of the prefix
   * @param length 0 to 32, or 0 to 128
   * @return the prefix, host bits cleared
   * @throws IllegalArgumentException where the length is out of range
   */
  public static Prefix of(IpAddress address, int length) {
    if (length < 0 || length > address.bitLength()) {
      throw new IllegalArgumentException(
          "prefix length " + length + " is not between 0 and " + address.bitLength());
    }
    return new Prefix(masked(address, length), length);
  }

  /** Returns the prefix that holds one address and nothing else. */
  public static Prefix of(IpAddress address) {
    return new Prefix(address, address.bitLength());
  }

  /**
   * Reads {@code address/length}; an address alone stands for itself. Host bits are cleared.
   *
   * @param text the prefix
   * @return the prefix
   * @throws Refusal INVALID without a field
   */
  public static Prefix parse(String text) {
    return parse("", text);
  }

  /**
   * Reads a prefix, and names the field in the refusal.
   *
   * @param field the field the text came from
   * @param text the prefix
   * @return the prefix
   * @throws Refusal INVALID, of that field
   */
  public static Prefix parse(String field, String text) {
    final int slash = text == null ? -1 : text.indexOf('/');
    final String head = text == null || slash < 0 ? text : text.substring(0, slash);
    final IpAddress address = head == null ? null : AddressText.read(head);
    if (address == null) {
      throw Refusal.invalid(field, "'" + text + "' is not a CIDR");
    }
    if (slash < 0) {
      return of(address);
    }
    final int length = lengthOf(text.substring(slash + 1));
    if (length < 0 || length > address.bitLength()) {
      throw Refusal.invalid(
          field,
          "'" + text + "' is not a CIDR: its length is not between 0 and " + address.bitLength());
    }
    return of(address, length);
  }

  private static int lengthOf(String text) {
    if (text.isEmpty() || text.length() > 3 || text.length() > 1 && text.charAt(0) == '0') {
      return -1;
    }
    int value = 0;
    for (int i = 0; i < text.length(); i++) {
      final char c = text.charAt(i);
      if (c < '0' || c > '9') {
        return -1;
      }
      value = value * 10 + c - '0';
    }
    return value;
  }

  private static IpAddress masked(IpAddress address, int length) {
    if (address.isIpv4()) {
      return IpAddress.ofIpv4((int) address.low() & (int) mask(length + 32));
    }
    return IpAddress.ofIpv6(
        address.high() & mask(Math.min(length, 64)), address.low() & mask(length - 64));
  }

  private static long mask(int bits) {
    return bits <= 0 ? 0L : -1L << 64 - bits;
  }

  /** Returns the first address, which is the network's. */
  public IpAddress address() {
    return address;
  }

  /** Returns the last address. */
  public IpAddress last() {
    if (isIpv4()) {
      return IpAddress.ofIpv4((int) address.low() | ~(int) mask(length + 32));
    }
    return IpAddress.ofIpv6(
        address.high() | ~mask(Math.min(length, 64)), address.low() | ~mask(length - 64));
  }

  /** Returns how many bits are fixed. */
  public int length() {
    return length;
  }

  /** Returns whether this is an IPv4 prefix. */
  public boolean isIpv4() {
    return address.isIpv4();
  }

  /** Returns whether this is an IPv6 prefix. */
  public boolean isIpv6() {
    return address.isIpv6();
  }

  /** Returns whether it holds exactly one address. */
  public boolean isSingleAddress() {
    return length == address.bitLength();
  }

  /** Returns whether the address lies in this prefix; never across families. */
  public boolean contains(IpAddress other) {
    return other.isIpv4() == isIpv4() && masked(other, length).equals(address);
  }

  /** Returns whether every address of the other prefix lies in this one; a prefix covers itself. */
  public boolean covers(Prefix other) {
    return other.length >= length && contains(other.address);
  }

  /** Returns whether the two have an address in common. */
  public boolean overlaps(Prefix other) {
    return covers(other) || other.covers(this);
  }

  @Override
  public int compareTo(Prefix other) {
    final int first = address.compareTo(other.address);
    return first != 0 ? first : Integer.compare(length, other.length);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Prefix that && length == that.length && address.equals(that.address);
  }

  @Override
  public int hashCode() {
    return 31 * address.hashCode() + length;
  }

  /** {@code address/length}, always with the length. */
  @Override
  public String toString() {
    return address + "/" + length;
  }
}
