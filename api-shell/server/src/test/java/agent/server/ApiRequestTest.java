package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.contract.WireFormat;
import agent.types.Refusal;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.json.JsonMapper;

/** What a handler reads of a request: parameters, header fields and the body. */
class ApiRequestTest {
  private static final JsonMapper MAPPER = WireFormat.strictMapper();
  private static final BodyLimits LIMITS = new BodyLimits(2, 9, 9, 9, 9, 3);

  /** What is sent in a body. */
  record Named(String name) {}

  private static ApiRequest request(
      Route route,
      Map<String, String> path,
      Map<String, List<String>> query,
      Map<String, String> headers,
      String body) {
    return new ApiRequest(
        new RouteTable.Match(route, null, path),
        query,
        headers::get,
        new ApiRequest.Body() {
          @Override
          public boolean isPresent() {
            return body != null;
          }

          @Override
          public InputStream open() {
            return new ByteArrayInputStream(
                body.replace('\'', '"').getBytes(StandardCharsets.UTF_8));
          }
        },
        MAPPER,
        LIMITS,
        7);
  }

  private static ApiRequest withQuery(Route route, Map<String, List<String>> query) {
    return request(route, Map.of(), query, Map.of(), null);
  }

  private static ApiRequest withPath(String value) {
    return request(Route.GET_IDENTITY, Map.of("id", value), Map.of(), Map.of(), null);
  }

  private static ApiRequest withBody(String body) {
    return request(Route.LIST_ENDPOINTS, Map.of(), Map.of(), Map.of(), body);
  }

  private static void assertRefused(int status, String message, Runnable call) {
    final HttpRefusal refusal = assertThrows(HttpRefusal.class, call::run);
    assertEquals(status + " " + message, refusal.status() + " " + refusal.getMessage());
  }

  @Test
  void shouldTakeOnlyTheQueryParametersOfTheCallEachOnce() {
    assertRefused(
        400,
        "owner: unknown query parameter",
        () -> withQuery(Route.RELEASE_ADDRESS, Map.of("owner", List.of("a"))));
    assertRefused(
        400,
        "pool: duplicate query parameter",
        () -> withQuery(Route.RELEASE_ADDRESS, Map.of("pool", List.of("a", "a"))));
    final Map<String, List<String>> query =
        Map.of("replace", List.of("true"), "replace-with-labels", List.of("a", "b"));
    final ApiRequest request = withQuery(Route.PUT_POLICY, query);
    assertEquals(List.of("a", "b"), request.queryAll("replace-with-labels"));
    assertEquals("a", request.query("replace-with-labels"));
    assertEquals("true", request.query("replace"));
    assertNull(request.query("labels"));
    assertEquals(List.of(), request.queryAll("labels"));
    assertEquals(7, request.changes());
  }

  @Test
  void shouldReadSwitchesInTheQueryAndInHeaders() {
    for (final String on : new String[] {"", "true", "TRUE"}) {
      assertEquals(List.of(true, true), switches(on), on);
    }
    for (final String off : new String[] {"false", "False"}) {
      assertEquals(List.of(false, false), switches(off), off);
    }
    final ApiRequest without = withQuery(Route.PUT_POLICY, Map.of());
    assertEquals(List.of(false, false), switches(without));
    assertRefused(400, "replace: 'yes' is neither true nor false", () -> switches("yes"));
  }

  private static List<Boolean> switches(String value) {
    return switches(
        request(
            Route.PUT_POLICY,
            Map.of(),
            Map.of("replace", List.of(value)),
            Map.of("brief", value),
            null));
  }

  private static List<Boolean> switches(ApiRequest request) {
    return List.of(request.querySwitch("replace"), request.headerSwitch("brief"));
  }

  @Test
  void shouldReadAHeaderOrNothing() {
    final ApiRequest request =
        request(Route.GET_POLICY, Map.of(), Map.of(), Map.of("brief", "x"), null);
    assertEquals("x", request.header("brief"));
    assertEquals("", request.header("other"));
  }

  @Test
  void shouldReadTheNumbersThatAnObjectCanHave() {
    assertEquals(1, withPath("1").pathNumber("id", "identity number"));
    assertEquals(2147483647, withPath("2147483647").pathNumber("id", "identity number"));
    assertEquals("007", withPath("007").path("id"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0", "-1", "x", "1 ", "2147483648", "9999999999", "00000000001"})
  void shouldRefuseEveryOtherNumber(String text) {
    final ApiRequest request = withPath(text);
    final Refusal refusal =
        assertThrows(Refusal.class, () -> request.pathNumber("id", "identity number"));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertEquals("id: '" + text + "' is not a valid identity number", refusal.getMessage());
  }

  @Test
  void shouldDecodeItsBody() {
    assertEquals(new Named("a"), withBody("{'name':'a'}").body(Named.class));
    assertEquals(
        List.of(new Named("a"), new Named("b")),
        withBody("[{'name':'a'},{'name':'b'}]").bodyList(Named.class));
    assertRefused(
        413,
        "body: more than 2 rules in one request (--max-policy-rules)",
        () -> withBody("[{},{},{}]").bodyList(Named.class));
    assertRefused(
        400, "body: is missing; JSON is expected", () -> withBody(null).body(Named.class));
    assertRefused(
        400, "body: is missing; JSON is expected", () -> withBody(null).bodyList(Named.class));
    final RuntimeException refusal = ApiRequest.badBody("name", "is too long");
    assertRefused(
        400,
        "name: is too long",
        () -> {
          throw refusal;
        });
  }

  @Test
  void shouldTakeLabelsFromTheBodyOrFromTheQuery() {
    final Map<String, List<String>> query = Map.of("labels", List.of("a", "b"));
    assertEquals(Optional.of(List.of("c", "d")), withBody("['c','d']").labels());
    assertEquals(Optional.of(List.of()), withBody("[]").labels());
    assertEquals(Optional.of(List.of("a", "b")), withQuery(Route.LIST_ENDPOINTS, query).labels());
    assertEquals(Optional.empty(), withBody(null).labels());
    assertRefused(
        413,
        "[3]: more than 3 labels and options in one request (--max-labels)",
        () -> withBody("['a','b','c','d']").labels());
    final ApiRequest both = request(Route.LIST_ENDPOINTS, Map.of(), query, Map.of(), "['c']");
    assertRefused(400, "labels: is given both in the query and in the body", both::labels);
  }

  @Test
  void shouldWaitForAResultAndTellItsFailure() throws Exception {
    assertEquals("a", ApiRequest.await(CompletableFuture.completedFuture("a")));
    final IllegalStateException failure = new IllegalStateException("planned");
    assertSame(
        failure,
        assertThrows(
                ExecutionException.class,
                () -> ApiRequest.await(CompletableFuture.failedFuture(failure)))
            .getCause());
  }
}
