package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.WireFormat;
import agent.contract.endpoint.EndpointChangeRequest;
import agent.contract.policy.RuleModel;
import agent.types.OperationException;
import agent.types.Refusal;
import java.io.IOException;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(120)
class RequestRefusalTest {
  private static final AtomicInteger SERVED = new AtomicInteger();
  private static TestServer server;

  @BeforeAll
  static void start() throws IOException {
    server =
        TestServer.start(
            Map.of(
                Route.PUT_ENDPOINT,
                request -> {
                  request.body(EndpointChangeRequest.class);
                  SERVED.incrementAndGet();
                  return Answer.created("created");
                },
                Route.PUT_POLICY,
                request -> {
                  final int rules = request.bodyList(RuleModel.class).size();
                  SERVED.incrementAndGet();
                  return Answer.ok(rules);
                },
                Route.LIST_ENDPOINTS,
                request -> Answer.ok(request.labels().orElse(null)),
                Route.GET_HEALTHZ,
                request -> Answer.ok(request.headerSwitch("brief")),
                Route.GET_MAP,
                request -> {
                  throw Refusal.notFound(
                      "name", "map '" + request.path("name") + "' does not exist");
                },
                Route.RELEASE_ADDRESS,
                request ->
                    Answer.ok(
                        CompletableFuture.supplyAsync(
                                () -> {
                                  throw Refusal.conflict("ip", "is busy");
                                })
                            .get()),
                Route.DELETE_POLICY,
                request -> {
                  throw new OperationException("map policy_00012: update: EPERM");
                },
                Route.GET_POLICY,
                request -> {
                  throw new IllegalStateException("first line\n\tat some.Where(Some.java:1)");
                }));
  }

  @AfterAll
  static void stop() throws IOException {
    server.close();
  }

  @Test
  void shouldAnswerInAVersionOfItsOwn() throws IOException {
    for (final String method : new String[] {"GET", "PUT", "GMT"}) {
      final String answer = exchangeIn("HTTP/0.9", method);
      assertTrue(answer.startsWith("HTTP/1.1 505 "), answer);
      assertTrue(answer.contains("\r\nConnection: close\r\n"), answer);
      assertTrue(answer.endsWith("\"version: 'HTTP/0.9' is not HTTP/1.1 or 1.0\""), answer);
    }
    assertTrue(exchangeIn("HTTP/1.2", "GET").startsWith("HTTP/1.1 200 "));
    for (final String version : new String[] {"HTTP/2.0", "http/1.1", "x"}) {
      assertTrue(exchangeIn(version, "GET").startsWith("HTTP/1.1 400 "), version);
    }
  }

  @Test
  void shouldRefuseASecondHostInAVersionOfItsOwn() throws IOException {
    for (final String version : new String[] {"0.9", "1.0", "1.1"}) {
      final String answer =
          server.exchange("GET /healthz HTTP/" + version + "\r\nHost: x\r\nHost: y\r\n\r\n");
      assertTrue(answer.startsWith("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"), answer);
      assertTrue(answer.endsWith("\r\n\r\n\"Host: Only One Host Header Allowed\""), answer);
    }
  }

  private static String exchangeIn(String version, String method) throws IOException {
    return server.exchange(
        method + " /healthz " + version + "\r\nHost: x\r\nConnection: close\r\n\r\n");
  }

  private static String statusAndBody(String request) throws IOException {
    final String answer = server.exchange(request);
    final String status = answer.substring("HTTP/1.1 ".length(), "HTTP/1.1 ".length() + 3);
    return status + " " + answer.substring(answer.indexOf("\r\n\r\n") + 4);
  }

