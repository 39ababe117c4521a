package agent.node;

import agent.types.Refusal;

/** Which names of a request may stand for a network interface. */
public final class InterfaceName {
  /** Longest name in bytes: IFNAMSIZ less the terminating NUL ({@code linux/if.h}). */
  public static final int MAX_LENGTH = 15;

  private InterfaceName() {}

  /**
   * Checks a name before it reaches a path or a command. Narrower than the kernel's own rule
   * ({@code dev_valid_name}): what {@code ip -batch} would read as a quote, a comment or an escape
   * is refused as well.
   *
   * @param field the field of the request
   * @param name the name
   * @return the same name
   * @throws Refusal INVALID, of that field
   */
  public static String check(String field, String name) {
    if (name == null || name.isEmpty()) {
      throw Refusal.invalid(field, "an interface name is needed");
    }
    if (name.length() > MAX_LENGTH) {
      throw Refusal.invalid(
          field, "'" + printable(name) + "' is longer than " + MAX_LENGTH + " characters");
    }
    if (name.equals(".") || name.equals("..") || name.startsWith("-")) {
      throw Refusal.invalid(field, "'" + name + "' is not an interface name");
    }
    for (int i = 0; i < name.length(); i++) {
      final char c = name.charAt(i);
      if (c <= ' ' || c >= 0x7f || "/:'\"\\#".indexOf(c) >= 0) {
        throw Refusal.invalid(
            field, "'" + printable(name) + "' is not an interface name: character " + shown(c));
      }
    }
    return name;
  }

  private static String printable(String name) {
    final String head = name.length() > 64 ? name.substring(0, 64) + "..." : name;
    return head.replaceAll("[\\p{Cntrl}]", "?");
  }

  private static String shown(char c) {
    return c > ' ' && c < 0x7f ? "'" + c + "'" : String.format("U+%04X", (int) c);
  }
}
