package agent.bindings.bpf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KernelFunctionsTest {
  private static final byte[] WANTED = "\0wanted\0".getBytes(StandardCharsets.US_ASCII);

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 65_530, 65_532, 65_536, 200_000})
  void shouldFindANameWhereverItStands(int offset) throws IOException {
    final byte[] bytes = new byte[offset + WANTED.length + 70_000];
    Arrays.fill(bytes, (byte) 'x');
    System.arraycopy(WANTED, 0, bytes, offset, WANTED.length);
    assertTrue(KernelFunctions.contains(new ByteArrayInputStream(bytes), WANTED));
    assertTrue(KernelFunctions.contains(inSmallParts(bytes), WANTED));
    bytes[offset + WANTED.length - 1] = 's'; // another name that begins so
    assertFalse(KernelFunctions.contains(new ByteArrayInputStream(bytes), WANTED));
    assertFalse(KernelFunctions.contains(inSmallParts(bytes), WANTED));
  }

  private static InputStream inSmallParts(byte[] bytes) {
    return new ByteArrayInputStream(bytes) {
      @Override
      public synchronized int read(byte[] part, int offset, int length) {
        return super.read(part, offset, Math.min(length, 7));
      }
    };
  }

  @Test
  void shouldFindNothingInNothing() throws IOException {
    assertFalse(KernelFunctions.contains(InputStream.nullInputStream(), WANTED));
    assertEquals(8, WANTED.length);
  }
}
