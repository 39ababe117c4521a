package agent.server.handler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.client.AgentClient;
import agent.client.AgentException;
import agent.contract.fqdn.FqdnLookupModel;
import agent.dns.NameLookup;
import agent.dns.NameResolver;
import agent.dns.NameStore;
import agent.dns.Names;
import agent.dns.NamesContext;
import agent.server.ApiHandler;
import agent.server.Route;
import agent.server.TestServer;
import agent.types.IpAddress;
import java.io.IOException;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The routes of names on a server. */
class FqdnHandlersTest {
  private static final Instant START = Instant.parse("2100-11-20T10:00:00Z");

  private final NameStore store = NameStore.inMemory();
  private Names names;
  private TestServer server;
  private AgentClient client;

  private static NameLookup lookup(String name, NameLookup.Source source, String... addresses) {
    return new NameLookup(
        name,
        java.util.Arrays.stream(addresses).map(IpAddress::parse).toList(),
        300,
        START,
        START.plusSeconds(3600),
        source);
  }

  @BeforeEach
  void start() throws IOException {
    store.save(
        List.of(
            lookup("www.example.com.", NameLookup.Source.LOOKUP, "192.0.2.7", "2001:db8::7"),
            lookup("www.example.org.", NameLookup.Source.PRECACHE, "198.51.100.7")));
    names = Names.open(new NamesContext().store(store).conclude());
    names.start(changed -> CompletableFuture.completedFuture(null), Set::of, (name, answer) -> {});
    final Map<Route, ApiHandler> handlers = new EnumMap<>(Route.class);
    new FqdnHandlers(names, new FakeEndpoints()).addTo(handlers);
    server = TestServer.ofAgent(handlers);
    client = AgentClient.of(server.socket().toString());
  }

  @AfterEach
  void stop() throws IOException {
    client.close();
    server.close();
    names.close();
  }

  private static List<String> fqdns(List<FqdnLookupModel> lookups) {
    return lookups.stream().map(FqdnLookupModel::fqdn).toList();
  }

  private static void assertRefused(int status, String message, Executable call) {
    final AgentException refused = assertThrows(AgentException.class, call);
    assertEquals(status + " " + message, refused.status() + " " + refused.getMessage());
  }

  @Test
  void shouldShowEveryPartOfALookup() throws IOException {
    assertEquals(
        List.of(
            new FqdnLookupModel(
                null,
                "2100-11-20T11:00:00.000Z",
                "www.example.com.",
                List.of("192.0.2.7", "2001:db8::7"),
                "2100-11-20T10:00:00.000Z",
                "lookup",
                300L),
            new FqdnLookupModel(
                null,
                "2100-11-20T11:00:00.000Z",
                "www.example.org.",
                List.of("198.51.100.7"),
                "2100-11-20T10:00:00.000Z",
                "precache",
                300L)),
        client.names(null, null));
  }

  @Test
  void shouldShowWhatMatches() throws IOException {
    assertEquals(List.of("www.example.com."), fqdns(client.names("*.EXAMPLE.com", null)));
    assertEquals(List.of("www.example.com."), fqdns(client.names(null, "2001:db8::/32")));
    assertEquals(List.of("www.example.org."), fqdns(client.names("*", "198.51.100.0/24")));
    assertRefused(404, "cidr: no name matches", () -> client.names("*.example.com", "10.0.0.0/8"));
    assertRefused(404, "matchpattern: no name matches", () -> client.names("example.com", null));
    assertRefused(
        400,
        "matchpattern: 'a..b' is not a pattern of DNS names",
        () -> client.names("a..b", null));
    assertRefused(400, "cidr: 'x' is not a CIDR", () -> client.names(null, "x"));
  }

  @Test
  void shouldKnowNoLookupOfAnEndpoint() throws IOException {
    assertEquals(List.of(), client.namesOfEndpoint("7", null, null));
    assertRefused(
        404,
        "id: no lookup of endpoint agent-local:7 matches",
        () -> client.namesOfEndpoint("7", "*", null));
    assertRefused(
        404,
        "id: no lookup of endpoint agent-local:7 matches",
        () -> client.namesOfEndpoint("7", null, "::/0"));
    assertEquals(
        400,
        assertThrows(AgentException.class, () -> client.namesOfEndpoint("7", "a..b", null))
            .status());
    assertEquals(
        400,
        assertThrows(AgentException.class, () -> client.namesOfEndpoint("x:y", null, null))
            .status());
    assertEquals(
        404,
        assertThrows(AgentException.class, () -> client.namesOfEndpoint("99", null, null))
            .status());
  }

  @Test
  void shouldShowWhatAnEndpointLookedUp() throws Exception {
    for (final String name : List.of("b.example.com.", "a.example.org.")) {
      names
          .found(7, name, new NameResolver.Resolved(List.of(IpAddress.parse("192.0.2.9")), 60))
          .get(10, TimeUnit.SECONDS);
    }
    names
        .found(
            8,
            "c.example.com.",
            new NameResolver.Resolved(List.of(IpAddress.parse("192.0.2.9")), 60))
        .get(10, TimeUnit.SECONDS);
    final List<FqdnLookupModel> own = client.namesOfEndpoint("7", null, null);
    assertEquals(List.of("a.example.org.", "b.example.com."), fqdns(own));
    assertEquals(7L, own.getFirst().endpointId());
    assertEquals(60L, own.getFirst().ttl());
    assertEquals(List.of("b.example.com."), fqdns(client.namesOfEndpoint("7", "*.*.com", null)));
    assertEquals(2, client.namesOfEndpoint("7", null, "192.0.2.0/24").size());
    assertEquals(5, client.names(null, null).size());
  }

  @Test
  void shouldRemoveWhatMatches() throws IOException {
    client.deleteNames("*.example.org");
    assertEquals(List.of("www.example.com."), fqdns(client.names(null, null)));
    assertEquals(1, store.load().size());
    client.deleteNames(null);
    assertEquals(List.of(), client.names(null, null));
    assertEquals(List.of(), store.load());
    assertRefused(
        400, "matchpattern: '' is not a pattern of DNS names", () -> client.deleteNames(""));
  }
}
