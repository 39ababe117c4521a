package agent.maps.btf.generator;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Names in Java of what has a name in C. */
public final class JavaNames {
  private static final String FLYWEIGHT = "Flyweight";
  private static final String BIG_ENDIAN_SUFFIX = "_be";

  private JavaNames() {}

  /** Returns {@code PolicyFlag} for {@code policy_flag}. */
  public static String type(String name) {
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

  /**
   * Returns what Java leaves out at the start of each constant of an enum: the words that all of
   * them share and that the enum's name has. At least one word of each stays.
   */
  public static String prefix(String enumeration, List<String> constants) {
    final List<String> own = List.of(enumeration.toUpperCase(Locale.ROOT).split("_"));
    final String[] words = constants.getFirst().split("_");
    int shared = 0;
    while (own.contains(words[shared]) && isShared(constants, words, shared)) {
      shared++;
    }
    return shared == 0 ? "" : String.join("_", Arrays.copyOf(words, shared)) + "_";
  }

  private static boolean isShared(List<String> constants, String[] words, int index) {
    return constants.stream()
        .map(constant -> constant.split("_"))
        .allMatch(other -> index < other.length - 1 && other[index].equals(words[index]));
  }
}
