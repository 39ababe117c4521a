package agent.launcher;

import agent.launcher.options.OptionException;
import agent.launcher.options.OptionValues;
import agent.launcher.options.ServedCheck;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Reads the options again while the agent runs. How the agent logs and how often it answers is
 * taken over, and what PATCH /config can change; everything else has formed maps, programs,
 * identities or addresses, and waits for the next start. A value that is not valid changes nothing.
 * For one thread.
 */
final class OptionReload {
  /** Options that change while the agent runs. */
  static final Set<String> LIVE =
      Set.of(
          "debug",
          "debug-verbose",
          "log-driver",
          "log-opt",
          "log-system-load",
          "proxy-engine-log",
          "enable-tracing",
          "enable-policy",
          "disable-conntrack",
          "monitor-aggregation",
          "api-rate-limit");

  private static final Logger LOGGER = LogManager.getLogger(OptionReload.class);

  private final OptionValues started;
  private final Supplier<OptionValues> source;
  private final Consumer<Settings> live;
  private OptionValues current;

  /**
   * Creates it without reading anything.
   *
   * @param started the options of the start
   * @param source reads command line, environment and file
   * @param live takes over the options of {@link #LIVE}; throws where it cannot, unchanged
   */
  OptionReload(OptionValues started, Supplier<OptionValues> source, Consumer<Settings> live) {
    this.started = started;
    this.source = source;
    this.live = live;
    current = started;
  }

  /** Reads the options, takes over what can change, and logs what cannot. */
  void run() {
    try {
      final OptionValues read = source.get();
      ServedCheck.check(read, (option, value) -> Optional.empty());
      final List<String> changed = new ArrayList<>(read.changedFrom(current));
      changed.retainAll(LIVE);
      if (!changed.isEmpty()) {
        final Settings settings = new Settings(read);
        settings.log();
        settings.rateLimits();
        live.accept(settings);
      }
      current = read;
      report(changed, read.changedFrom(started));
    } catch (OptionException | IllegalArgumentException e) {
      LOGGER.error("the options are not taken over: {}", e.getMessage());
    }
  }

  private static void report(List<String> changed, List<String> differing) {
    LOGGER.info("options read again: {}", changed.isEmpty() ? "none changed" : dashed(changed));
    final List<String> waiting = new ArrayList<>(differing);
    waiting.removeAll(LIVE);
    if (!waiting.isEmpty()) {
      LOGGER.warn("{} cannot change while the agent runs: restart it", dashed(waiting));
    }
  }

  private static String dashed(List<String> names) {
    return "--" + String.join(", --", names);
  }
}
