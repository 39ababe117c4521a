package agent.server.monitor;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import agent.client.MonitorClient;
import agent.client.MonitorEvent.KeptEnd;
import agent.contract.monitor.MonitorStream;
import agent.datapath.spec.RedirectedFlow;
import agent.dns.proxy.DnsObserver.Event;
import agent.dns.proxy.DnsObserver.Verdict;
import agent.l7proxy.RequestRecord;
import agent.types.IpAddress;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a subscriber gets of HTTP requests and DNS questions. */
@Timeout(60)
class RequestEventsTest {
  private static final IpAddress CLIENT = IpAddress.parse("10.5.0.2");
  private static final IpAddress SERVER = IpAddress.parse("192.0.2.7");

  @TempDir private Path directory;
  private AgentEventsFixture fixture;

  @BeforeEach
  void start() throws IOException {
    fixture = new AgentEventsFixture(directory);
  }

  @AfterEach
  void stop() throws IOException {
    fixture.close();
  }

  private static RedirectedFlow flow(int protocol, int port) {
    return new RedirectedFlow(protocol, CLIENT, 31_337, 257, 7, SERVER, port, 0x8100_0001, 0);
  }

  private static RequestRecord request(RequestRecord.Verdict verdict, int status) {
    return new RequestRecord(
        Instant.EPOCH,
        verdict,
        flow(6, 80),
        "HTTP/1.1",
        "GET",
        "/a?b=1",
        "www.example.com",
        status,
        12,
        List.of());
  }

  private static String ends(int port) {
    return "\"source\":{\"ip\":\"10.5.0.2\",\"port\":31337,\"identity\":257,\"endpoint-id\":7},"
        + "\"destination\":{\"ip\":\"192.0.2.7\",\"port\":"
        + port
        + ",\"identity\":2164260865}";
  }

  private static String request(String verdict, int status) {
    return "{\"kind\":\"l7\",\"protocol\":\"HTTP/1.1\",\"transport\":\"TCP\",\"verdict\":\""
        + verdict
        + "\","
        + ends(80)
        + ",\"method\":\"GET\",\"path\":\"/a?b=1\",\"host\":\"www.example.com\",\"status\":"
        + status
        + ",\"duration-ms\":12}";
  }

  @Test
  void shouldPublishWhatBecameOfRequests() throws IOException {
    final RequestEvents events = new RequestEvents(fixture.agent);
    events.onRequest(request(RequestRecord.Verdict.FORWARDED, 299)); // before there is a subscriber
    try (MonitorClient client = fixture.subscribe()) {
      events.onRequest(request(RequestRecord.Verdict.FORWARDED, 200));
      events.onRequest(request(RequestRecord.Verdict.DENIED, 403));
      events.onRequest(request(RequestRecord.Verdict.ERROR, 0));
      assertEquals(request("Forwarded", 200), AgentEventsFixture.next(client));
      assertEquals(request("Denied", 403), AgentEventsFixture.next(client));
      assertEquals(request("Error", 0), AgentEventsFixture.next(client));
      AgentEventsFixture.assertNoMore(client);
    }
  }

  private void assertKept(MonitorClient client, int... statuses) throws IOException {
    for (final int status : statuses) {
      assertEquals(request("Forwarded", status), AgentEventsFixture.next(client));
    }
    assertInstanceOf(KeptEnd.class, client.next(Duration.ofSeconds(10)));
  }

  @Test
  void shouldKeepTheLastRequestsForLaterSubscribers() throws IOException {
    final RequestEvents events = new RequestEvents(fixture.agent);
    events.onRequest(request(RequestRecord.Verdict.FORWARDED, 200)); // no program listens
    final int kept = MonitorStream.REQUESTS | MonitorStream.KEPT_FIRST;
    try (MonitorClient live = fixture.subscribe(kept)) {
      assertKept(live);
      for (int status = 201; status <= 204; status++) {
        events.onRequest(request(RequestRecord.Verdict.FORWARDED, status));
        assertEquals(request("Forwarded", status), AgentEventsFixture.next(live));
        fixture.agent.publish(Map.of("kind", "endpoint"));
      }
      AgentEventsFixture.assertNoMore(live);
      try (MonitorClient later = fixture.subscribe(kept)) {
        assertKept(later, 202, 203, 204);
        events.onRequest(request(RequestRecord.Verdict.FORWARDED, 205));
        assertEquals(request("Forwarded", 205), AgentEventsFixture.next(later));
        AgentEventsFixture.assertNoMore(later);
      }
    }
    try (MonitorClient alone = fixture.subscribe(kept | MonitorStream.KEPT_ALONE)) {
      assertKept(alone, 203, 204, 205);
    }
    final int noRequests = MonitorStream.AGENT_EVENTS | kept & ~MonitorStream.REQUESTS;
    try (MonitorClient others = fixture.subscribe(noRequests)) {
      assertKept(others);
    }
  }

  @Test
  void shouldKeepRequestsAtAllTimesWhereThatIsAsked() throws IOException {
    final AgentEvents always = new AgentEvents(1, true);
    new RequestEvents(always).onRequest(request(RequestRecord.Verdict.DENIED, 403));
    new QuestionEvents(always).onQuestion(question(Verdict.ERROR, -1, List.of(), 0));
    assertEquals(
        List.of(question("Error", "\"ips\":[],\"ttl\":0")),
        always.kept().stream().map(event -> new String(event.json(), UTF_8)).toList());
    final AgentEvents none = new AgentEvents(0, true);
    new RequestEvents(none).onRequest(request(RequestRecord.Verdict.DENIED, 403));
    assertEquals(List.of(), none.kept());
  }

  private static String question(String verdict, String end) {
    return "{\"kind\":\"l7\",\"protocol\":\"DNS\",\"transport\":\"UDP\",\"verdict\":\""
        + verdict
        + "\","
        + ends(53)
        + ",\"fqdn\":\"www.example.com.\",\"type\":28,"
        + end
        + "}";
  }

  private static Event question(Verdict verdict, int code, List<IpAddress> addresses, long ttlSec) {
    return new Event(flow(17, 53), "www.example.com.", 28, code, verdict, addresses, ttlSec);
  }

  @Test
  void shouldPublishWhatBecameOfQuestions() throws IOException {
    final QuestionEvents events = new QuestionEvents(fixture.agent);
    events.onQuestion(question(Verdict.ERROR, 2, List.of(), 0)); // before there is a subscriber
    try (MonitorClient client = fixture.subscribe()) {
      events.onQuestion(question(Verdict.FORWARDED, 0, List.of(SERVER), 300));
      events.onQuestion(question(Verdict.DENIED, 5, List.of(), 0));
      events.onQuestion(question(Verdict.ERROR, -1, List.of(), 0));
      assertEquals(
          question("Forwarded", "\"response-code\":0,\"ips\":[\"192.0.2.7\"],\"ttl\":300"),
          AgentEventsFixture.next(client));
      assertEquals(
          question("Denied", "\"response-code\":5,\"ips\":[],\"ttl\":0"),
          AgentEventsFixture.next(client));
      assertEquals(question("Error", "\"ips\":[],\"ttl\":0"), AgentEventsFixture.next(client));
      AgentEventsFixture.assertNoMore(client);
    }
  }
}
