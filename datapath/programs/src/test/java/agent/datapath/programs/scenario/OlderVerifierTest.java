package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks rules of the verifier of kernel 6.1 that the running kernel may not enforce. */
class OlderVerifierTest {
  private static final int STACK_BYTES = 512;
  private static final Pattern LOOP = Pattern.compile("\\s*(for|while|do)\\s*[({].*");
  private static final String UNROLLED = "unrolled";

  @ParameterizedTest
  @ValueSource(
      strings = {
        "endpoint",
        "host",
        "prefilter",
        "balancer",
        "prefilter_balancer",
        "conntrack_gc",
        "socket",
        "socket_find",
        "socket_end",
        "proxy_filter",
        "closed"
      })
  void shouldStayWithinTheStackLimitOfOlderKernels(String object) throws IOException {
    final CallChains.Chain deepest = CallChains.deepest(read("/bpf/" + object + ".bpf.o"));
    assertFalse(deepest.functions().isEmpty());
    assertTrue(deepest.bytes() <= STACK_BYTES, deepest::toString);
  }

  @Test
  void shouldUnrollEveryLoop() throws IOException {
    final List<String> rolled = new ArrayList<>();
    int loops = 0;
    for (final String file : text("/bpf/src/index").split("\\s+")) {
      if (!file.matches("(include|programs)/.*\\.[ch]")) {
        continue;
      }
      String before = "";
      for (final String line : text("/bpf/src/" + file).lines().toList()) {
        if (LOOP.matcher(line).matches()) {
          loops++;
          if (!before.strip().equals(UNROLLED)) {
            rolled.add(file + ": " + line.strip());
          }
        }
        before = line;
      }
    }
    assertTrue(loops > 0, "no loop was found");
    assertEquals(List.of(), rolled);
  }

  private static String text(String path) throws IOException {
    return new String(read(path), StandardCharsets.UTF_8);
  }

  private static byte[] read(String path) throws IOException {
    try (InputStream stream = OlderVerifierTest.class.getResourceAsStream(path)) {
      assertTrue(stream != null, path + " is not on the class path");
      return stream.readAllBytes();
    }
  }
}
