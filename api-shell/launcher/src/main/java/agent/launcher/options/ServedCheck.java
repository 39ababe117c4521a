package agent.launcher.options;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Holds a start to what this version serves: asking for more stops it, and a feature that the
 * kernel does not have either is named by the kernel's symbol.
 */
public final class ServedCheck {
  /** What a kernel lacks for a value of an option. */
  @FunctionalInterface
  public interface KernelProbe {
    /**
     * Tries the feature on the running kernel.
     *
     * @param option long name
     * @param value text of the value
     * @return the configuration symbol that is missing, or nothing where there is nothing to miss
     */
    Optional<String> missingSymbol(String option, String value);
  }

  private ServedCheck() {}

  /**
   * Checks all values.
   *
   * @param values what was asked
   * @param probe the running kernel
   * @return warnings: options that were named, are not served, and ask for nothing
   * @throws OptionException for the first option that asks for what is not there
   */
  public static List<String> check(final OptionValues values, final KernelProbe probe) {
    final List<String> warnings = new ArrayList<>();
    for (final AgentOption option : OptionTable.all()) {
      if (!values.isGiven(option.name())) {
        continue;
      }
      final Object value = values.value(option.name());
      final String shown = shown(option, value);
      final Object standard = OptionParser.parse(option, List.of(option.defaultText()));
      if (!value.equals(standard)) {
        final Optional<String> missing = probe.missingSymbol(option.name(), String.valueOf(value));
        if (missing.isPresent()) {
          throw new OptionException(shown + ": this kernel is built without " + missing.get());
        }
        if (!option.served() && !option.inert().contains(plain(value))) {
          throw new OptionException(shown + ": not served by this version");
        }
      } else if (!option.served() && !option.defaultText().isEmpty()) {
        warnings.add(shown + ": not served by this version, the default is taken as no wish");
      }
    }
    return warnings;
  }

  private static String elements(final List<?> list) {
    return list.stream().map(String::valueOf).collect(Collectors.joining(","));
  }

  private static String plain(final Object value) {
    return value instanceof List<?> list ? elements(list) : String.valueOf(value);
  }

  /** Values of MAP options may hold passwords, so they are not shown. */
  private static String shown(final AgentOption option, final Object value) {
    return switch (option.type()) {
      case BOOL -> "--" + option.name() + ((Boolean) value ? "" : "=false");
      case MAP -> "--" + option.name();
      case STRINGS -> "--" + option.name() + " " + elements((List<?>) value);
      default -> "--" + option.name() + " " + value;
    };
  }
}
