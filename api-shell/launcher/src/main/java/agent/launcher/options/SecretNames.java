package agent.launcher.options;

import java.util.Set;
import java.util.regex.Pattern;

/** Masks values whose names suggest a secret. */
public final class SecretNames {
  /** Stands for a value that may be secret. */
  private static final String MASK = "***";

  private static final Pattern SECRET =
      Pattern.compile(
          "secret|token|passw|passphrase|passwd|pwd|key|credential|auth|private|cert|cookie"
              + "|session|dsn|signature",
          Pattern.CASE_INSENSITIVE);

  /** The password of a URL (RFC 3986, section 3.2.1). */
  private static final Pattern USER = Pattern.compile("(?<=://)[^/@\\s]+(?=@)");

  /** Variables of options whose values are pairs, each of which may be secret. */
  private static final Set<String> PAIRS = Set.of("AGENT_KVSTORE_OPT", "AGENT_LOG_OPT");

  private SecretNames() {}

  /** Returns the value, or the mask where its name suggests a secret. */
  public static String masked(String name, String value) {
    return SECRET.matcher(name).find() || PAIRS.contains(name)
        ? MASK
        : USER.matcher(value).replaceAll(MASK);
  }
}
