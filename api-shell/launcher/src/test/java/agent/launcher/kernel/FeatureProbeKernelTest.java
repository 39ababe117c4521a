package agent.launcher.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;

/** The kernel's own configuration says what the probes must find. */
@KernelTest
class FeatureProbeKernelTest {
  private static final Path PACKED = Path.of("/proc/config.gz");
  private static final Path PLAIN = Path.of("/boot/config-" + System.getProperty("os.version"));

  private final FeatureProbe probe = new FeatureProbe();

  @Test
  void shouldFindWhatTheKernelIsBuiltWithout() throws IOException {
    final Optional<Set<String>> builtIn = builtIn();
    holds(builtIn, "CONFIG_GENEVE", probe.missingSymbol("tunnel", "geneve"));
    holds(builtIn, "CONFIG_VXLAN", probe.missingSymbol("tunnel", "vxlan"));
    holds(builtIn, "CONFIG_IPVLAN", probe.missingSymbol("datapath-mode", "ipvlan"));
    holds(builtIn, "CONFIG_INET_ESP", probe.missingSymbol("enable-ipsec", "true"));
  }

  @Test
  void shouldMissNothingWhereNothingIsAskedOfTheKernel() {
    assertEquals(Optional.empty(), probe.missingSymbol("tunnel", "disabled"));
    assertEquals(Optional.empty(), probe.missingSymbol("mtu", "1400"));
  }

  /** A kernel that does not show its configuration may at least not miss another symbol. */
  private static void holds(
      Optional<Set<String>> builtIn, String symbol, Optional<String> missing) {
    if (builtIn.isPresent()) {
      assertEquals(
          builtIn.get().contains(symbol) ? Optional.empty() : Optional.of(symbol), missing);
    } else {
      assertTrue(missing.isEmpty() || missing.get().equals(symbol), missing.toString());
    }
  }

  private static Optional<Set<String>> builtIn() throws IOException {
    if (Files.exists(PACKED)) {
      try (InputStream content = new GZIPInputStream(Files.newInputStream(PACKED))) {
        return Optional.of(builtIn(content));
      }
    }
    if (Files.exists(PLAIN)) {
      try (InputStream content = Files.newInputStream(PLAIN)) {
        return Optional.of(builtIn(content));
      }
    }
    return Optional.empty();
  }

  private static Set<String> builtIn(InputStream content) {
    return new BufferedReader(new InputStreamReader(content, StandardCharsets.US_ASCII))
        .lines()
        .filter(line -> line.endsWith("=y") || line.endsWith("=m"))
        .map(line -> line.substring(0, line.indexOf('=')))
        .collect(Collectors.toSet());
  }
}
