package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.cli.event.RateLine;
import agent.cli.output.Terminal;
import agent.testkit.CannedMonitor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class MonitorCommandTest {
  private static final String ENDED = "Error: the agent closed the event stream\n";

  private EventsFixture fixture;
  private CliFixture agent;
  private CannedMonitor events;

  @BeforeEach
  void start() throws IOException {
    fixture = new EventsFixture();
    agent = fixture.agent;
    events = fixture.startEvents().hello(1, 72);
  }

  @AfterEach
  void stop() throws IOException {
    fixture.close();
  }

  private static String lines(String output) {
    return output.lines().map(String::strip).collect(Collectors.joining("\n"));
  }

  @Test
  void shouldShowALineForEachEvent() {
    events
        .flow(1, 1, "10.1.0.9", "10.1.0.7", 0, 0)
        .flow(2, 0, "fd00::9", "fd00::7", 0, 0)
        .flow(2, 1, "10.1.0.9", "10.1.0.7", 4, 0)
        .flow(3, 0, "10.1.0.9", "10.1.0.8", 0, 0)
        .agent(
            "{\"kind\":\"api\",\"method\":\"PUT\",\"path\":\"/policy\",\"status\":400,"
                + "\"client\":\"pid=1\",\"message\":\"rules[0]: bad\"}")
        .agent("{\"kind\":\"endpoint\",\"endpoint\":7,\"state\":\"ready\",\"message\":\"built\"}")
        .agent("{\"kind\":\"later\",\"what\":\"\\u001b[2J\"}")
        .lost(2, 3)
        .lost(2, 4);
    assertEquals(
        """
        00:00:06.000000 drop    egress  policy-denied: 10.1.0.9:43210 (orch:app=client,orch:team=a) -> 10.1.0.7:80 (shop/web) TCP SYN,ACK, 60 bytes, endpoint 7
        00:00:06.000000 verdict egress  allowed: [fd00::9]:43210 (orch:app=client,orch:team=a) -> [fd00::7]:80 (shop/web) TCP SYN,ACK, 60 bytes, endpoint 7
        00:00:06.000000 verdict egress  allowed by audit mode: 10.1.0.9:43210 (orch:app=client,orch:team=a) -> 10.1.0.7:80 (shop/web) TCP SYN,ACK, 60 bytes, endpoint 7
        00:00:06.000000 trace   egress  forwarded: 10.1.0.9:43210 (orch:app=client,orch:team=a) -> 10.1.0.8:80 (orch:app=web) TCP SYN,ACK, 60 bytes, endpoint 7
        00:00:07.000000 agent   PUT /policy 400 by pid=1: rules[0]: bad
        00:00:07.000000 agent   endpoint 7 ready: built
        00:00:07.000000 agent   kind=later,what=?[2J
        """,
        agent.output(AgentCtl.FAILURE, "monitor"));
    assertEquals(
        """
        2 events lost: the datapath emits more than can be read
        3 events lost: this program reads too slowly
        1 events lost: this program reads too slowly
        """
            + ENDED,
        agent.err());
    assertEquals(List.of(1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 16 | 1 << 18), events.masks());
  }

  @Test
  void shouldShowHowRulesChange() {
    final String event =
        "{\"kind\":\"policy\",\"revision\":12,\"rules\":5,\"added\":2,\"removed\":1,";
    events
        .agent(event + "\"labels\":[\"user:name=a\",\"user:name=b\"]}")
        .agent(event + "\"labels\":[\"user:name=a\"],\"labels-left-out\":7}")
        .agent(event + "\"labels\":[]}");
    assertEquals(
        """
        00:00:07.000000 agent   policy revision 12: 5 rules, 2 added, 1 removed, labels user:name=a,user:name=b
        00:00:07.000000 agent   policy revision 12: 5 rules, 2 added, 1 removed, labels user:name=a and 7 more
        00:00:07.000000 agent   policy revision 12: 5 rules, 2 added, 1 removed
        """,
        agent.output(AgentCtl.FAILURE, "monitor --type agent"));
  }

  private void translate() throws IOException {
    agent.on("GET /service/7", "{\"spec\":{\"flags\":{\"name\":\"web\",\"namespace\":\"shop\"}}}");
    events = fixture.startEvents().translatingHello(96);
    events.translation(2, "10.1.0.9", "10.96.0.1", "10.1.0.7", 0);
    events.translation(1, null, "fd96::1", "fd00::7", 0);
    events.translation(3, "192.0.2.1", "10.96.0.1", "10.1.0.8", 0);
    events.translation(4, "10.1.0.9", "192.0.2.9", "198.51.100.7", 0);
  }

  @Test
  void shouldShowWhichBackendsAreGiven() throws IOException {
    translate();
    assertEquals(
        """
        00:00:06.000000 translation 10.1.0.9:43210 (orch:app=client,orch:team=a) -> 10.96.0.1:80 (service 7 shop/web) -> 10.1.0.7:8080 (shop/web) TCP, endpoint 7
        00:00:06.000000 translation socket of network namespace 4711 -> [fd96::1]:80 (service 7 shop/web) -> [fd00::7]:8080 (shop/web) TCP
        00:00:06.000000 translation 192.0.2.1:43210 (orch:app=client,orch:team=a) -> 10.96.0.1:80 (service 7 shop/web) -> 10.1.0.8:8080 (orch:app=web) TCP
        00:00:06.000000 translation 10.1.0.9:43210 (orch:app=client,orch:team=a) masqueraded as 192.0.2.9:80 -> 198.51.100.7:8080 (orch:app=web) TCP, endpoint 7
        """,
        agent.output(AgentCtl.FAILURE, "monitor --type translation"));
    assertEquals(List.of(1 << 4), events.masks());
    final String json = agent.output(AgentCtl.FAILURE, "monitor --type translation -o json");
    assertEquals(
        """
        {"time":"1970-01-01T00:00:06.000000123Z","type":"translation","place":"masquerade",\
        "endpoint":7,"protocol":6,\
        "source":{"address":"10.1.0.9","port":43210,"identity":256,\
        "labels":["orch:app=client","orch:team=a"]},\
        "masqueraded-as":{"address":"192.0.2.9","port":80},\
        "destination":{"address":"198.51.100.7","port":8080,"identity":257,\
        "labels":["orch:app=web"]}}""",
        json.lines().skip(3).findFirst().orElseThrow());
    assertTrue(
        json.startsWith(
            """
                {"time":"1970-01-01T00:00:06.000000123Z","type":"translation","place":"endpoint",\
                "service":7,"service-name":"shop/web","endpoint":7,"protocol":6,\
                "source":{"address":"10.1.0.9","port":43210,"identity":256,\
                "labels":["orch:app=client","orch:team=a"]},\
                "frontend":{"address":"10.96.0.1","port":80},\
                "backend":{"address":"10.1.0.7","port":8080,"identity":257,\
                "labels":["orch:app=web"],"endpoint":7,"name":"shop/web"}}
                {"time":"1970-01-01T00:00:06.000000123Z","type":"translation","place":"socket",\
                "service":7,"service-name":"shop/web","endpoint":0,"protocol":6,\
                "network-namespace":4711,"frontend":{"address":"fd96::1","port":80},\
                """));
  }

  @Test
  void shouldShowAServiceWithoutANameByItsNumber() throws IOException {
    translate();
    agent.on("GET /service/7", "{\"spec\":{\"flags\":{}}}");
    final String shown = agent.output(AgentCtl.FAILURE, "monitor --type translation");
    assertTrue(shown.contains(" (service 7) -> "), shown);
  }

  /** One goes to its frontend, and to its backend. */
  @Test
  void shouldFilterTranslationsByTheirEnds() throws IOException {
    translate();
    assertShown(2, "--to 10.96.0.1");
    assertShown(2, "--to 7");
    assertShown(1, "--to 10.1.0.8");
    assertShown(1, "--from 192.0.2.1");
    assertShown(2, "--from 10.1.0.9");
    assertShown(1, "--from 192.0.2.9");
    assertShown(0, "--to 192.0.2.9");
    assertShown(1, "--to 198.51.100.7");
    assertShown(1, "--related-to 192.0.2.9");
    assertShown(0, "--from 7");
    assertShown(2, "--related-to 7");
    assertShown(1, "--related-to fd96::1");
    assertShown(0, "--drop-reason malformed");
  }

  @Test
  void shouldRefuseTranslationsOfAnAgentThatTellsNone() {
    agent.output(AgentCtl.FAILURE, "monitor --type translation");
    assertTrue(
        agent.err().contains("version 9.9.9, which does not report translations"), agent.err());
  }

  @Test
  void shouldShowPortsOfProtocolsThatHaveThem() {
    events.protocol(17).flow(1, 1, "10.1.0.9", "10.1.0.7", 0, 0);
    events.protocol(1).flow(1, 1, "10.1.0.9", "10.1.0.7", 0, 0);
    events.protocol(47).flow(1, 1, "10.1.0.9", "10.1.0.7", 0, 0);
    final List<String> shown = agent.output(AgentCtl.FAILURE, "monitor").lines().toList();
    assertTrue(shown.get(0).contains(" 10.1.0.9:43210 (") && shown.get(0).contains(" UDP, 60 "));
    assertTrue(shown.get(1).contains(" 10.1.0.9 (") && shown.get(1).contains(" ICMP, 60 "));
    assertTrue(shown.get(2).contains(" -> ") && shown.get(2).contains(" protocol 47, 60 "));
  }

  @ParameterizedTest
  @CsvSource({
    "::, ::",
    "::1, ::1",
    "1::, 1::",
    "1:0:0:2:0:0:0:3, 1:0:0:2::3",
    "1:0:2:3:4:5:6:7, 1:0:2:3:4:5:6:7",
    "1:0:0:2:3:4:5:6, 1::2:3:4:5:6",
    "10:0:0:20::, 10:0:0:20::",
    "ff02::1:ff00:7, ff02::1:ff00:7"
  })
  void shouldWriteAddressesInTheirShortForm(String address, String text) {
    events.flow(1, 1, address, "fd00::7", 0, 0);
    final String line = agent.output(AgentCtl.FAILURE, "monitor");
    assertTrue(line.contains(": [" + text + "]:43210 "), line);
  }

  @Test
  void shouldWriteAnObjectALine() {
    events.flow(1, 2, "10.1.0.9", "10.1.0.7", 0, 0).agent("{\"kind\":\"test\",\"n\":1}");
    assertEquals(
        """
        {"time":"1970-01-01T00:00:06.000000123Z","type":"drop","reason":"malformed",\
        "direction":"egress","endpoint":7,"protocol":6,"tcp-flags":["SYN","ACK"],\
        "source":{"address":"10.1.0.9","port":43210,"identity":256,\
        "labels":["orch:app=client","orch:team=a"]},\
        "destination":{"address":"10.1.0.7","port":80,"identity":257,"labels":["orch:app=web"],\
        "endpoint":7,"name":"shop/web"},"length":60,"interface-index":12,"audit":false}
        {"time":"1970-01-01T00:00:07Z","type":"agent","kind":"test","n":1}
        """,
        agent.output(AgentCtl.FAILURE, "monitor -o json"));
  }

  private static final byte[] BYTES =
      "\u0002\u0042Hello,\u00ff~ world\u007f\u0000".getBytes(StandardCharsets.ISO_8859_1);

  @Test
  void shouldShowTheFirstBytesOfPackets() throws IOException {
    events = fixture.startEvents();
    events
        .capturingHello(32)
        .packet(1, 1, "10.1.0.9", "10.1.0.7", BYTES)
        .packet(1, 1, "10.1.0.9", "10.1.0.7", new byte[0])
        .packet(1, 1, "10.1.0.9", "10.1.0.7", new byte[] {'a', 'b', 'c'})
        .agent("{\"kind\":\"later\"}");
    final List<String> shown = agent.output(AgentCtl.FAILURE, "monitor --hex").lines().toList();
    assertEquals(7, shown.size(), "" + shown);
    assertEquals(
        List.of(
            "\t0x0000:  0242 4865 6c6c 6f2c ff7e 2077 6f72 6c64  .BHello,.~ world",
            "\t0x0010:  7f00                                     .."),
        shown.subList(1, 3));
    assertEquals("\t0x0000:  6162 63                                  abc", shown.get(5));
    assertTrue(shown.get(6).endsWith("agent   kind=later"), shown.get(6));
    assertEquals(
        List.of(1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 16 | 1 << 17 | 1 << 18), events.masks());
    final String json = agent.output(AgentCtl.FAILURE, "monitor --hex --count 9 -o json");
    assertTrue(
        json.lines()
            .findFirst()
            .orElseThrow()
            .endsWith(",\"audit\":false,\"bytes\":\"024248656c6c6f2cff7e20776f726c647f00\"}"),
        json);
    assertFalse(json.lines().skip(1).findFirst().orElseThrow().contains("bytes"), json);
  }

  @Test
  void shouldSayThatTheAgentCapturesNothing() throws IOException {
    agent.output(AgentCtl.FAILURE, "monitor --hex");
    assertEquals(
        "Error: the agent (version 9.9.9) captures no bytes of packets: its option"
            + " --trace-payloadlen is 0, or it is older than 0.6.0\n",
        agent.err());
    fixture.startEvents().capturingHello(0);
    agent.output(AgentCtl.FAILURE, "monitor --hex");
    assertTrue(agent.err().contains("--trace-payloadlen"), agent.err());
  }

  @Test
  void shouldAskForTheTypesThatAreWanted() {
    agent.output(AgentCtl.FAILURE, "monitor --type drop -t agent");
    assertEquals(List.of(1 << 1 | 1 << 16), events.masks());
    agent.output(AgentCtl.FAILURE, "monitor --type l7");
    assertEquals(List.of(1 << 1 | 1 << 16, 1 << 18), events.masks());
    assertUsage(
        "--type: 'packet' is not one of drop, verdict, trace, translation, l7, agent",
        "--type packet");
  }

  @Test
  void shouldEndAfterSoManyEventsThatMatch() {
    events.flow(1, 1, "10.1.0.9", "10.1.0.7", 0, 0).flow(1, 2, "10.1.0.9", "10.1.0.7", 0, 0);
    events.flow(1, 2, "10.1.0.9", "10.1.0.7", 0, 0);
    final String line = agent.output(AgentCtl.OK, "monitor --count 1 --drop-reason malformed");
    assertEquals(1, line.lines().count());
    assertTrue(line.contains(" malformed: "), line);
    assertUsage("--count: 0 is not a positive number", "--count 0");
  }

  @Test
  void shouldFilterByEnds() {
    events
        .flow(1, 1, "10.1.0.9", "10.1.0.7", 0, 0)
        .flow(1, 1, "10.1.0.7", "10.1.0.9", 0, 0)
        .flow(1, 1, "10.1.0.5", "10.1.0.6", 0, 0)
        .agent("{\"kind\":\"test\"}");
    assertShown(4, "");
    assertShown(1, "--from 7");
    assertShown(1, "--to 7");
    assertShown(2, "--related-to 7");
    assertShown(0, "--related-to 8");
    assertShown(1, "--from 10.1.0.5");
    assertShown(2, "--from 10.1.0.5 --from 10.1.0.7");
    assertShown(0, "--from 10.1.0.5 --to 10.1.0.7");
    assertShown(1, "--from 10.1.0.9 --to 10.1.0.7");
    assertShown(3, "--from team=a"); // the identity of the source is the same in all
    assertShown(3, "--from orch:app=client");
    assertShown(0, "--to app=client");
    assertShown(0, "--from user:app=client");
    assertShown(3, "--related-to app=web");
    assertShown(0, "--drop-reason malformed");
    assertShown(3, "--drop-reason policy-denied");
    assertShown(3, "--drop-reason policy_denied"); // as metrics spell it
    assertUsage(
        "--drop-reason: 'none-such' is not one of none, policy-denied, malformed",
        "--drop-reason none-such");
  }

  private void assertShown(int count, String options) {
    final String output = agent.output(AgentCtl.FAILURE, "monitor " + options);
    assertEquals(count, output.lines().count(), options + "\n" + output);
  }

  private void assertUsage(String message, String options) {
    agent.output(AgentCtl.USAGE_ERROR, "monitor " + options);
    assertTrue(agent.err().contains(message), agent.err());
  }

  @Test
  void shouldRefuseAFormatThatIsNoStream() {
    assertUsage("--output: monitor supports table and json", "-o yaml");
  }

  @Test
  void shouldSayThatNoAgentRuns() throws IOException {
    events.close();
    agent.output(AgentCtl.FAILURE, "monitor");
    assertTrue(agent.err().contains("no agent serves events on "), agent.err());
  }

  /**
   * The line is for people: it is on the terminal of standard error, and goes when an event comes.
   */
  @Test
  void shouldShowTheRateOnATerminalAlone() throws Exception {
    final RateLine shown = rateLine(new Terminal(80, false, true, InstantSource.system()));
    shown.count();
    shown.show();
    assertEquals("", agent.err(), "not before a second has passed");
    Thread.sleep(1100);
    shown.show();
    assertTrue(agent.err().matches("1 events a second"), agent.err());
    shown.erase();
    assertTrue(agent.err().endsWith("\r\u001b[K"), lines(agent.err()));
    final int length = agent.err().length();
    shown.erase();
    assertEquals(length, agent.err().length());

    final RateLine hidden = rateLine(CliFixture.PIPE);
    Thread.sleep(1100);
    hidden.show();
    assertEquals(length, agent.err().length());
  }

  private RateLine rateLine(Terminal terminal) {
    return new RateLine(
        terminal,
        new java.io.PrintStream(agent.out, true),
        new java.io.PrintStream(agent.err, true));
  }
}