  private static String put(String path, String body) throws IOException {
    return statusAndBody(TestServer.request("PUT", path, body.replace('\'', '"')));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'state':'ready','colour':1}|colour: is not a known field",
        "{'state':'ready','addressing':{'ipv5':'x'}}|addressing.ipv5: is not a known field",
        "{'state':'ready','id':'7'}|id: an integer is expected at line 1, column 23",
        "{'state':'ready','labels':['a',2]}|labels[1]: a string is expected at line 1, column 32",
        "{'state':'ready','labels':'a'}|labels: an array is expected at line 1, column 27",
        "{'id':7}|state: is missing",
        "{'state':'ready','id':99999999999}" + "|id: a number is out of range at line 1, column 34",
        "{'state':'ready','properties':NaN}"
            + "|body: malformed JSON at line 1, column 34: Non-standard token 'NaN'",
        "{'state':'ready'"
            + "|body: malformed JSON at line 1, column 17: Unexpected end-of-input: expected close"
            + " marker for Object",
        "{'state':'ready','addressing':7}"
            + "|addressing: an object is expected at line 1, column 31",
      })
  void shouldNameTheFieldThatIsWrong(String body, String message) throws IOException {
    assertEquals("400 \"" + message + "\"", put("/endpoint/7", body));
  }

  @Test
  void shouldNameTheRuleAndThePathInIt() throws IOException {
    assertEquals(
        "400 \"[1].ingress[0].toPorts[0].ports[0].endPort: an integer is expected"
            + " at line 1, column 61\"",
        put("/policy", "[{},{'ingress':[{'toPorts':[{'ports':[{'port':'1','endPort':'2'}]}]}]}]"));
  }

  @Test
  void shouldTellLineAndColumnOfMalformedJson() throws IOException {
    final String answer = put("/policy", "[\n  {},\n  {]\n");
    assertTrue(answer.startsWith("400 \"body: malformed JSON at line 3, column "), answer);
    assertTrue(put("/policy", "").startsWith("400 \"body: is missing"));
    assertTrue(put("/policy", "null").startsWith("400 \"body: is null, an array is expected"));
    assertTrue(put("/policy", "{}").startsWith("400 \"body: an array is expected"));
    assertTrue(put("/policy", "[] []").startsWith("400 \"body: "));
    assertTrue(put("/policy", "[{'description':'a','description':'b'}]").startsWith("400 \""));
  }

  @Test
  void shouldRefuseUnknownPathsAndMethods() throws IOException {
    assertEquals("404 \"path: /endpoints does not exist\"", statusAndBody(get("/endpoints")));
    assertEquals("404 \"path: / does not exist\"", statusAndBody(get("/")));
    assertTrue(statusAndBody(get("/endpoint/")).startsWith("404 "));
    assertTrue(statusAndBody(get("/endpoint/7/config/x")).startsWith("404 "));
    final String answer = server.exchange(TestServer.request("POST", "/endpoint/7", "{}"));
    assertTrue(answer.startsWith("HTTP/1.1 405 "), answer);
    assertTrue(answer.contains("\r\nAllow: GET, PUT, PATCH, DELETE\r\n"), answer);
    assertTrue(statusAndBody(TestServer.request("BREW", "/config", "")).startsWith("405 "));
    assertTrue(statusAndBody(TestServer.request("PATCH", "/health", "{}")).startsWith("405 "));
    assertEquals("200 \"getMetrics\"", statusAndBody(get("/metrics")));
    assertEquals("200 \"getMetrics\"", statusAndBody(get("/metrics/")));
    assertEquals("200 \"listIdentitiesInUse\"", statusAndBody(get("/identity/endpoints")));
    assertEquals("200 \"getIdentity\"", statusAndBody(get("/identity/7")));
  }

  private static String get(String path) {
    return TestServer.get(path);
  }

  @Test
  void shouldRefuseNamesWithASlashOrANul() throws IOException {
    assertEquals("400 \"path: a path segment contains '/'\"", statusAndBody(get("/map/a%2Fb")));
    assertEquals("400 \"path: contains a control character\"", statusAndBody(get("/map/a%00b")));
    assertEquals("404 \"name: map '..' does not exist\"", statusAndBody(get("/map/%2e%2e")));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "GET /map/a%zz HTTP/1.1~Host: x~~|request: its line or its headers are malformed",
        "GET /map/a\u00e9 HTTP/1.1~Host: x~~|request: its line or its headers are malformed",
        "GET /endpoint?labels=%zz HTTP/1.1~Host: x~~|request: its line or its headers are",
        "GET /map/a b HTTP/1.1~Host: x~~|request: its line or its headers are malformed",
        "GET /healthz HTTP/1.1~Host: x~no header~~|request: its line or its headers are malformed",
        "GET /healthz HTTP/1.1~~|Host: No Host Header",
        "GET /healthz HTTP/1.1~Host: x~Host: y~~|Host: Only One Host Header Allowed",
        "PUT /policy HTTP/1.1~Host: x~Transfer-Encoding: gzip~~[]"
            + "|Transfer-Encoding: 'gzip' is not chunked",
      })
  void shouldTellInJsonWhatTheGrammarOfHttpDoesNotAllow(String request, String message)
      throws IOException {
    final String answer = statusAndBody(request.replace("~", "\r\n"));
    assertTrue(answer.startsWith("400 \"" + message), answer);
    assertTrue(answer.endsWith("\""), answer);
  }

  @Test
  void shouldAnswerHalfARequestWhoseSenderStillListens() throws IOException {
    final int before = SERVED.get();
    try (RawClient client = server.connect()) {
      client.send("PUT /policy HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n[]");
      client.shutdownOutput();
      final String answer = client.readAnswer();
      assertTrue(answer.startsWith("HTTP/1.1 400 "), answer);
      assertTrue(answer.endsWith("\"body: incomplete\""), answer);
    }
    assertEquals(before, SERVED.get());
  }

  @Test
  void shouldCutAMessageThatQuotesALargeValue() throws IOException {
    final String answer = put("/endpoint/7", "{'state':'ready','" + "k".repeat(40_000) + "':1}");
    assertTrue(answer.startsWith("400 \"kkk"), answer);
    assertTrue(answer.length() < 1100, () -> answer.length() + " characters");
    final String longPath = statusAndBody(get("/map/" + "m".repeat(10_000)));
    assertTrue(longPath.startsWith("404 \"name: map 'mmm"), longPath);
    assertTrue(longPath.endsWith("mmm' does not exist\""), longPath);
    assertTrue(longPath.length() < 1100, () -> longPath.length() + " characters");
  }

  @Test
  void shouldRefuseUnknownAndRepeatedQueryParameters() throws IOException {
    assertEquals(
        "400 \"colour: unknown query parameter\"", statusAndBody(get("/endpoint?colour=1")));
    assertEquals(
        "400 \"family: duplicate query parameter\"",
        statusAndBody(TestServer.request("POST", "/ipam?family=ipv4&family=ipv6", "")));
  }

  @Test
  void shouldTakeLabelsFromTheQueryOrFromTheBody() throws IOException {
    assertEquals("200 [\"a=1\",\"b\"]", statusAndBody(get("/endpoint?labels=a%3D1&labels=b")));
    assertEquals(
        "200 [\"a=1\"]", statusAndBody(TestServer.request("GET", "/endpoint", "[\"a=1\"]")));
    assertEquals("200 null", statusAndBody(get("/endpoint")));
    assertEquals(
        "400 \"labels: is given both in the query and in the body\"",
        statusAndBody(TestServer.request("GET", "/endpoint?labels=a", "[]")));
    assertTrue(statusAndBody(TestServer.request("GET", "/endpoint", "{}")).startsWith("400 "));
  }

  @Test
  void shouldReadBodiesAsJsonAndRefuseOtherTypes() throws IOException {
    final String head = "PUT /policy HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Type: ";
    assertEquals("200 0", statusAndBody(head + "application/json; charset=utf-8\r\n\r\n[]"));
    assertEquals("200 0", statusAndBody(head + "Application/JSON\r\n\r\n[]"));
    assertEquals(
        "415 \"Content-Type: 'text/yaml' is not application/json\"",
        statusAndBody(head + "text/yaml\r\n\r\n[]"));
  }

  @Test
  void shouldReadSwitchesInHeaders() throws IOException {
    final String head = "GET /healthz HTTP/1.1\r\nHost: x\r\nbrief: ";
    assertEquals("200 true", statusAndBody(head + "true\r\n\r\n"));
    assertEquals("200 false", statusAndBody(head + "False\r\n\r\n"));
    assertEquals(
        "400 \"brief: 'maybe' is neither true nor false\"", statusAndBody(head + "maybe\r\n\r\n"));
  }

  @Test
  void shouldTellRefusalsThatCameThroughAFuture() throws IOException {
    assertEquals(
        "409 \"ip: is busy\"", statusAndBody(TestServer.request("DELETE", "/ipam/10.1.0.7", "")));
  }

  @Test
  void shouldAnswerAFailedOperationWithItsMessage() throws IOException {
    assertEquals(
        "500 \"map policy_00012: update: EPERM\"",
        statusAndBody(TestServer.request("DELETE", "/policy", "")));
  }

  @Test
  void shouldTellNoStackTrace() throws IOException {
    assertEquals("500 \"internal error: first line\"", statusAndBody(get("/policy")));
  }

  @Test
  void shouldAnswer503WhileStartingToAllButStatusAndMetrics() throws IOException {
    try (TestServer starting =
        TestServer.starting(
            Map.of(
                Route.GET_HEALTHZ,
                request -> Answer.ok("starting"),
                Route.GET_METRICS,
                request -> Answer.ok("none")))) {
      assertTrue(starting.exchange(get("/healthz")).endsWith("\"starting\""));
      assertTrue(starting.exchange(get("/metrics/")).endsWith("\"none\""));
      for (final String path : new String[] {"/endpoint", "/health", "/nothing", "/map/x"}) {
        final String answer = starting.exchange(get(path));
        assertTrue(answer.startsWith("HTTP/1.1 503 "), answer);
        assertTrue(answer.endsWith("\"the agent is starting\""), answer);
      }
      starting.server().serve(RouteTable.of(TestServer.withNames(Map.of())));
      assertTrue(starting.exchange(get("/health")).endsWith("\"getHealth\""));
    }
  }

  @Test
  void shouldAnswer429OverTheRate() throws IOException {
    final RateLimits limits = RateLimits.parse(Map.of("read", "1/m"), () -> 0L);
    try (TestServer limited = TestServer.start(new ApiContext().rateLimits(limits), Map.of())) {
      assertTrue(limited.exchange(get("/map")).startsWith("HTTP/1.1 200 "));
      final String answer = limited.exchange(get("/map"));
      assertTrue(answer.startsWith("HTTP/1.1 429 "), answer);
      assertTrue(answer.contains("\r\nRetry-After: 60\r\n"), answer);
    }
  }

  /** Whatever the body, the answer is 400 in the contract's form, or the call was a good one. */
  @Test
  void shouldReadOrRefuseAnyBody() throws IOException {
    final Random random = new Random(20261120);
    final String good =
        "[{\"endpointSelector\":{\"matchLabels\":{\"a\":\"b\"}},\"ingress\":[{\"fromCIDR\":"
            + "[\"10.0.0.0/8\"],\"toPorts\":[{\"ports\":[{\"port\":80,\"protocol\":\"TCP\"}]}]}]}]";
    try (RawClient client = server.connect()) {
      for (int round = 0; round < 3000; round++) {
        final String body = mutated(random, good);
        final int before = SERVED.get();
        final String answer = client.send(TestServer.request("PUT", "/policy", body)).readAnswer();
        if (answer.startsWith("HTTP/1.1 200 ")) {
          assertEquals(before + 1, SERVED.get());
        } else {
          assertTrue(answer.startsWith("HTTP/1.1 400 "), answer);
          assertEquals(before, SERVED.get());
          final String message =
              WireFormat.strictMapper()
                  .readValue(answer.substring(answer.indexOf("\r\n\r\n") + 4), String.class);
          assertTrue(message.contains(": "), message);
          assertFalse(message.contains("\tat ") || message.contains("tools.jackson"), message);
        }
      }
    }
  }

  private static String mutated(Random random, String good) {
    final String alphabet = "{}[]\",:019truefalsn\\ab\u0000\u00e9 \n";
    final StringBuilder text = new StringBuilder(good);
    for (int i = random.nextInt(5); i >= 0; i--) {
      final int at = random.nextInt(text.length());
      final char c = alphabet.charAt(random.nextInt(alphabet.length()));
      switch (random.nextInt(4)) {
        case 0 -> text.setCharAt(at, c);
        case 1 -> text.insert(at, c);
        case 2 -> text.deleteCharAt(at);
        default -> text.insert(at, text.substring(random.nextInt(at + 1), at));
      }
    }
    return text.toString();
  }
}
