package agent.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;

class KernelClockTest {
  private static final Path CONFIGURATION = Path.of("/proc/config.gz");

  @Test
  void shouldReadTheTicksOfThisKernel() throws IOException {
    final int hertz = KernelClock.tickHertz();
    assertTrue(Set.of(100, 250, 300, 1000).contains(hertz), "kernel/Kconfig.hz: " + hertz);
    if (Files.exists(CONFIGURATION)) {
      assertEquals(configured(), hertz);
    }
  }

  private static int configured() throws IOException {
    try (InputStream in = new GZIPInputStream(Files.newInputStream(CONFIGURATION))) {
      final Matcher line =
          Pattern.compile("^CONFIG_HZ=(\\d+)$", Pattern.MULTILINE)
              .matcher(new String(in.readAllBytes(), StandardCharsets.US_ASCII));
      assertTrue(line.find(), "CONFIG_HZ");
      return Integer.parseInt(line.group(1));
    }
  }
}
