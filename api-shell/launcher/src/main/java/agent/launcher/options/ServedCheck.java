package agent.launcher.options;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Refuses options that this version does not serve; where the kernel lacks the feature, too, the
 * message names the configuration symbol of the kernel.
 */
public final class ServedCheck {
  /** Finds the configuration symbol that the kernel lacks for a value of an option. */
  @FunctionalInterface
  public interface KernelProbe {
    /**
     * Tries the feature on the running kernel.
     *
     * @param option long name
     * @param value text of the value
     * @return the configuration symbol that is missing; empty where none is missing or none is
     *     needed
     */
    Optional<String> missingSymbol(String option, String value);
  }

  private ServedCheck() {}

  /**
   * Checks all values that were given. To name a default, or to turn off what this version does not
   * have, asks for nothing.
   *
   * @param values the options
   * @param probe the running kernel
   * @throws OptionException for the first option that requests a feature that is not served
   */
  public static void check(OptionValues values, KernelProbe probe) {
    for (final AgentOption option : OptionTable.all()) {
      if (values.isGiven(option.name()) && !values.isDefault(option.name())) {
        check(option, values.value(option.name()), probe);
      }
    }
  }

  private static void check(AgentOption option, Object value, KernelProbe probe) {
    final Optional<String> missing = probe.missingSymbol(option.name(), String.valueOf(value));
    if (missing.isPresent()) {
      throw new OptionException(
          shown(option, value) + ": this kernel is built without " + missing.get());
    }
    if (!option.served() && !option.inert().contains(plain(value))) {
      throw new OptionException(
          "%s: requires %s, which this version does not support"
              .formatted(shown(option, value), option.needs()));
    }
  }

  private static String elements(List<?> list) {
    return list.stream().map(String::valueOf).collect(Collectors.joining(","));
  }

  private static String plain(Object value) {
    return value instanceof List<?> list ? elements(list) : String.valueOf(value);
  }

  /** Values of MAP options may hold passwords, so they are not shown. */
  private static String shown(AgentOption option, Object value) {
    return switch (option.type()) {
      case BOOL -> "--" + option.name() + ((Boolean) value ? "" : "=false");
      case MAP -> "--" + option.name();
      case STRINGS -> "--" + option.name() + " " + elements((List<?>) value);
      default -> "--" + option.name() + " " + value;
    };
  }
}
