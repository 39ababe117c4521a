package agent.launcher.options;

import agent.types.Prefix;
import agent.types.Refusal;

/**
 * The option {@code --nat46-range}: an IPv6 prefix of 96 bits, after which an address has an IPv4
 * address (RFC 6052). The IPv4-mapped addresses of the default stand for IPv4 in the interface of
 * sockets, and no packet has one (RFC 4291, section 2.5.5.2), so that they translate nothing.
 */
public final class Nat46Range {
  private static final String OPTION = "nat46-range";
  private static final int BITS = 96;
  private static final Prefix MAPPED = Prefix.parse("::ffff:0:0/96");

  private Nat46Range() {}

  /**
   * Returns the range whose addresses are translated, or null where none are.
   *
   * @throws OptionException where the option has no prefix of 96 bits, or a family is off
   */
  public static Prefix of(OptionValues options) {
    final String text = options.text(OPTION);
    final Prefix range = parsed(text);
    if (range.isIpv4() || range.length() != BITS) {
      throw new OptionException(
          "--" + OPTION + ": '" + text + "' is not an IPv6 prefix of 96 bits");
    }
    if (range.equals(MAPPED)) {
      return null;
    }
    if (!options.bool("enable-ipv4") || !options.bool("enable-ipv6")) {
      throw new OptionException(
          "--" + OPTION + " " + text + ": requires --enable-ipv4 and --enable-ipv6");
    }
    return range;
  }

  private static Prefix parsed(String text) {
    try {
      return Prefix.parse(OPTION, text);
    } catch (Refusal e) {
      throw new OptionException("--" + e.getMessage());
    }
  }
}
