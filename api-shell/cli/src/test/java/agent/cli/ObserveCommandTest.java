package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.CannedMonitor;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ObserveCommandTest {
  private static final int FLOWS = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 18;
  private static final int KEPT_FIRST = 1 << 24;
  private static final int KEPT_ALONE = 1 << 25;
  private static final long SECOND_NS = 1_000_000_000;

  private EventsFixture fixture;
  private CliFixture agent;
  private CannedMonitor events;

  @BeforeEach
  void start() throws IOException {
    fixture = new EventsFixture();
    agent = fixture.agent;
    events = fixture.startEvents();
  }

  @AfterEach
  void stop() throws IOException {
    fixture.close();
  }

  private static final int DROP = 1;
  private static final int VERDICT = 2;
  private static final int TRACE = 3;
  private static final int AUDIT = 4;

  private CannedMonitor hello() {
    return events.hello(1, 72, 4096);
  }

  private void keptEnd() {
    events.frame(5, 0);
  }

  /** A drop, a verdict on a flow that audit mode forwards, and a trace, a second apart. */
  private void three() {
    hello().flow(DROP, 1, "10.1.0.9", "10.1.0.7", 0, 0);
    events.time(2 * SECOND_NS).protocol(17).ports(5353, 53);
    events.flow(VERDICT, 1, "fd00::9", "fd00::7", AUDIT, 0);
    events.time(3 * SECOND_NS).protocol(1).flow(TRACE, 0, "10.1.0.7", "10.1.0.8", 0, 0);
  }

  @Test
  void shouldShowWhatIsKeptAndEnd() {
    three();
    keptEnd();
    assertEquals(
        """
        00:00:06.000000 drop    egress  policy-denied: 10.1.0.9:43210 (orch:app=client,orch:team=a) -> 10.1.0.7:80 (shop/web) TCP SYN,ACK, 60 bytes, endpoint 7
        00:00:07.000000 verdict egress  allowed by audit mode: [fd00::9]:5353 (orch:app=client,orch:team=a) -> [fd00::7]:53 (shop/web) UDP, 60 bytes, endpoint 7
        00:00:08.000000 trace   egress  forwarded: 10.1.0.7 (shop/web) -> 10.1.0.8 (orch:app=web) ICMP, 60 bytes, endpoint 7
        """,
        agent.output(AgentCtl.OK, "observe"));
    assertEquals("", agent.err());
    assertEquals(List.of(FLOWS | KEPT_FIRST | KEPT_ALONE), events.masks());
  }

  @Test
  void shouldGoOnWithLiveEvents() {
    three();
    keptEnd();
    events.time(4 * SECOND_NS).flow(DROP, 2, "10.1.0.9", "10.1.0.7", 0, 0);
    events.time(5 * SECOND_NS).flow(TRACE, 0, "10.1.0.9", "10.1.0.7", 0, 0);
    assertEquals(
        """
        00:00:06.000000 drop    egress  policy-denied: 10.1.0.9:43210 (orch:app=client,orch:team=a) -> 10.1.0.7:80 (shop/web) TCP SYN,ACK, 60 bytes, endpoint 7
        00:00:09.000000 drop    egress  malformed: 10.1.0.9 (orch:app=client,orch:team=a) -> 10.1.0.7 (shop/web) ICMP, 60 bytes, endpoint 7
        """,
        agent.output(AgentCtl.FAILURE, "observe --follow --verdict dropped"));
    assertEquals("Error: the agent closed the event stream\n", agent.err());
    assertEquals(List.of(FLOWS | KEPT_FIRST), events.masks());
    assertShown(1, AgentCtl.FAILURE, "--follow --last 0 --verdict dropped");
    assertShown(2, AgentCtl.FAILURE, "-f --last 1 --verdict dropped");
  }

  /** The agent sends them after all packets; they are at the second 7 of the clock. */
  private void threeAndRequests() {
    three();
    events.agent(
        """
        {"kind":"l7","protocol":"HTTP/2","transport":"TCP","verdict":"Denied",\
        "source":{"ip":"10.1.0.9","port":43210,"identity":256},\
        "destination":{"ip":"10.1.0.7","port":80,"identity":257,"endpoint-id":7},\
        "method":"PUT","path":"/a?b=1","host":"shop","status":403,"duration-ms":2}""");
    events.agent(
        """
        {"kind":"l7","protocol":"DNS","transport":"UDP","verdict":"Forwarded",\
        "source":{"ip":"fd00::7","port":5353,"identity":257,"endpoint-id":7},\
        "destination":{"ip":"fd00::9","port":53,"identity":256},\
        "fqdn":"www.example.com.","type":28,"response-code":3,"ips":["2001:db8::1"],"ttl":60}""");
    events.agent("{\"kind\":\"endpoint\",\"endpoint\":7,\"state\":\"ready\"}");
    keptEnd();
  }

  @Test
  void shouldShowRequestsBetweenThePackets() {
    threeAndRequests();
    final List<String> lines = agent.output(AgentCtl.OK, "observe").lines().toList();
    assertEquals(5, lines.size(), "" + lines);
    assertEquals(
        """
        00:00:07.000000 l7              denied: 10.1.0.9:43210 (orch:app=client,orch:team=a) -> 10.1.0.7:80 (shop/web) HTTP/2 PUT shop/a?b=1, 403, 2 ms
        00:00:07.000000 l7              forwarded: [fd00::7]:5353 (shop/web) -> [fd00::9]:53 (orch:app=client,orch:team=a) DNS AAAA www.example.com., NXDOMAIN 2001:db8::1
        """,
        String.join("\n", lines.subList(2, 4)) + "\n");
    assertTrue(lines.get(1).contains("verdict") && lines.get(4).contains("trace"), "" + lines);
    assertShown(1, "--last 100 --protocol http");
    assertShown(1, "--protocol dns");
    assertShown(2, "--protocol tcp");
    assertShown(2, "--protocol udp");
    assertShown(2, "--verdict dropped");
    assertShown(3, "--port 80 --port 53 --since 1970-01-01T00:00:07Z");
    assertShown(4, "--from app=client");
    assertShown(2, "--to app=client --to 10.1.0.8");
    assertShown(1, "--drop-reason policy-denied");
    assertShown(1, "--protocol http --label app=client --endpoint 7");
    assertShown(2, "--last 2");
  }

  @Test
  void shouldWriteRequestsAsObjects() {
    threeAndRequests();
    assertEquals(
        """
        {"time":"1970-01-01T00:00:07Z","type":"l7","protocol":"HTTP/2","transport":"TCP",\
        "verdict":"Denied","source":{"address":"10.1.0.9","port":43210,"identity":256,\
        "labels":["orch:app=client","orch:team=a"]},\
        "destination":{"address":"10.1.0.7","port":80,"identity":257,"labels":["orch:app=web"],\
        "endpoint":7,"name":"shop/web"},"method":"PUT","path":"/a?b=1","host":"shop",\
        "status":403,"duration-ms":2}
        """,
        agent.output(AgentCtl.OK, "observe -o json --protocol http"));
  }

  @Test
  void shouldWriteAnObjectALine() {
    hello().flow(DROP, 2, "10.1.0.9", "10.1.0.7", 0, 0);
    keptEnd();
    assertEquals(
        """
        {"time":"1970-01-01T00:00:06.000000123Z","type":"drop","reason":"malformed",\
        "direction":"egress","endpoint":7,"protocol":6,"tcp-flags":["SYN","ACK"],\
        "source":{"address":"10.1.0.9","port":43210,"identity":256,\
        "labels":["orch:app=client","orch:team=a"]},\
        "destination":{"address":"10.1.0.7","port":80,"identity":257,"labels":["orch:app=web"],\
        "endpoint":7,"name":"shop/web"},"length":60,"interface-index":12,"audit":false}
        """,
        agent.output(AgentCtl.OK, "observe -o json"));
  }

  private void assertShown(int count, int code, String options) {
    final String output = agent.output(code, "observe " + options);
    assertEquals(count, output.lines().count(), options + "\n" + output);
  }

  private void assertShown(int count, String options) {
    assertShown(count, AgentCtl.OK, options);
  }

  private void assertUsage(String message, String options) {
    agent.output(AgentCtl.USAGE_ERROR, "observe " + options);
    assertTrue(agent.err().contains(message), agent.err());
  }

  @Test
  void shouldShowTheLastThatMatch() {
    hello();
    for (int i = 0; i < 50; i++) {
      events.ports(40_000 + i, 80).flow(DROP, 1 + i % 2, "10.1.0.9", "10.1.0.7", 0, 0);
    }
    keptEnd();
    assertShown(20, "");
    assertShown(3, "--last 3");
    assertShown(0, "--last 0");
    assertShown(50, "--last 100");
    assertShown(50, "--since 1970-01-01T00:00:00Z");
    assertShown(5, "--since 1970-01-01T00:00:00Z --last 5");
    assertShown(25, "--last 50 --drop-reason malformed");
    final List<String> two =
        agent.output(AgentCtl.OK, "observe --last 2 --drop-reason malformed").lines().toList();
    assertTrue(two.get(0).contains(":40047 ") && two.get(1).contains(":40049 "), "" + two);
    assertUsage("--last: -1 is negative", "--last -1");
    assertUsage("--last: 'x' is not a whole number", "--last x");
  }

  @Test
  void shouldShowWhatWasSinceThen() {
    three();
    keptEnd();
    assertShown(2, "--since 1970-01-01T00:00:07Z");
    assertShown(1, "--since 1970-01-01T00:00:07.000000001Z");
    assertShown(2, "--since 1970-01-01T01:00:07+01:00");
    assertShown(2, "--since 1970-01-01T00:00:07"); // in the zone of the machine
    assertShown(0, "--since 1h");
    assertUsage("--since: '1970-01-x' is neither a duration such as 5m", "--since 1970-01-x");
    assertUsage("--since: 'soon' is not a positive duration", "--since soon");
  }

  @Test
  void shouldCountTheTimeFromNow() {
    final long nowNs = (CliFixture.NOW.getEpochSecond() - 5) * SECOND_NS; // 5 s behind
    hello();
    for (final int secondsAgo : new int[] {10_000, 3_000, 100, 20}) {
      events.time(nowNs - secondsAgo * SECOND_NS).flow(DROP, 1, "10.1.0.9", "10.1.0.7", 0, 0);
    }
    keptEnd();
    assertShown(1, "--since 50");
    assertShown(1, "--since 50s");
    assertShown(2, "--since 5m");
    assertShown(3, "--since 1h");
    assertShown(4, "--since 3h");
  }

  @Test
  void shouldFilter() {
    three();
    keptEnd();
    assertShown(3, "");
    assertShown(1, "--verdict dropped");
    assertShown(1, "--verdict audit");
    assertShown(1, "--verdict forwarded");
    assertShown(2, "--verdict forwarded --verdict audit");
    assertShown(1, "--protocol tcp");
    assertShown(1, "--protocol UDP");
    assertShown(2, "--protocol 6 --protocol 1");
    assertShown(0, "--protocol sctp");
    assertShown(1, "--port 80");
    assertShown(1, "--port 5353");
    assertShown(2, "--port 53,43210");
    assertShown(0, "--port 65535");
    assertShown(0, "--protocol 255");
    assertShown(0, "--port 53 --port 8080 --protocol tcp");
    assertShown(3, "--label app=web");
    assertShown(3, "--label orch:team=a");
    assertShown(0, "--label app=db");
    assertShown(3, "--endpoint 7");
    assertShown(0, "--endpoint 8");
    assertShown(1, "--from 7");
    assertShown(2, "--to 7");
    assertShown(1, "--to 10.1.0.8");
    assertShown(1, "--drop-reason policy-denied");
    assertUsage("--verdict: 'lost' is not one of forwarded, dropped, audit", "--verdict lost");
    assertUsage("--protocol: 'tpc' is not a protocol", "--protocol tpc");
    assertUsage("--protocol: '256' is not a protocol", "--protocol 256");
    assertUsage("--port: '65536' is not a number up to 65535", "--port 65536");
    assertUsage("--endpoint: 'web' is not a number up to 65535", "--endpoint web");
    assertUsage("--drop-reason: 'x' is not one of none, policy-denied", "--drop-reason x");
  }

  /** Ports of ICMP are no ports, although the event has numbers there. */
  @Test
  void shouldTakePortsOfProtocolsThatHaveThem() {
    hello().protocol(1).flow(DROP, 1, "10.1.0.9", "10.1.0.7", 0, 0);
    keptEnd();
    assertShown(0, "--port 80");
    assertShown(1, "--protocol icmp");
  }

  /** An endpoint's programs see packets whose ends have other addresses. */
  @Test
  void shouldShowWhatTheProgramsOfAnEndpointSaw() {
    hello().flow(DROP, 1, "192.0.2.1", "192.0.2.2", 0, 0);
    keptEnd();
    assertShown(1, "--endpoint 7");
    assertShown(0, "--from 7");
  }

  /**
   * Verdicts name the direction of their flow; traces of it, and of its answers, follow. A traced
   * flow without a verdict has the lower port for its called end.
   */
  private void conversation() {
    hello().flow(VERDICT, 0, "10.1.0.9", "10.1.0.7", 0, 0);
    events.flow(TRACE, 0, "10.1.0.9", "10.1.0.7", 0, 0);
    events.ports(80, 43_210).identities(257, 256).flow(TRACE, 0, "10.1.0.7", "10.1.0.9", 0, 0);
    events.identities(0, 0).flow(TRACE, 0, "10.1.0.7", "10.1.0.9", 0, 0);
    events.identities(256, 257).ports(9090, 443).flow(DROP, 1, "10.1.0.9", "10.1.0.7", 0, 0);
    events.flow(DROP, 2, "10.1.0.9", "10.1.0.7", 0, 0);
    events.ports(22, 50_000).identities(0, 300).flow(TRACE, 0, "fd00::7", "fd00::9", 0, 0);
    events.ports(50_000, 22).identities(300, 0).flow(TRACE, 0, "fd00::9", "fd00::7", 0, 0);
    events.ports(22, 50_000);
    events.identities(0, 0).flow(TRACE, 0, "fd00::7", "fd00::8", 0, 0).identities(256, 257);
    events.ports(7, 4000).flow(VERDICT, 0, "10.1.0.9", "10.1.0.7", 0, 0);
    events.protocol(1).flow(VERDICT, 1, "10.1.0.9", "10.1.0.7", AUDIT, 0);
    keptEnd();
  }

  @Test
  void shouldSayWhoTalksToWhom() {
    conversation();
    final String table =
        """
        FROM                         TO        PORT      VERDICT    REASON         EVENTS
        orch:app=client,orch:team=a  shop/web  80/TCP    forwarded  -              4
        identity 300                 shop/web  22/TCP    forwarded  -              2
        fd00::8                      shop/web  22/TCP    forwarded  -              1
        orch:app=client,orch:team=a  shop/web  4000/TCP  forwarded  -              1
        orch:app=client,orch:team=a  shop/web  443/TCP   dropped    malformed      1
        orch:app=client,orch:team=a  shop/web  443/TCP   dropped    policy-denied  1
        orch:app=client,orch:team=a  shop/web  ICMP      audit      -              1
        """;
    assertEquals(table, agent.output(AgentCtl.OK, "observe --summary"));
    assertEquals(table, agent.output(AgentCtl.OK, "observe --summary table"));
    assertEquals(table, agent.output(AgentCtl.OK, "observe --summary --protocol 6,1"));
    assertEquals(
        """
        [
          {
            "from": "fd00::8",
            "to": "shop/web",
            "port": "22/TCP",
            "verdict": "forwarded",
            "reason": null,
            "events": 1
          }
        ]
        """,
        agent.output(AgentCtl.OK, "observe --summary --to fd00::8 -o json"));
    assertUsage("--summary: cannot be combined with --follow", "--summary --follow");
    assertUsage("--summary: 'svg' is not one of table, dot, mermaid", "--summary=svg");
    assertUsage("--summary: dot has no other output format", "--summary dot -o json");
    assertUsage("--output: observe supports table and json", "-o yaml");
  }

  @Test
  void shouldTakeTheIdentityOfAnAddressFromAnotherEvent() {
    hello().identities(256, 0).flow(DROP, 1, "10.1.0.20", "10.1.0.30", 0, 0);
    events.identities(0, 257).flow(DROP, 1, "10.1.0.40", "10.1.0.50", 0, 0);
    events.identities(0, 0).flow(DROP, 1, "10.1.0.20", "10.1.0.50", 0, 0);
    keptEnd();
    assertEquals(
        """
        FROM                         TO            PORT    VERDICT  REASON         EVENTS
        10.1.0.40                    orch:app=web  80/TCP  dropped  policy-denied  1
        orch:app=client,orch:team=a  10.1.0.30     80/TCP  dropped  policy-denied  1
        orch:app=client,orch:team=a  orch:app=web  80/TCP  dropped  policy-denied  1
        """,
        agent.output(AgentCtl.OK, "observe --summary"));
  }

  @Test
  void shouldDrawWhoTalksToWhom() {
    conversation();
    assertEquals(
        """
        digraph flows {
          rankdir=LR;
          "orch:app=client,orch:team=a" -> "shop/web" [label="80/TCP (2)"];
          "orch:app=client,orch:team=a" -> "shop/web" [label="4000/TCP (1)"];
          "orch:app=client,orch:team=a" -> "shop/web" [label="443/TCP malformed (1)", color=red, style=dashed];
          "orch:app=client,orch:team=a" -> "shop/web" [label="443/TCP policy-denied (1)", color=red, style=dashed];
          "orch:app=client,orch:team=a" -> "shop/web" [label="ICMP audit (1)", color=orange];
        }
        """,
        agent.output(AgentCtl.OK, "observe --from app=client --to 10.1.0.7 --summary dot"));
    assertEquals(
        """
        flowchart LR
          n0["fd00::8"]
          n1["shop/web"]
          n2["identity 300"]
          n0 -->|"22/TCP (1)"| n1
          n2 -->|"22/TCP (1)"| n1
        """,
        agent.output(AgentCtl.OK, "observe --summary=mermaid --from fd00::7"));
    assertTrue(
        agent
            .output(AgentCtl.OK, "observe --summary mermaid --drop-reason malformed")
            .endsWith("  n0 -.->|\"443/TCP malformed (1)\"| n1\n"));
  }

  /** Names come from others: they must not end a quotation, or add an arrow. */
  @Test
  void shouldQuoteNamesInPictures() {
    agent.on(
        "GET /identity",
        """
        [{"id":256,"labels":["k8s:a=\\"x\\"\\\\\\n"]}]
        """);
    hello().flow(DROP, 1, "10.1.0.9", "10.1.0.7", 0, 0);
    keptEnd();
    final String dot = agent.output(AgentCtl.OK, "observe --summary dot");
    assertTrue(dot.contains("\n  \"k8s:a=\\\"x\\\"\\\\?\" -> \"shop/web\" ["), dot);
    final String mermaid = agent.output(AgentCtl.OK, "observe --summary mermaid");
    assertTrue(mermaid.contains("\n  n0[\"k8s:a=#quot;x#quot;\\?\"]\n"), mermaid);
  }

  @Test
  void shouldSayWhatWasLost() {
    hello().lost(0, 7);
    keptEnd();
    assertShown(0, "");
    assertEquals("7 events lost: this program reads too slowly\n", agent.err());
  }

  @Test
  void shouldSayWhyThereIsNothingToObserve() {
    events.hello(1, 72, 0);
    agent.output(AgentCtl.FAILURE, "observe");
    assertTrue(agent.err().contains("flowobs-event-buffer-capacity is 0"), agent.err());
  }

  @Test
  void shouldSayThatAnOlderAgentKeepsNoEvents() {
    events.hello(1, 72);
    agent.output(AgentCtl.FAILURE, "observe");
    assertTrue(agent.err().contains("has version 9.9.9, which does not keep events"), agent.err());
  }
}
