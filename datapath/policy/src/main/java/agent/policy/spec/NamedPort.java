package agent.policy.spec;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A port of an endpoint that rules may mean by its name.
 *
 * @param name a service name in lower case, as {@link #name} returns it
 * @param port 1 to 65535
 * @param protocol {@code TCP}, {@code UDP} or {@code SCTP}
 */
public record NamedPort(String name, int port, String protocol) {
  private static final int LONGEST = 15;
  private static final Pattern SYNTAX =
      Pattern.compile("(?=.*[A-Za-z])[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*");

  /**
   * Returns a service name as it is compared: in lower case. RFC 6335 section 5.1: at most 15
   * letters, digits and hyphens, at least one letter, no hyphen at an end or beside another.
   *
   * @return empty where the text is no service name
   */
  public static Optional<String> name(String text) {
    return text.length() <= LONGEST && SYNTAX.matcher(text).matches()
        ? Optional.of(text.toLowerCase(Locale.ROOT))
        : Optional.empty();
  }
}
