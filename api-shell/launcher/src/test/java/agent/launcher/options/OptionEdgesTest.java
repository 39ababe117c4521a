package agent.launcher.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The edges of what an option may be. */
class OptionEdgesTest {
  @TempDir private Path folder;

  private static OptionValues read(String... arguments) {
    return OptionValues.read(List.of(arguments), Map.of());
  }

  private static void refuses(String message, String... arguments) {
    assertEquals(message, assertThrows(OptionException.class, () -> read(arguments)).getMessage());
  }

  @Test
  void shouldReadEveryShortForm() {
    assertEquals("eth0", read("-d", "eth0").text("device"));
    assertEquals("eth0", read("-deth0").text("device"));
    assertEquals("eth0", read("-d=eth0").text("device"));
    assertEquals("", read("-d=").text("device"));
    assertTrue(read("-D").bool("debug"));
    assertFalse(read("-D=false").bool("debug"));
    assertFalse(read("-D0").bool("debug"));
    assertEquals("a=b", read("--device=a=b").text("device"));
  }

  @Test
  void shouldRefuseWhatIsNoOption() {
    final String end = ": unexpected argument";
    refuses("-" + end, "-");
    refuses("--" + end, "--");
    refuses(end, "");
    refuses("--: unknown option", "--=x");
    refuses("-x: unknown option", "-xyz");
    refuses("-d: missing value", "-d");
    refuses("--device: missing value", "-D", "--device");
  }

  @Test
  void shouldTakeTheLastValueOfARepeatedOptionAndAllOfAList() {
    assertEquals("b", read("--device=a", "--device=b").text("device"));
    assertEquals(7, read("--mtu=5", "--mtu=7").number("mtu"));
    assertEquals(
        List.of("a", "b", "c d"), read("--labels= a ,,b", "--labels", "c d, ").texts("labels"));
    assertEquals(Map.of("a", "1=2", "b", ""), read("--kvstore-opt=a=1=2,b=").pairs("kvstore-opt"));
    refuses("--kvstore-opt: not in the form key=value", "--kvstore-opt==1");
  }

  @Test
  void shouldReadTrueAndFalseAndDurations() {
    for (final String yes : List.of("true", "1")) {
      assertTrue(read("--debug=" + yes).bool("debug"));
    }
    for (final String no : List.of("false", "0")) {
      assertFalse(read("--debug=" + no).bool("debug"));
    }
    final Map<String, Integer> durations =
        Map.of(
            "7", 7, "7s", 7, "2m", 120, "1h", 3600, "1h2m3s", 3723, "1h3s", 3603, "0h0m9s", 9,
            "86400", 86_400);
    durations.forEach(
        (text, seconds) ->
            assertEquals(
                (long) seconds,
                read("--conntrack-garbage-collector-interval=" + text)
                    .number("conntrack-garbage-collector-interval"),
                text));
    for (final String bad : List.of("", "s", "3s2m", "1.5s", "1d", "-")) {
      refuses(
          "--http-idle-timeout: '" + bad + "': neither seconds nor a duration such as 5m0s",
          "--http-idle-timeout=" + bad);
    }
  }

  @Test
  void shouldTakeTheLowestAndTheHighestNumber() {
    assertEquals(1024, read("--api-max-body=1024").number("api-max-body"));
    assertEquals(Integer.MAX_VALUE, read("--api-max-body=2147483647").number("api-max-body"));
    refuses("--api-max-body: '1023': not between 1024 and 2147483647", "--api-max-body=1023");
    refuses(
        "--api-max-body: '2147483648': not between 1024 and 2147483647",
        "--api-max-body=2147483648");
    refuses(
        "--conntrack-garbage-collector-interval: '24h0m1s': not between 1 and 86400",
        "--conntrack-garbage-collector-interval=24h0m1s");
    refuses(
        "--bpf-ct-global-tcp-max: '16777217': not between 1024 and 16777216",
        "--bpf-ct-global-tcp-max=16777217");
    assertEquals("native", read("--prefilter-mode=NATIVE").text("prefilter-mode"));
  }

