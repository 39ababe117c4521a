package agent.maps.btf.generator;

import java.util.Locale;

/** Names in Java of what has a name in C. */
final class JavaNames {
  private static final String FLYWEIGHT = "Flyweight";
  private static final String BIG_ENDIAN_SUFFIX = "_be";

  private JavaNames() {}

  /** Returns {@code PolicyFlag} for {@code policy_flag}. */
  static String type(String name) {
    final StringBuilder type = new StringBuilder();
    for (final String word : name.split("_")) {
      if (!word.isEmpty()) {
        type.append(Character.toUpperCase(word.charAt(0))).append(word, 1, word.length());
      }
    }
    return type.toString();
  }

  /** Returns {@code PolicyKeyFlyweight} for {@code policy_key}. */
  static String flyweight(String struct) {
    return type(struct) + FLYWEIGHT;
  }

  /** Returns {@code clientPort} for {@code client_port_be}, whose value Java sees in host order. */
  static String accessor(String member) {
    final String type = type(withoutByteOrder(member));
    return Character.toLowerCase(type.charAt(0)) + type.substring(1);
  }

  static boolean namesByteOrder(String member) {
    return member.endsWith(BIG_ENDIAN_SUFFIX);
  }

  private static String withoutByteOrder(String member) {
    return namesByteOrder(member)
        ? member.substring(0, member.length() - BIG_ENDIAN_SUFFIX.length())
        : member;
  }

  /** Returns {@code CLIENT_PORT_BE} for {@code client_port_be}. */
  static String constant(String member) {
    return member.toUpperCase(Locale.ROOT);
  }
}
