package agent.launcher.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import agent.testkit.KernelTest;
import java.io.BufferedReader;
import java.io.IOException;
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
  private static final Path CONFIGURATION = Path.of("/proc/config.gz");

  private final FeatureProbe probe = new FeatureProbe();

  @Test
  void shouldFindWhatTheKernelIsBuiltWithout() throws IOException {
    assumeTrue(Files.exists(CONFIGURATION), "this kernel does not show its configuration");
    final Set<String> builtIn = builtIn();
    assertEquals(expected(builtIn, "CONFIG_GENEVE"), probe.missingSymbol("tunnel", "geneve"));
    assertEquals(expected(builtIn, "CONFIG_VXLAN"), probe.missingSymbol("tunnel", "vxlan"));
    assertEquals(
        expected(builtIn, "CONFIG_IPVLAN"), probe.missingSymbol("datapath-mode", "ipvlan"));
    assertEquals(expected(builtIn, "CONFIG_INET_ESP"), probe.missingSymbol("enable-ipsec", "true"));
  }

  @Test
  void shouldMissNothingWhereNothingIsAskedOfTheKernel() {
    assertEquals(Optional.empty(), probe.missingSymbol("tunnel", "disabled"));
    assertEquals(Optional.empty(), probe.missingSymbol("mtu", "1400"));
  }

  private static Optional<String> expected(final Set<String> builtIn, final String symbol) {
    return builtIn.contains(symbol) ? Optional.empty() : Optional.of(symbol);
  }

  private static Set<String> builtIn() throws IOException {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(
                new GZIPInputStream(Files.newInputStream(CONFIGURATION)),
                StandardCharsets.US_ASCII))) {
      return lines
          .lines()
          .filter(line -> line.endsWith("=y") || line.endsWith("=m"))
          .map(line -> line.substring(0, line.indexOf('=')))
          .collect(Collectors.toSet());
    }
  }
}
