package agent.types;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/**
 * An IPv4 or IPv6 address. An IPv4-mapped IPv6 address stays an IPv6 address. Immutable; ordered by
 * family (IPv4 first) and then by number.
 */
public final class IpAddress implements Comparable<IpAddress> {
  /** Bits of an IPv4 address. */
  public static final int IPV4_BITS = 32;

  /** Bits of an IPv6 address. */
  public static final int IPV6_BITS = 128;

  private static final int LOOPBACK_NETWORK = 127;

  /** The first multicast network; those behind it are reserved. */
  private static final int MULTICAST_FIRST = 224;

  private static final int IPV6_MULTICAST = 0xff;

  /** The third word of an IPv4-mapped address. */
  private static final int MAPPED = 0xffff;

  private static final int NO_SCOPE = -1;

  private final boolean ipv4;
  private final long high;
  private final long low;

  private IpAddress(boolean ipv4, long high, long low) {
    this.ipv4 = ipv4;
    this.high = high;
    this.low = low;
  }

  /**
   * Returns the IPv4 address with this number.
   *
   * @param bits the address in host order: {@code 0x0a000001} is {@code 10.0.0.1}
   * @return the address
   */
  public static IpAddress ofIpv4(int bits) {
    return new IpAddress(true, 0L, Integer.toUnsignedLong(bits));
  }

  /**
   * Returns the IPv6 address with this number.
   *
   * @param high the first eight bytes, in host order
   * @param low the last eight bytes, in host order
   * @return the address
   */
  public static IpAddress ofIpv6(long high, long low) {
    return new IpAddress(false, high, low);
  }

  /**
   * Returns the address with these bytes.
   *
   * @param bytes 4 or 16 bytes in network order; copied
   * @return the address
   * @throws IllegalArgumentException for another length
   */
  public static IpAddress of(byte[] bytes) {
    if (bytes.length == 4) {
      return ofIpv4((int) number(bytes, 0, 4));
    }
    if (bytes.length == 16) {
      return ofIpv6(number(bytes, 0, 8), number(bytes, 8, 8));
    }
    throw new IllegalArgumentException("an address has 4 or 16 bytes, not " + bytes.length);
  }

  /** Returns the address in a field of two words, where one of IPv4 has the first four bytes. */
  public static IpAddress ofWords(boolean isIpv4, long high, long low) {
    return isIpv4 ? ofIpv4((int) (high >>> Integer.SIZE)) : ofIpv6(high, low);
  }

  /**
   * Reads an address strictly: four decimal numbers without leading zeros, or the forms of RFC 4291
   * section 2.2. No names, no zone ids, no octal, no spaces.
   *
   * @param text the address
   * @return the address
   * @throws Refusal INVALID without a field
   */
  public static IpAddress parse(String text) {
    return parse("", text);
  }

  /**
   * Reads an address strictly, and names the field in the refusal.
   *
   * @param field the field the text came from
   * @param text the address
   * @return the address
   * @throws Refusal INVALID, of that field
   */
  public static IpAddress parse(String field, String text) {
    final IpAddress address = text == null ? null : AddressText.read(text);
    if (address == null) {
      throw Refusal.invalid(field, "'" + text + "' is not " + expected(text));
    }
    return address;
  }

  private static String expected(String text) {
    if (text != null && text.indexOf(':') >= 0) {
      return "an IPv6 address";
    }
    return text != null && text.indexOf('.') >= 0 ? "an IPv4 address" : "an IP address";
  }

  private static long number(byte[] bytes, int offset, int count) {
    long value = 0;
    for (int i = 0; i < count; i++) {
      value = value << 8 | bytes[offset + i] & 0xff;
    }
    return value;
  }

  /** Returns whether this is an IPv4 address. */
  public boolean isIpv4() {
    return ipv4;
  }

  /** Returns whether this is an IPv6 address. */
  public boolean isIpv6() {
    return !ipv4;
  }

  /** Returns whether it is {@code 0.0.0.0} or {@code ::}. */
  public boolean isUnspecified() {
    return high == 0 && low == 0;
  }

