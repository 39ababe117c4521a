package agent.launcher;

import agent.dns.DnsNameResolver;
import agent.dns.NameResolver;
import agent.dns.NameStore;
import agent.dns.NamesContext;
import agent.dns.ResolverFile;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionPath;
import agent.launcher.options.OptionValues;
import agent.node.NodeAddressing;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Converts the options of names to their context. */
final class NameOptions {
  private static final long LEAST_TTL_OF_POLLER_SEC = 3_600;
  private static final int MOST_HELD = 10_000;
  private static final Path RESOLVER_FILE = Path.of("/etc/resolv.conf");
  private static final Duration SERVER_TIMEOUT = Duration.ofSeconds(2);

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
   * Returns the context of the names.
   *
   * @param selected whether a rule selects a name; any thread asks
   * @throws OptionException where the file of names cannot be read
   */
  NamesContext context(NodeAddressing addressing, NameStore store, Predicate<String> selected) {
    final NamesContext context =
        new NamesContext()
            .store(store)
            .selected(selected)
            .leastTtl(Duration.ofSeconds(leastTtlSec()))
            .mostAddresses(mostAddresses())
            .mostHeld(MOST_HELD);
    preCache().ifPresent(file -> context.preloaded(NameFileReader.read(file)));
    if (polls()) {
      context.resolver(resolver(addressing, new ResolverFile(RESOLVER_FILE)));
    }
    return context.conclude();
  }

  /** Returns what asks these servers for addresses of the families that the node has. */
  static NameResolver resolver(
      NodeAddressing addressing, Supplier<List<InetSocketAddress>> servers) {
    return new DnsNameResolver(
        servers, addressing.ipv4().enabled(), addressing.ipv6().enabled(), SERVER_TIMEOUT);
  }
}
