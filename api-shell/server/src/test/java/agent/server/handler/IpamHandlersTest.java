package agent.server.handler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.ipam.AddressPool;
import agent.ipam.Ipam;
import agent.ipam.IpamContext;
import agent.ipam.Lease;
import agent.server.ApiHandler;
import agent.server.Route;
import agent.server.TestServer;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** POST /ipam with both families: the header {@code expiration} and the timers of the answer. */
@Timeout(60)
class IpamHandlersTest {
  private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");

  private final AtomicInteger timers = new AtomicInteger();
  private final Ipam ipam =
      Ipam.open(
          new IpamContext()
              .pool(
                  new AddressPool(
                      AddressPool.DEFAULT,
                      List.of(Prefix.parse("10.1.0.0/24"), Prefix.parse("fd00::/96"))))
              .gateways(IpAddress.parse("10.1.0.1"), IpAddress.parse("fd00::1"))
              .uuids(() -> "timer-" + timers.incrementAndGet())
              .clock(() -> NOON)
              .conclude());
  private TestServer server;

  @BeforeEach
  void start() throws IOException {
    final Map<Route, ApiHandler> handlers = new EnumMap<>(Route.class);
    new IpamHandlers(ipam, FakeEndpoints.NODE).addTo(handlers);
    server = TestServer.ofAgent(handlers);
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  @Test
  void shouldRunATimerForEachFamilyWhereTheHeaderIsTrue() throws IOException {
    for (final String value : List.of("true", "True", "")) {
      timers.set(0);
      final JsonNode answer = created("expiration: " + value + "\r\n");
      assertEquals("timer-1", answer.at("/ipv4/expiration-uuid").asString(), value);
      assertEquals("timer-2", answer.at("/ipv6/expiration-uuid").asString(), value);
      assertEquals("timer-1", answer.at("/address/ipv4-expiration-uuid").asString(), value);
      assertEquals("timer-2", answer.at("/address/ipv6-expiration-uuid").asString(), value);
    }
    assertEquals(6, ipam.leases().size());
    for (final Lease lease : ipam.leases()) {
      assertEquals(NOON.plus(Duration.ofMinutes(10)), lease.expiresAt());
    }
  }

  @Test
  void shouldRunNoTimerWhereTheHeaderIsFalseOrAbsent() throws IOException {
    for (final String header : List.of("", "expiration: false\r\n", "expiration: FALSE\r\n")) {
      final JsonNode answer = created(header);
      assertFalse(answer.toString().contains("expiration"), answer.toString());
    }
    assertEquals(6, ipam.leases().size());
    assertTrue(ipam.leases().stream().noneMatch(Lease::isExpiring));
    assertEquals(0, timers.get());
  }

  @Test
  void shouldRefuseAHeaderThatIsNeither() throws IOException {
    for (final String value : List.of("yes", "1", "truefalse", "10m")) {
      final String answer = post("expiration: " + value + "\r\n");
      assertTrue(answer.startsWith("HTTP/1.1 400 "), answer);
      assertTrue(
          answer.endsWith("\"expiration: '" + value + "' is neither true nor false\""), answer);
    }
    assertEquals(List.of(), ipam.leases());
  }

  @Test
  void shouldGiveEachFamilyItsOwnAddressGatewayAndPrefixes() throws IOException {
    final JsonNode answer = created("");
    assertEquals("10.1.0.2", answer.at("/address/ipv4").asString());
    assertEquals("fd00::2", answer.at("/address/ipv6").asString());
    assertEquals("default", answer.at("/address/ipv4-pool-name").asString());
    assertEquals("default", answer.at("/address/ipv6-pool-name").asString());
    assertEquals("10.1.0.2", answer.at("/ipv4/ip").asString());
    assertEquals("10.1.0.1", answer.at("/ipv4/gateway").asString());
    assertEquals("[\"10.1.0.0/24\"]", answer.at("/ipv4/cidrs").toString());
    assertEquals("fd00::2", answer.at("/ipv6/ip").asString());
    assertEquals("fd00::1", answer.at("/ipv6/gateway").asString());
    assertEquals("[\"fd00::/96\"]", answer.at("/ipv6/cidrs").toString());
    assertEquals("192.0.2.1", answer.at("/host-addressing/ipv4/ip").asString());
  }

  private String post(String header) throws IOException {
    return server.exchange(
        "POST /ipam HTTP/1.1\r\nHost: x\r\n" + header + "Content-Length: 0\r\n\r\n");
  }

  private JsonNode created(String header) throws IOException {
    final String answer = post(header);
    assertTrue(answer.startsWith("HTTP/1.1 201 "), answer);
    return new JsonMapper().readTree(answer.substring(answer.indexOf("\r\n\r\n") + 4));
  }
}
