package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When the limits of a request end it, on a clock that the test moves. */
class ExchangeTimersTest {
  private static final String NO_END = "no end of the response";
  private static final String NO_TRAFFIC = "no traffic";

  private final EmbeddedSocket client = new EmbeddedSocket();
  private final ExchangeTimers timers = new ExchangeTimers(client.eventLoop());
  private final List<String> expired = new ArrayList<>();
  private final HttpProxyContext context = new HttpProxyContext().requestTimeout(Duration.ZERO);

  private void start() throws BadRequestException {
    start(null, null);
  }

  private void start(String type, String timeout) throws BadRequestException {
    final DefaultHttpRequest head =
        new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/");
    if (type != null) {
      head.headers().set("content-type", type);
    }
    if (timeout != null) {
      head.headers().set("grpc-timeout", timeout);
    }
    timers.start(context, JudgedRequest.of(head, true, true, EscapedSlashes.REJECT), expired::add);
  }

  private void passNs(long ns) {
    client.advanceTimeBy(ns, TimeUnit.NANOSECONDS);
    client.runScheduledPendingTasks();
  }

  private void assertExpiresAfterNs(long ns, String what) {
    passNs(ns - 1);
    assertEquals(List.of(), expired);
    passNs(1);
    assertEquals(List.of(what), expired);
  }

  @Test
  void shouldHaveNoLimitWhereNoneIsSet() throws BadRequestException {
    start();
    start("application/grpc", null);
    assertEquals(-1, client.runScheduledPendingTasks());
  }

  @Test
  void shouldEndARequestAtItsLimit() throws BadRequestException {
    context.requestTimeout(Duration.ofNanos(1_000));
    start();
    timers.traffic();
    assertExpiresAfterNs(1_000, NO_END);
  }

  @Test
  void shouldEndARequestWithoutTrafficUnlessItIsGrpc() throws BadRequestException {
    context.idleTimeout(Duration.ofNanos(1_000));
    start("application/grpc", null);
    assertEquals(-1, client.runScheduledPendingTasks());
    start();
    passNs(999);
    timers.traffic();
    passNs(1);
    assertEquals(List.of(), expired);
    passNs(500);
    timers.traffic();
    passNs(498);
    assertEquals(List.of(), expired);
    assertExpiresAfterNs(502, NO_TRAFFIC);
    passNs(10_000);
    assertEquals(1, expired.size());
  }

  @ParameterizedTest
  @CsvSource({
    "1H, 3600000000000",
    "2M, 120000000000",
    "3S, 3000000000",
    "4m, 4000000",
    "5u, 5000",
    "6n, 6",
    "0S, 1",
    "99999999n, 99999999"
  })
  void shouldTakeTheTimeOfAGrpcClient(String text, long ns) throws BadRequestException {
    start("application/grpc", text);
    assertExpiresAfterNs(ns, NO_END);
  }

  @ParameterizedTest
  @CsvSource({"50n, 50", "2u, 1000", "1000n, 1000", "1s, 1000", "100000000n, 1000", ", 1000"})
  void shouldTakeTheShorterOneOfOptionAndClient(String text, long ns) throws BadRequestException {
    context.grpcTimeout(Duration.ofNanos(1_000)).requestTimeout(Duration.ofNanos(5_000));
    start("application/grpc", text);
    assertExpiresAfterNs(ns, NO_END);
  }

  @Test
  void shouldEndGrpcAtTheLimitOfAllRequestsToo() throws BadRequestException {
    context.grpcTimeout(Duration.ofNanos(9_000)).requestTimeout(Duration.ofNanos(5_000));
    start("application/grpc", "8u");
    assertExpiresAfterNs(5_000, NO_END);
  }

  @Test
  void shouldNotLimitOtherRequestsByTheOptionOfGrpc() throws BadRequestException {
    context.grpcTimeout(Duration.ofNanos(1_000));
    start("text/plain", "1n");
    assertEquals(-1, client.runScheduledPendingTasks());
  }

  @Test
  void shouldWaitForAResponseFromTheLastAttemptOn() {
    timers.retry(Duration.ofNanos(100), () -> expired.add("retry"));
    passNs(60);
    timers.retry(Duration.ofNanos(100), () -> expired.add("again"));
    assertExpiresAfterNs(100, "again");
    timers.retry(Duration.ofNanos(100), () -> expired.add("third"));
    timers.retry(Duration.ZERO, () -> expired.add("never"));
    passNs(1_000);
    assertEquals(List.of("again"), expired);
    timers.retry(Duration.ofNanos(100), () -> expired.add("fourth"));
    timers.stopRetry();
    passNs(1_000);
    assertEquals(List.of("again"), expired);
  }

  @Test
  void shouldLimitWhatIsLeftOfARequest() {
    timers.drain(Duration.ofNanos(100), () -> expired.add("drain"));
    assertExpiresAfterNs(100, "drain");
  }

  @Test
  void shouldEndNothingAfterItsStop() throws BadRequestException {
    context.requestTimeout(Duration.ofNanos(100)).idleTimeout(Duration.ofNanos(50));
    start();
    timers.retry(Duration.ofNanos(100), () -> expired.add("retry"));
    timers.stop();
    assertEquals(-1, client.runScheduledPendingTasks());
    timers.stop();
    timers.drain(Duration.ofNanos(100), () -> expired.add("drain"));
    timers.stop();
    passNs(1_000);
    assertEquals(List.of(), expired);
  }
}
