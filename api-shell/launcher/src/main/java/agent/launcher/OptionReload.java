package agent.launcher;

import agent.launcher.options.OptionException;
import agent.launcher.options.OptionTable;
import agent.launcher.options.OptionValues;
import agent.launcher.options.ServedCheck;
import java.util.List;
import java.util.Optional;
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
   * @param live takes over the options that are live; throws where it cannot, unchanged
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
      final List<String> changed = changed(read, current, true);
      if (!changed.isEmpty()) {
        final Settings settings = new Settings(read);
        settings.log();
        settings.rateLimits();
        live.accept(settings);
      }
      current = read;
      report(changed, changed(read, started, false));
    } catch (OptionException | IllegalArgumentException e) {
      LOGGER.error("options not reloaded: {}", e.getMessage());
    }
  }

  private static List<String> changed(OptionValues read, OptionValues before, boolean isLive) {
    return read.changedFrom(before).stream()
        .filter(name -> OptionTable.byName(name).isLive() == isLive)
        .toList();
  }

  private static void report(List<String> changed, List<String> waiting) {
    LOGGER.info("options reloaded: {}", changed.isEmpty() ? "no change" : dashed(changed));
    if (!waiting.isEmpty()) {
      LOGGER.warn("{} takes effect only after a restart of the agent", dashed(waiting));
    }
  }

  private static String dashed(List<String> names) {
    return "--" + String.join(", --", names);
  }
}
