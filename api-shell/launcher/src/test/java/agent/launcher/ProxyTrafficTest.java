package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.endpoint.EndpointPolicyModel.Counts;
import agent.contract.endpoint.EndpointPolicyModel.ProxyStatistics;
import agent.contract.endpoint.EndpointPolicyModel.Statistics;
import agent.datapath.spec.RedirectedFlow;
import agent.domain.proxy.RedirectBench;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.PolicyRedirect;
import agent.server.view.ProxyView.EndpointTraffic;
import agent.types.IpAddress;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is shown of the redirects of an endpoint. */
@Timeout(60)
class ProxyTrafficTest {
  private static final int ENDPOINT = 7;
  private static final Counts NONE = new Counts(0L, 0L, 0L, 0L);
  private static final Counts DENIED = new Counts(1L, 0L, 0L, 1L);
  private static final Counts UNREADABLE = new Counts(0L, 1L, 0L, 1L);

  private final RedirectBench bench = new RedirectBench();
  private final ProxyTraffic traffic = new ProxyTraffic(bench.proxies, bench);

  @AfterEach
  void close() {
    bench.close();
  }

  private int start(RedirectKind kind) throws Exception {
    bench.proxies.need(EnumSet.of(kind)).get(30, TimeUnit.SECONDS);
    return bench.proxies.firstPort(kind).orElseThrow();
  }

  private static ProxyStatistics shown(
      Integer proxyPort, String location, int port, String protocol, Counts requests) {
    return new ProxyStatistics(proxyPort, location, port, protocol, new Statistics(requests, NONE));
  }

  /**
   * Makes everything that comes to a proxy part of a flow of the endpoint that its policy
   * redirects.
   */
  private void open(RedirectKind kind, int protocol, int port) {
    final IpAddress address = IpAddress.parse("127.0.0.1");
    bench.redirected = kind;
    bench.flow = new RedirectedFlow(protocol, address, 40_000, 1000, ENDPOINT, address, port, 2, 0);
  }

  private static void get(int proxyPort) throws Exception {
    try (Socket socket = new Socket("127.0.0.1", proxyPort)) {
      socket.setSoTimeout(10_000);
      socket
          .getOutputStream()
          .write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      assertTrue(socket.getInputStream().read() >= 0);
    }
  }

  /** Sends 12 bytes, which are no question but are answered. */
  private static void ask(int proxyPort) throws Exception {
    try (DatagramSocket socket = new DatagramSocket()) {
      socket.setSoTimeout(10_000);
      socket.connect(InetAddress.getLoopbackAddress(), proxyPort);
      socket.send(new DatagramPacket(new byte[12], 12));
      socket.receive(new DatagramPacket(new byte[512], 512));
    }
  }

  @Test
  void shouldShowNothingWhereNoFlowGoesThroughAProxy() throws Exception {
    assertEquals(EndpointTraffic.NONE, traffic.of(ENDPOINT));
    start(RedirectKind.HTTP);
    assertEquals(EndpointTraffic.NONE, traffic.of(ENDPOINT));
  }

  @Test
  void shouldShowTheRedirectsOfThePolicyEachOnceAndInOrder() throws Exception {
    final int dns = start(RedirectKind.DNS);
    bench.redirects.put(
        ENDPOINT,
        List.of(
            new PolicyRedirect(PolicyDirection.EGRESS, RedirectKind.DNS, 6, 53, 53),
            new PolicyRedirect(PolicyDirection.EGRESS, RedirectKind.DNS, 17, 53, 53),
            new PolicyRedirect(PolicyDirection.EGRESS, RedirectKind.HTTP, 6, 0, 65_535),
            new PolicyRedirect(PolicyDirection.INGRESS, RedirectKind.HTTP, 6, 8_080, 8_081)));
    assertEquals(
        new EndpointTraffic(
            0,
            List.of(
                shown(null, "ingress", 8_080, "http", NONE),
                shown(null, "egress", 0, "http", NONE),
                shown(dns, "egress", 53, "dns", NONE))),
        traffic.of(ENDPOINT));
    assertEquals(EndpointTraffic.NONE, traffic.of(8));
    final int http = start(RedirectKind.HTTP);
    assertEquals(RedirectBench.REVISION, traffic.of(ENDPOINT).policyRevision());
    assertEquals(http, traffic.of(ENDPOINT).statistics().getFirst().allocatedProxyPort());
  }

  @Test
  void shouldShowWhatWasCountedAlsoAfterThePolicyHasGone() throws Exception {
    final int http = start(RedirectKind.HTTP);
    final int dns = start(RedirectKind.DNS);
    bench.redirects.put(
        ENDPOINT,
        List.of(
            new PolicyRedirect(PolicyDirection.EGRESS, RedirectKind.DNS, 17, 53, 53),
            new PolicyRedirect(PolicyDirection.EGRESS, RedirectKind.HTTP, 6, 80, 95)));
    open(RedirectKind.HTTP, 6, 85);
    get(http);
    open(RedirectKind.DNS, 17, 53);
    ask(dns);
    assertEquals(
        new EndpointTraffic(
            RedirectBench.REVISION,
            List.of(
                shown(dns, "egress", 53, "dns", UNREADABLE),
                shown(http, "egress", 80, "http", NONE),
                shown(http, "egress", 85, "http", DENIED))),
        traffic.of(ENDPOINT));
    bench.redirects.clear();
    assertEquals(
        new EndpointTraffic(
            0,
            List.of(
                shown(dns, "egress", 53, "dns", UNREADABLE),
                shown(http, "egress", 85, "http", DENIED))),
        traffic.of(ENDPOINT));
    bench.proxies.endpointRemoved(8);
    assertEquals(2, traffic.of(ENDPOINT).statistics().size());
    bench.proxies.endpointRemoved(ENDPOINT);
    assertEquals(EndpointTraffic.NONE, traffic.of(ENDPOINT));
  }
}
