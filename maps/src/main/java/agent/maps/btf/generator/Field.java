package agent.maps.btf.generator;

/**
 * A member of a struct, with those of unnamed structs and unions in their place.
 *
 * @param name in C; behind that of an unnamed struct and {@code _}, where it is a member of one
 * @param declaration of its type in C
 * @param offset in bytes; of a bit field, that of the word that holds it
 * @param count of the elements of an array; 0 for other members
 * @param kind what Java reads and writes
 */
record Field(String name, String declaration, int offset, int count, Kind kind) {

  /** What Java reads and writes. */
  sealed interface Kind {}

  /**
   * An unsigned number, or an array of them.
   *
   * @param bytes 1, 2, 4 or 8
   */
  record Number(int bytes, boolean isBigEndian) implements Kind {}

  /** Bits of a word of 32. */
  record Bits(int shift, int width) implements Kind {}

  /** A byte that is 0 or 1. */
  record Flag() implements Kind {}

  /** Six octets: the lower 48 bits of a long, the first octet most significant. */
  record Mac() implements Kind {}

  /** Four octets: an int, the first octet most significant. */
  record Ipv4() implements Kind {}

  /** Sixteen octets: two longs, the first octet most significant. */
  record Ipv6() implements Kind {}

  /** A struct that has a flyweight of its own. */
  record Nested(String struct) implements Kind {}

  /** Bytes without a meaning. */
  record Reserved() implements Kind {}

  /** Returns the declaration as C writes it. */
  String inC() {
    final String bits = kind instanceof Bits(int _, int width) ? " : " + width : "";
    return declaration + ' ' + name + (count > 0 ? "[" + count + "]" : bits);
  }
}
