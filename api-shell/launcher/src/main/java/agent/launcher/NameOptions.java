package agent.launcher;

import agent.dns.NamesContext;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionPath;
import agent.launcher.options.OptionValues;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** Converts the options of names to their context. */
final class NameOptions {
  private static final long LEAST_TTL_OF_POLLER_SEC = 3_600;
  private static final int MOST_HELD = 10_000;

  private final OptionValues options;

  NameOptions(OptionValues options) {
    this.options = options;
  }

  /** Whether the agent looks up the names of rules. */
  boolean polls() {
    return options.bool("tofqdns-enable-poller");
  }

  /** Whether the answers of the poller are events. */
  boolean tellsLookups() {
    return options.bool("tofqdns-enable-poller-events");
  }

  /** Returns {@code --tofqdns-min-ttl}, whose default depends on the poller. */
  long leastTtlSec() {
    return polls() && options.isDefault(NamesContext.LEAST_TTL.name())
        ? LEAST_TTL_OF_POLLER_SEC
        : options.number(NamesContext.LEAST_TTL);
  }

  int mostAddresses() {
    return options.number(NamesContext.ADDRESSES);
  }

  /** Returns the file of names that are there at the start. */
  Optional<Path> preCache() {
    return OptionPath.ofOptional(NameFileReader.OPTION, options.text(NameFileReader.OPTION));
  }

  /**
   * Returns the context of the names as far as options say it; it is not concluded.
   *
   * @throws OptionException where the file of names cannot be read
   */
  NamesContext context() {
    final NamesContext context =
        new NamesContext()
            .leastTtl(Duration.ofSeconds(leastTtlSec()))
            .mostAddresses(mostAddresses())
            .mostHeld(MOST_HELD);
    preCache().ifPresent(file -> context.preloaded(NameFileReader.read(file)));
    return context;
  }
}