  /** 32 or 128. */
  public int bitLength() {
    return ipv4 ? IPV4_BITS : IPV6_BITS;
  }

  /** Returns the first eight bytes of an IPv6 address in host order; 0 for IPv4. */
  public long high() {
    return high;
  }

  /**
   * Returns the last eight bytes of an IPv6 address, or the 32 bits of an IPv4 address, in host
   * order.
   */
  public long low() {
    return low;
  }

  /**
   * Returns whether a host may have it on the wire (RFC 1122, section 3.2.1.3; RFC 4291, section
   * 2.5): it is not unspecified, loopback, multicast, broadcast, of 0/8 or 240/4, IPv4-mapped or
   * IPv4-compatible. The programs judge by the same ranges ({@code lib/host_address.h}).
   */
  public boolean isOfHost() {
    if (ipv4) {
      final int network = (int) (low >>> 24);
      return network != 0 && network != LOOPBACK_NETWORK && network < MULTICAST_FIRST;
    }
    if (high == 0) {
      final long third = low >>> 32;
      return third != 0 && third != MAPPED;
    }
    return high >>> 56 != IPV6_MULTICAST;
  }

  /**
   * Returns this address as the platform has it. An IPv4-mapped address stays one of IPv6, where
   * {@link InetAddress#getByAddress(byte[])} returns one of IPv4.
   */
  public InetAddress toInetAddress() {
    try {
      return ipv4
          ? InetAddress.getByAddress(toBytes())
          : Inet6Address.getByAddress(null, toBytes(), NO_SCOPE);
    } catch (UnknownHostException e) {
      throw new IllegalStateException(e); // an address has 4 or 16 bytes
    }
  }

  /**
   * Returns this address with a port, for a socket.
   *
   * @throws IllegalArgumentException for an IPv4-mapped address: the kernel takes it for IPv4
   */
  public InetSocketAddress withPort(int port) {
    if (isMapped()) {
      throw new IllegalArgumentException(this + ": no socket may have an IPv4-mapped address");
    }
    return new InetSocketAddress(toInetAddress(), port);
  }

  private boolean isMapped() {
    return !ipv4 && high == 0 && low >>> 32 == MAPPED;
  }

  /** Returns a new array of 4 or 16 bytes in network order. */
  public byte[] toBytes() {
    final byte[] bytes = new byte[bitLength() / 8];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = byteAt(i);
    }
    return bytes;
  }

  /**
   * One byte of the address, in network order.
   *
   * @param index 0 to 3, or 0 to 15
   * @return the byte
   */
  public byte byteAt(int index) {
    final int shift = bitLength() - 8 * (index + 1);
    return (byte) (shift >= 64 ? high >>> shift - 64 : low >>> shift);
  }

  /**
   * Returns the address plus an offset, with carry over all bits.
   *
   * @param offset the number to add; may be negative
   * @return the address, wrapped at the end of the family's range
   */
  public IpAddress plus(long offset) {
    if (ipv4) {
      return ofIpv4((int) (low + offset));
    }
    final long sum = low + offset;
    final long carry = offset >= 0 ? Long.compareUnsigned(sum, low) < 0 ? 1 : 0 : 0;
    final long borrow = offset < 0 ? Long.compareUnsigned(sum, low) > 0 ? 1 : 0 : 0;
    return ofIpv6(high + carry - borrow, sum);
  }

  @Override
  public int compareTo(IpAddress other) {
    if (ipv4 != other.ipv4) {
      return ipv4 ? -1 : 1;
    }
    final int first = Long.compareUnsigned(high, other.high);
    return first != 0 ? first : Long.compareUnsigned(low, other.low);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof IpAddress that
        && ipv4 == that.ipv4
        && high == that.high
        && low == that.low;
  }

  @Override
  public int hashCode() {
    return 31 * (31 * Boolean.hashCode(ipv4) + Long.hashCode(high)) + Long.hashCode(low);
  }

  /** Returns the form of RFC 5952: lower case, the longest run of zero groups as {@code ::}. */
  @Override
  public String toString() {
    return AddressText.write(this);
  }
}
