package agent.launcher;

import agent.dns.proxy.DnsProxyContext;
import agent.l7proxy.HttpProxyContext;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
   * Returns the fewest descriptors with which an agent starts.
   *
   * @param endpoints how many it restores
   */
  static long least(int endpoints) {
    return LEAST + OF_ENDPOINT * (long) Math.max(0, endpoints - FEW_ENDPOINTS);
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
