package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.Commands;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Behaviour 5 of the contract, and names of DNS rules, by real clients and servers in both
 * families.
 */
@KernelTest
class AgentProxyKernelTest {
  private static final int PORT = 8080;
  private static final int OPEN_PORT = 9090;
  private static final long LONGEST_SEC = 30;

  /** Index of the nice value behind the name of a thread. */
  private static final int NICE = 16;

  private static final String OUTSIDE4 = WorldNetwork.ADDRESSES.getFirst();
  private static final String OUTSIDE6 = WorldNetwork.ADDRESSES.getLast();

  /** Rules with the same labels replace each other. */
  private static final String LABELS = "\"labels\": [{\"key\": \"name\", \"value\": \"proxied\"}],";

  private static final String RULES =
      "\"rules\": {\"http\": [{\"method\": \"GET\", \"path\": \"/public(/.*)?\"}]}";

  @TempDir private Path directory;
  private TestNode node;
  private NetworkNamespace outside;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload server;
  private HttpOrigin origin;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    outside = WorldNetwork.connect(node);
    outside.ip("route add 10.210.0.0/24 via 192.0.2.1");
    outside.ip("-6 route add fd00:210::/96 via 2001:db8:2::1");
    launch();
    client = node.workload(agent, "client", "app=client");
    server = node.workload(agent, "server", "app=server");
    origin = HttpOrigin.start(server.namespace(), PORT);
    node.keep(origin);
  }

  private void launch() throws Exception {
    agent =
        node.launch(
                "--access-log=" + log(),
                "--proxy-engine-log=" + proxyLog(),
                "--flowobs-monitor-events=l7",
                "--device=" + WorldNetwork.DEVICE)
            .ready();
  }

  private Path log() {
    return directory.resolve("access.log");
  }

  private Path proxyLog() {
    return directory.resolve("proxies.log");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private void apply(String rules) throws Exception {
    agent.expect(200, "PUT", "/policy?replace=true", "[" + rules + "]");
  }

  /** A rule for the server: what clients may ask it. */
  private static String ingress(String rules) {
    return rule("server", "ingress", rules);
  }

  /** A rule for the client: what it may ask servers. */
  private static String egress(String rules) {
    return rule("client", "egress", rules);
  }

  private static String rule(String app, String direction, String rules) {
    return """
        {%s "endpointSelector": {"matchLabels": {"app": "%s"}},
         "%s": [{"toPorts": [{"ports": [{"port": "%d", "protocol": "TCP"}]%s}]}]}
        """
        .formatted(LABELS, app, direction, PORT, rules.isEmpty() ? "" : ", " + rules);
  }

  private static String url(String address, String path) {
    final String host = address.indexOf(':') < 0 ? address : "[" + address + "]";
    return "http://" + host + ":" + PORT + path;
  }

  /** Returns the status and the body of an answer, or the failure of curl. */
  private static String curl(NetworkNamespace from, String method, String address, String path) {
    final Commands.Outcome outcome =
        from.attempt(
            "curl",
            "-sS",
            "-g",
            "--path-as-is",
            "-m",
            "8",
            "-X",
            method,
            "-w",
            " %{http_code}",
            url(address, path));
    return outcome.output().strip();
  }

  private void assertBehaviour(NetworkNamespace from, String own4, String own6, List<String> to)
      throws IOException {
    for (final String address : to) {
      final String own = address.indexOf(':') < 0 ? own4 : own6;
      final String shown = written(own);
      assertEquals("from " + shown + " 200", curl(from, "GET", address, "/public"), agentLog());
      assertEquals("from " + shown + " 200", curl(from, "GET", address, "/public/a?b=c"));
      assertEquals("Access denied 403", curl(from, "PUT", address, "/public").strip());
      assertEquals("Access denied 403", curl(from, "GET", address, "/secret").strip());
      assertEquals("Access denied 403", curl(from, "GET", address, "/public/../secret").strip());
    }
  }

  private String agentLog() {
    try {
      return agent.log();
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Returns an address as the server writes it. */
  private static String written(String address) throws IOException {
    return InetAddress.getByName(address).getHostAddress();
  }

  private List<String> servers() {
    return List.of(server.ipv4(), server.ipv6());
  }

  /** Returns the part of a process's heap where objects are created. */
  private static long edenKb(long pid) {
    final String jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd").toString();
    final String heap = Commands.run(jcmd, Long.toString(pid), "GC.heap_info");
    final Matcher eden = Pattern.compile("eden space (\\d+)K").matcher(heap);
    assertTrue(eden.find(), heap);
    return Long.parseLong(eden.group(1));
  }

  @Test
  void shouldAdmitOnlyTheRequestsThatARuleOfTheServerLists() throws Exception {
    apply(ingress(RULES));
    final long edenKb = edenKb(agent.proxyPid());
    assertTrue(edenKb > 2 * edenKb(agent.pid()), "it has room for new objects: " + edenKb);
    assertBehaviour(client.namespace(), client.ipv4(), client.ipv6(), servers());
    assertBehaviour(outside, OUTSIDE4, OUTSIDE6, servers());
    assertTrue(origin.requests().stream().allMatch(request -> request.startsWith("GET /public")));
    assertEquals(8, origin.requests().size(), origin.requests().toString());
    apply(ingress(RULES) + "," + ingress(""));
    assertTrue(curl(client.namespace(), "PUT", server.ipv4(), "/any").endsWith(" 200"));
    agent.expect(200, "DELETE", "/policy", null);
    assertTrue(curl(outside, "PUT", server.ipv6(), "/any").endsWith(" 200"));
  }

  @Test
  void shouldAdmitOnlyTheRequestsThatARuleOfTheClientLists() throws Exception {
    try (HttpOrigin far = HttpOrigin.start(outside, PORT)) {
      apply(egress(RULES));
      assertBehaviour(client.namespace(), client.ipv4(), client.ipv6(), servers());
      for (final String address : List.of(OUTSIDE4, OUTSIDE6)) {
        assertTrue(
            curl(client.namespace(), "GET", address, "/public").endsWith(" 200"), agentLog());
        assertEquals(
            "Access denied 403", curl(client.namespace(), "PUT", address, "/public").strip());
      }
      assertEquals(List.of("GET /public", "GET /public"), far.requests());
    }
    assertFalse(
        TcpConnection.attempt(client.namespace(), server.ipv4(), OPEN_PORT, 400)
            == TcpConnection.Outcome.CONNECTED);
  }

  @Test
  void shouldLogEachRequestWithBothEnds() throws Exception {
    apply(ingress(RULES));
    assertTrue(curl(client.namespace(), "GET", server.ipv4(), "/public").endsWith(" 200"));
    await(() -> lines(log()).size() == 1, this::shown); // it is reported after its answer
    curl(client.namespace(), "PUT", server.ipv4(), "/public");
    await(() -> lines(log()).size() == 2, this::shown);
    final JsonNode allowed = new JsonMapper().readTree(lines(log()).get(0));
    final JsonNode denied = new JsonMapper().readTree(lines(log()).get(1));
    assertEquals("Forwarded", allowed.get("verdict").asString(), allowed.toString());
    assertEquals("Denied", denied.get("verdict").asString(), denied.toString());
    assertEquals(client.ipv4(), denied.get("source").get("ip").asString());
    assertEquals(server.ipv4(), denied.get("destination").get("ip").asString());
    assertTrue(denied.get("source").toString().contains("app=client"), denied.toString());
    assertTrue(denied.get("destination").toString().contains("app=server"), denied.toString());
  }

  /** SIGHUP opens both files by their names again, although no option has changed. */
  @Test
  void shouldWriteWhatTheProxiesLogToTheirFiles() throws Exception {
    apply(ingress(RULES));
    final String bad = "HTTP/1.1\r\nHost: server\r\nContent-Length: x\r\n\r\n";
    assertEquals("HTTP/1.1 400 Bad Request", malformed(bad));
    await(() -> hasLine(proxyLog(), "is not a number"), this::shown);
    await(() -> hasLine(proxyLog(), "INFO  HttpProxy: HTTP proxy: ports "), this::shown);
    await(() -> lines(log()).size() == 1, this::shown);
    Files.move(log(), directory.resolve("access.log.1"));
    Files.move(proxyLog(), directory.resolve("proxies.log.1"));
    new ProcessBuilder("kill", "-HUP", Long.toString(agent.pid())).start().waitFor();
    await(() -> agentLog().contains("options reloaded: no change"), this::shown);
    await(
        () -> {
          assertEquals("HTTP/1.1 400 Bad Request", malformed(bad));
          return Files.exists(log()) && hasLine(proxyLog(), "is not a number");
        },
        this::shown);
    assertTrue(agentLog().contains("INFO  HttpProxy: HTTP proxy: ports "), this::shown);
    assertFalse(agentLog().contains("Content-Length"), this::shown);
  }

  private String malformed(String rest) {
    try (Socket socket = client.namespace().run(() -> new Socket(server.ipv4(), PORT))) {
      socket.setSoTimeout(8000);
      socket.getOutputStream().write(("GET /public " + rest).getBytes(StandardCharsets.US_ASCII));
      final byte[] answer = socket.getInputStream().readAllBytes();
      return new String(answer, StandardCharsets.US_ASCII).lines().findFirst().orElse("");
    } catch (Exception e) {
      return e.toString();
    }
  }

  private static boolean hasLine(Path file, String part) {
    return lines(file).stream().anyMatch(line -> line.contains(part));
  }

  private String shown() {
    return lines(proxyLog()) + "\n" + lines(log()) + "\n" + agentLog();
  }

  private static List<String> lines(Path file) {
    try {
      return Files.exists(file) ? Files.readAllLines(file) : List.of();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void await(BooleanSupplier condition, Supplier<String> shown)
      throws InterruptedException {
    final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SEC);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, () -> shown.get() + "\n" + agentLog());
      Thread.sleep(50);
    }
  }

  @Test
  void shouldKeepRequestsForObserve() throws Exception {
    apply(ingress(RULES));
    assertTrue(curl(client.namespace(), "GET", server.ipv4(), "/public").endsWith(" 200"));
    await(() -> lines(log()).size() == 1, this::shown); // it is reported after its answer
    curl(client.namespace(), "PUT", server.ipv6(), "/public");
    await(() -> lines(log()).size() == 2, this::shown);
    final String line = "observe --protocol http --from app=client -o json --host unix://";
    final CtlProcess.Outcome observed =
        CtlProcess.run(directory, (line + agent.socket()).split(" "));
    assertEquals(0, observed.exitCode(), observed.err());
    final List<JsonNode> requests =
        observed.out().lines().map(request -> new JsonMapper().readTree(request)).toList();
    assertEquals(2, requests.size(), observed.out());
    assertEquals("Forwarded", requests.get(0).get("verdict").asString());
    assertEquals(200, requests.get(0).get("status").asInt());
    assertEquals("Denied", requests.get(1).get("verdict").asString());
    assertEquals("PUT", requests.get(1).get("method").asString());
    assertEquals(server.id(), requests.get(1).at("/destination/endpoint").asInt());
  }

  @Test
  void shouldShowRequestsAndLookupsToTheMonitor() throws Exception {
    final NameServer names = NameServer.start(outside, OUTSIDE4);
    node.keep(names);
    names.records(OUTSIDE4 + " www.example.com");
    apply(
        ingress(RULES)
            + """
            , {"endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [{"toEndpoints": [{}]},
              {"toCIDR": ["%s/32"], "toPorts": [{"ports": [{"port": "53", "protocol": "ANY"}],
               "rules": {"dns": [{"matchPattern": "www.example.*"}]}}]}]}
            """
                .formatted(OUTSIDE4));
    final List<String> shown = new ArrayList<>();
    final String line = "monitor --type l7 -o json --host unix://";
    try (CtlProcess monitor = CtlProcess.start(directory, (line + agent.socket()).split(" "))) {
      await(
          () -> { // it may not have subscribed yet
            curl(client.namespace(), "GET", server.ipv4(), "/public");
            curl(client.namespace(), "PUT", server.ipv4(), "/public");
            dig("www.example.com", "A");
            dig("no.example.com", "A");
            shown.clear();
            lines(directory.resolve("out")).stream().map(this::shownRequest).forEach(shown::add);
            return shown.stream().distinct().count() == 4;
          },
          shown::toString);
      assertFalse(monitor.output().isEmpty());
    }
    final String http = "l7 HTTP/1.1 %s " + client.id() + " -> " + server.id() + " %s";
    final String dns = "l7 DNS %s " + client.id() + " -> " + OUTSIDE4 + " %s";
    assertEquals(
        Set.of(
            http.formatted("Forwarded", "GET"),
            http.formatted("Denied", "PUT"),
            dns.formatted("Forwarded", "www.example.com."),
            dns.formatted("Denied", "no.example.com.")),
        Set.copyOf(shown));
  }

  private String shownRequest(String line) {
    final JsonNode shown = new JsonMapper().readTree(line);
    final boolean isLookup = shown.get("protocol").asString().equals("DNS");
    return "%s %s %s %s -> %s %s"
        .formatted(
            shown.get("type").asString(),
            shown.get("protocol").asString(),
            shown.get("verdict").asString(),
            shown.at("/source/endpoint").asString(),
            shown.at(isLookup ? "/destination/address" : "/destination/endpoint").asString(),
            shown.get(isLookup ? "fqdn" : "method").asString());
  }

  /** The connection stays, and its next request is judged by the rules of then. */
  @Test
  void shouldJudgeTheNextRequestOfAConnectionByTheRulesInForce() throws Exception {
    apply(ingress(RULES));
    try (KeptConnection connection = KeptConnection.open(client.namespace(), server.ipv4(), PORT)) {
      assertEquals(200, connection.request("GET /public"));
      assertEquals(403, connection.request("PUT /public"));
      apply(ingress(RULES.replace("GET", "PUT")));
      assertEquals(200, connection.request("PUT /public"));
      assertEquals(403, connection.request("GET /public"));
      agent.expect(200, "DELETE", "/policy", null);
      assertEquals(200, connection.request("GET /other"));
    }
  }

  /** The address of a peer gets an identity of its own with the first rule that has its CIDR. */
  @Test
  void shouldJudgeTheNextRequestByTheIdentityThatThePeerGets() throws Exception {
    for (final String address : WorldNetwork.ADDRESSES) {
      final boolean isIpv6 = address.equals(OUTSIDE6);
      final String cidr = "CIDR\": [\"" + address + (isIpv6 ? "/128" : "/32") + "\"]";
      apply(ofPeer("toEntities\": [\"world\"]", "fromEntities\": [\"world\"]", "GET"));
      try (HttpOrigin far = HttpOrigin.start(outside, PORT);
          KeptConnection out = KeptConnection.open(client.namespace(), address, PORT);
          KeptConnection in =
              KeptConnection.open(outside, isIpv6 ? server.ipv6() : server.ipv4(), PORT)) {
        for (final KeptConnection connection : List.of(out, in)) {
          assertEquals(200, connection.request("GET /public"));
          assertEquals(403, connection.request("PUT /public"));
        }
        apply(ofPeer("to" + cidr, "from" + cidr, "PUT"));
        for (final KeptConnection connection : List.of(out, in)) {
          assertEquals(200, connection.request("PUT /public"));
          assertEquals(403, connection.request("GET /public"));
        }
        assertEquals(List.of("GET /public", "PUT /public"), far.requests());
      }
    }
  }

  /** Rules for the client and for the server, of requests with a peer outside. */
  private static String ofPeer(String to, String from, String method) {
    final String ports =
        ", \"toPorts\": [{\"ports\": [{\"port\": \"%d\", \"protocol\": \"TCP\"}], %s}]}"
            .formatted(PORT, RULES.replace("GET", method));
    return """
        {%s "endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [{"%s%s]},
        {%s "endpointSelector": {"matchLabels": {"app": "server"}}, "ingress": [{"%s%s]}
        """
        .formatted(LABELS, to, ports, LABELS, from, ports);
  }

  /** What opens a connection while no agent runs waits, and is judged by the next one. */
  @Test
  void shouldLetNothingPassUnjudgedWhileTheAgentIsGone() throws Exception {
    apply(ingress(RULES));
    assertTrue(curl(client.namespace(), "GET", server.ipv4(), "/public").endsWith(" 200"));
    agent.kill();
    final int before = origin.requests().size();
    final Commands.Outcome refused =
        client
            .namespace()
            .attempt("curl", "-sS", "-m", "2", "-X", "PUT", url(server.ipv4(), "/secret"));
    assertEquals(28, refused.status(), "curl waits until its time ends: " + refused.output());
    assertEquals(before, origin.requests().size());
    launch();
    await(
        () -> curl(client.namespace(), "GET", server.ipv4(), "/public").endsWith(" 200"),
        () -> "no answer after the restart");
    assertEquals("Access denied 403", curl(client.namespace(), "PUT", server.ipv4(), "/public"));
    assertEquals("Access denied 403", curl(outside, "PUT", server.ipv6(), "/public"));
  }

  @Test
  void shouldAllowNamesAndTheAddressesOfTheirAnswers() throws Exception {
    final NameServer names = NameServer.start(outside, OUTSIDE4);
    node.keep(names);
    names.records(
        OUTSIDE4 + " www.example.com",
        OUTSIDE6 + " www.example.com",
        "198.51.100.77 no.example.com");
    try (HttpOrigin far = HttpOrigin.start(outside, PORT)) {
      apply(
          """
          {"endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [
            {"toCIDR": ["%s/32"], "toPorts": [{"ports": [{"port": "53", "protocol": "ANY"}],
              "rules": {"dns": [{"matchPattern": "www.example.*"}]}}]},
            {"toFQDNs": [{"matchName": "www.example.com"}],
              "toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"}]}]}]}
          """
              .formatted(OUTSIDE4));
      assertFalse(curl(client.namespace(), "GET", OUTSIDE6, "/").endsWith(" 200"));
      // A question whose answer waits for a busy disk for more than 2 s is to be asked again.
      await(() -> OUTSIDE6.equals(dig("www.example.com", "AAAA")), () -> "no answer");
      assertTrue(curl(client.namespace(), "GET", OUTSIDE6, "/").endsWith(" 200"), agentLog());
      assertEquals(OUTSIDE4, dig("www.example.com", "A", "+tcp"));
      assertTrue(curl(client.namespace(), "GET", OUTSIDE4, "/").endsWith(" 200"), agentLog());
      final String denied = dig("no.example.com", "A", "+noshort", "+comments");
      assertTrue(denied.contains("REFUSED"), denied);
      assertEquals(2, far.requests().size());
    }
    final String cache = agent.expect(200, "GET", "/fqdn/cache/" + client.id(), null).text();
    assertTrue(cache.contains("www.example.com.") && cache.contains(OUTSIDE6), cache);
    final Map<String, Integer> nice = niceValues(agent.pid());
    nice.putAll(niceValues(agent.proxyPid()));
    nice.keySet().removeIf(name -> !name.matches("[a-z-]+") || nice.get(name) == 0);
    assertEquals(
        Map.of(
            "dns-proxy", -10,
            "java", -10, // the main thread of the proxies, which reads what the agent answers
            "proxy-frames-in", -10,
            "names", -10,
            "dp-conductor", -4,
            "ep-conductor", -4),
        nice);
  }

  /** Returns the nice values of a process's threads by their names (proc_pid_stat(5)). */
  private static Map<String, Integer> niceValues(long pid) throws IOException {
    final Map<String, Integer> values = new HashMap<>();
    try (var tasks = Files.newDirectoryStream(Path.of("/proc/" + pid + "/task"))) {
      for (final Path task : tasks) {
        final String stat;
        try {
          stat = Files.readString(task.resolve("stat"));
        } catch (IOException ended) {
          continue; // a thread of a compiler, or of requests
        }
        final int end = stat.lastIndexOf(')');
        values.put(
            stat.substring(stat.indexOf('(') + 1, end),
            Integer.parseInt(stat.substring(end + 2).split(" ")[NICE]));
      }
    }
    return values;
  }

  private String dig(String name, String type, String... options) {
    final ArrayList<String> line =
        new ArrayList<>(
            List.of("dig", "@" + OUTSIDE4, "+short", "+tries=2", "+time=3", name, type));
    line.addAll(List.of(options));
    return client.namespace().attempt(line.toArray(String[]::new)).output().strip();
  }
}