  @Test
  void shouldTellGivenFromDefaultAndUnknownVariables() {
    final OptionValues values =
        OptionValues.read(
            List.of("--device=undefined"),
            Map.of(
                "AGENT_MTU",
                "1400",
                "AGENT_HOST",
                "unix:///x",
                "AGENT_X",
                "1",
                "OTHER_AGENT_",
                "1"));
    assertTrue(values.isGiven("device"));
    assertTrue(values.isGiven("mtu"));
    assertFalse(values.isGiven("state-dir"));
    assertEquals(List.of("AGENT_X"), values.unknownVariables());
    assertEquals("AGENT_STATE_DIR", OptionTable.byName("state-dir").environmentName());
  }

  @Test
  void shouldUseTheFileInTheHomeFolderOnlyWhereItIsAndNoneIsNamed() throws IOException {
    final Map<String, String> home = Map.of("HOME", folder.toString());
    assertEquals(0, OptionValues.read(List.of(), home).number("mtu"));
    Files.writeString(folder.resolve("agent.yaml"), "mtu: 1400\n");
    assertEquals(1400, OptionValues.read(List.of(), home).number("mtu"));
    final Path other = Files.writeString(folder.resolve("other.yaml"), "mtu: 1300\n");
    assertEquals(1300, OptionValues.read(List.of("--config=" + other), home).number("mtu"));
    assertEquals(
        other.toString(),
        OptionValues.read(List.of("--config=" + folder + "/./other.yaml"), home).configFile());
    assertEquals(0, OptionValues.read(List.of(), Map.of()).number("mtu"));
  }

  @Test
  void shouldReadAFileOfTheLargestSizeAndDepth() throws IOException {
    final Path file = folder.resolve("file");
    final String start = "mtu: 1400\n#";
    Files.writeString(file, start + "x".repeat((1 << 20) - start.length()));
    assertEquals(1400, read("--config=" + file).number("mtu"));
    Files.writeString(file, "device: " + "[".repeat(7) + "]".repeat(7) + "\n");
    refuses("--device: not a string in --config " + file + ", line 1", "--config=" + file);
    Files.writeString(file, "device: " + "[".repeat(8) + "]".repeat(8) + "\n");
    refuses("--config " + file + ": line 1: nested too deeply", "--config=" + file);
    Files.writeString(file, "labels:\n  - a\n  - [b]\n");
    refuses("--labels: not a strings in --config " + file + ", line 3", "--config=" + file);
    Files.writeString(file, "kvstore-opt:\n  a: 1\n  b: [c]\n");
    refuses("--kvstore-opt: not a map in --config " + file + ", line 3", "--config=" + file);
    Files.writeString(file, "labels: {a: b}\n");
    refuses("--labels: not a strings in --config " + file + ", line 1", "--config=" + file);
    Files.writeString(file, "? [a]\n: 1\n");
    refuses("--config " + file + ": not YAML", "--config=" + file);
    for (final String empty : List.of("", "# nothing\n", "null\n", "---\n")) {
      Files.writeString(file, empty);
      assertEquals(0, read("--config=" + file).number("mtu"), empty);
    }
  }

  /** Every list and mapping of a file is closed again before the next one begins. */
  @Test
  void shouldCountTheDepthAndNotTheNumberOfLists() throws IOException {
    final Path file = folder.resolve("file");
    Files.writeString(
        file,
        "labels: [a]\nlog-driver: [b]\ndebug-verbose: [c]\nagent-labels: [d]\nkvstore-opt: {e: f}\n"
            + "log-opt: {g: h}\napi-rate-limit: {i: j}\ncontainer-runtime: [k]\n"
            + "fixed-identity-mapping: {l: m}\n");
    final OptionValues values = read("--config=" + file);
    assertEquals(List.of("k"), values.texts("container-runtime"));
    assertEquals(Map.of("l", "m"), values.pairs("fixed-identity-mapping"));
  }
}
