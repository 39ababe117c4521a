package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Content-Encoding: gzip is decoded within the limit of the body, others are refused. */
@Timeout(60)
class ContentCodingTest {
  private static final int LIMIT = 100_000;

  private TestServer server;

  @BeforeEach
  void start() throws IOException {
    server =
        TestServer.start(
            new ApiContext().maxBodyBytes(LIMIT),
            Map.of(
                Route.PUT_POLICY,
                request -> Answer.ok(request.bodyList(String.class).getFirst().length())));
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private static byte[] gzip(String text) throws IOException {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return bytes.toByteArray();
  }

  private static String body(int bytes) {
    return "[\"" + "x".repeat(bytes - 4) + "\"]";
  }

  private String answer(String coding, byte[] body) throws IOException {
    final String head =
        "PUT /policy HTTP/1.1\r\nHost: x\r\nContent-Encoding: "
            + coding
            + "\r\nContent-Length: "
            + body.length
            + "\r\n\r\n";
    try (RawClient client = server.connect()) {
      client.send(head).send(body);
      return client.readAnswer();
    }
  }

  private static String status(String answer) {
    return answer.substring(9, 13) + answer.substring(answer.indexOf("\r\n\r\n") + 4);
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "GZIP", "x-gzip", " gzip "})
  void shouldDecodeGzip(String coding) throws IOException {
    assertEquals("200 " + (LIMIT - 4), status(answer(coding, gzip(body(LIMIT)))));
  }

  @Test
  void shouldTakeIdentityAsNoCoding() throws IOException {
    assertEquals(
        "200 96", status(answer("identity", body(100).getBytes(StandardCharsets.US_ASCII))));
  }

  @Test
  void shouldCountTheDecodedBytesAgainstTheLimit() throws IOException {
    final byte[] small = gzip(body(LIMIT + 1));
    assertTrue(small.length < LIMIT / 10, small.length + " bytes");
    assertEquals("413 \"body: larger than " + LIMIT + " bytes\"", status(answer("gzip", small)));
    assertTrue(status(answer("gzip", gzip(body(50_000_000)))).startsWith("413 "));
  }

  @ParameterizedTest
  @ValueSource(strings = {"deflate", "br", "gzip, gzip", "zstd"})
  void shouldRefuseAnotherCoding(String coding) throws IOException {
    final String answer = answer(coding, gzip(body(100)));
    assertEquals("415 \"Content-Encoding: '" + coding + "' is not gzip\"", status(answer));
    assertTrue(answer.contains("Accept-Encoding: gzip\r\n"), answer);
  }

  @Test
  void shouldRefuseWhatIsNotGzipOrEndsEarly() throws IOException {
    final String refused = "400 \"body: is not gzip, but Content-Encoding says gzip\"";
    assertEquals(refused, status(answer("gzip", body(100).getBytes(StandardCharsets.US_ASCII))));
    final byte[] whole = gzip(body(1000));
    assertEquals(refused, status(answer("gzip", Arrays.copyOf(whole, whole.length - 9))));
    whole[whole.length / 2] ^= 0x55;
    assertTrue(status(answer("gzip", whole)).startsWith("400 "));
  }
}
