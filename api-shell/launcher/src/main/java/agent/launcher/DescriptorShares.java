package agent.launcher;

import agent.dns.proxy.DnsProxyContext;
import agent.l7proxy.HttpProxyContext;

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
