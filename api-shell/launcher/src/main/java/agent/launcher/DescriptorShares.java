package agent.launcher;

import agent.bindings.process.ProcessAttributes;
import agent.dns.proxy.DnsProxyContext;
import agent.l7proxy.HttpProxyContext;
import agent.node.DeviceSelection;
import agent.node.GuardedDevices;
import java.io.IOException;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntSupplier;
import java.util.stream.Stream;

/**
 * The shares of the descriptors of the process. What maps, links, programs, endpoints and state
 * need does not grow with the limit: where there are many, the HTTP proxy has what is left.
 *
 * @param api the most connections of API clients
 * @param dns the limits of the DNS proxy
 * @param http descriptors of the HTTP proxy
 */
record DescriptorShares(int api, DnsProxyContext.Limits dns, int http) {
  /** A quarter for API clients up to this many, then an eighth where that is more. */
  private static final long API_BY_QUARTER = 2_048;

  private static final long MOST_API = 16_384;

  /** The agent has about 250 of its own, and three for each endpoint. */
  private static final long MOST_OTHERS = 4_096;

  /** With this many the agent serves a few endpoints, both proxies and clients at once. */
  private static final long LEAST = 384;

  private static final int OF_ENDPOINT = 3;

  /** A guarded device has two links, and its programs while they are replaced. */
  private static final int OF_DEVICE = 4;

  private static final int FEW_DEVICES = 4;

  /** Below the need of so many, the devices are counted. */
  private static final int MANY_DEVICES = 1_024;

  private static final int FEW_ENDPOINTS = 8;

  /** Returns how many endpoints the state of the previous run has. */
  static int storedEndpoints(Path stateDirectory) {
    try (Stream<Path> files = Files.list(stateDirectory.resolve("endpoints"))) {
      return (int) files.filter(file -> file.toString().endsWith(".json")).count();
    } catch (IOException none) {
      return 0; // what cannot be read is reported when it is restored
    }
  }

  /**
   * Returns the devices that have programs of the agent: those that names and patterns select and
   * those that were found, as far as they are there.
   *
   * @param selection the option {@code --device}
   * @param others devices that other options name
   * @param found devices that are guarded without a name
   */
  static Set<String> devices(
      DeviceSelection selection, Collection<String> others, Collection<String> found) {
    final Set<String> devices = new TreeSet<>(found);
    try {
      NetworkInterface.networkInterfaces()
          .map(NetworkInterface::getName)
          .filter(name -> selection.names(name) || others.contains(name))
          .forEach(devices::add);
    } catch (SocketException none) {
      return devices; // the datapath reports it
    }
    return devices;
  }

  /** Returns the devices that have programs of an agent with these settings, as they are now. */
  static Set<String> devices(Settings settings) {
    final DeviceSelection selection = settings.deviceSelection();
    return devices(
        selection,
        settings.namedDevices().values(),
        GuardedDevices.ofKernel(selection).present().keySet());
  }

  /**
   * Returns the fewest descriptors with which an agent starts.
   *
   * @param endpoints how many it restores
   * @param devices how many it guards
   */
  static long least(int endpoints, int devices) {
    return LEAST
        + OF_ENDPOINT * (long) Math.max(0, endpoints - FEW_ENDPOINTS)
        + OF_DEVICE * (long) Math.max(0, devices - FEW_DEVICES);
  }

  /** Returns why this process may not have so many endpoints; empty where it may. */
  static Optional<String> obstacle(Settings settings, int endpoints, String where) {
    return obstacle(
        ProcessAttributes.descriptorLimit(), endpoints, where, () -> devices(settings).size());
  }

  /**
   * Returns why a process may not have so many endpoints, at its start and later; empty where it
   * may. One that has them can start again.
   *
   * @param limit of the process
   * @param where where the endpoints are, as the rest of a sentence
   * @param devices finds how many it guards
   */
  static Optional<String> obstacle(long limit, int endpoints, String where, IntSupplier devices) {
    if (limit >= least(endpoints, MANY_DEVICES)) {
      return Optional.empty();
    }
    final int guarded = devices.getAsInt();
    final long least = least(endpoints, guarded);
    if (limit >= least) {
      return Optional.empty();
    }
    return Optional.of(
        "the limit of open files is %d, but the agent needs %d%s%s (ulimit -n, LimitNOFILE=)"
            .formatted(
                limit,
                least,
                endpoints == 0 ? "" : ", with " + endpoints + " endpoints" + where,
                guarded > FEW_DEVICES ? ", with " + guarded + " devices" : ""));
  }

  /**
   * Divides a number of descriptors.
   *
   * @param limit of the process
   */
  static DescriptorShares of(long limit) {
    final long quarter = Math.min(limit / 4, API_BY_QUARTER);
    final long api = Math.min(Math.max(quarter, limit / 8), MOST_API);
    final DnsProxyContext.Limits dns = DnsProxyContext.Limits.within(limit);
    final long others = Math.min(limit / 8 * 3, MOST_OTHERS);
    final long http = limit - others - api - dns.sockets() - 2L * dns.connections();
    return new DescriptorShares(
        (int) api, dns, (int) Math.min(http, HttpProxyContext.MOST_DESCRIPTORS));
  }
}
