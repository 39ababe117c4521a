package agent.node;

import agent.types.Refusal;

/** Checks names of network interfaces that come from requests. */
public final class InterfaceName {
  /** The longest name in bytes: IFNAMSIZ less the terminating NUL ({@code linux/if.h}). */
  public static final int MAX_LENGTH = 15;

  private InterfaceName() {}

  /**
   * Checks a name before it is used in a path below {@code /proc/sys/net} or in the path of a pin.
   * The kernel's rule ({@code dev_valid_name}, net/core/dev.c) refuses the empty name, names longer
   * than {@link #MAX_LENGTH} bytes, {@code .} and {@code ..}, slashes, colons and white space. This
   * method also refuses what an operator would have to quote when a message names the interface:
   * control characters, characters beyond ASCII, quotes, backslashes, {@code #} and a leading
   * {@code -}.
   *
   * @param field the field of the request
   * @param name the name
   * @return the same name
   * @throws Refusal INVALID, of that field
   */
  public static String check(String field, String name) {
    if (name == null || name.isEmpty()) {
      throw Refusal.invalid(field, "is missing");
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
