package agent.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.junit.jupiter.api.Test;

/** How much of a body can be read, in either way. */
class BoundedBodyTest {
  private static final byte[] BYTES = {1, (byte) 0xff, 3};

  private static BoundedBody body(long limit) {
    return new BoundedBody(
        new ByteArrayInputStream(BYTES), limit, new BodyBudget(1024).take(BYTES.length));
  }

  @Test
  void shouldReadABodyOfTheLimit() throws IOException {
    final BoundedBody one = body(3);
    assertEquals("1 255 3 -1", one.read() + " " + one.read() + " " + one.read() + " " + one.read());
    assertArrayEquals(BYTES, body(3).readAllBytes());
  }

  @Test
  void shouldRefuseOneByteMore() throws IOException {
    final BoundedBody one = body(2);
    one.read();
    one.read();
    assertEquals(
        "body: larger than 2 bytes",
        assertThrows(BoundedBody.TooLargeException.class, one::read).getMessage());
    assertThrows(BoundedBody.TooLargeException.class, () -> body(2).readAllBytes());
    assertThrows(BoundedBody.TooLargeException.class, () -> body(2).read(new byte[8], 1, 5));
  }

  @Test
  void shouldTellThatTheClientIsGoneAndNeverCloseItsConnection() {
    final IOException reset = new IOException("connection reset");
    final boolean[] isClosed = {false};
    final BoundedBody gone =
        new BoundedBody(
            new InputStream() {
              @Override
              public int read() throws IOException {
                throw reset;
              }

              @Override
              public void close() {
                isClosed[0] = true;
              }
            },
            10,
            new BodyBudget(1024).take(0));
    final IOException failure = assertThrows(BoundedBody.ClientGoneException.class, gone::read);
    assertEquals("connection reset", failure.getMessage());
    assertSame(reset, failure.getCause());
    gone.close();
    assertFalse(isClosed[0]);
  }
}
