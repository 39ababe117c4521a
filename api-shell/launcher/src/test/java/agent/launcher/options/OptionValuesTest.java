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

class OptionValuesTest {
  @TempDir private Path folder;

  @Test
  void shouldTakeDefaultsWhereNothingIsGiven() {
    final OptionValues values = OptionValues.read(List.of(), Map.of());
    assertTrue(values.bool("enable-ipv6"));
    assertFalse(values.bool("debug"));
    assertEquals(1_000_000, values.number("bpf-ct-global-tcp-max"));
    assertEquals(300, values.number("kvstore-periodic-sync"));
    assertEquals("vxlan", values.text("tunnel"));
    assertEquals(List.of("auto"), values.texts("container-runtime"));
    assertEquals(Map.of(), values.pairs("kvstore-opt"));
    assertFalse(values.isGiven("tunnel"));
  }

  @Test
  void shouldPreferCommandLineToEnvironmentToFile() throws IOException {
    final Path file = file("enable-policy: never\nbpf-root: /file\ndevice: fromfile\n");
    final OptionValues values =
        OptionValues.read(
            List.of("--enable-policy", "always"),
            Map.of(
                "AGENT_CONFIG", file.toString(),
                "AGENT_ENABLE_POLICY", "default",
                "AGENT_BPF_ROOT", "/environment"));
    assertEquals("always", values.text("enable-policy"));
    assertEquals("/environment", values.text("bpf-root"));
    assertEquals("fromfile", values.text("device"));
  }

  @Test
  void shouldReadEveryFormOfTheCommandLine() {
    final OptionValues values =
        OptionValues.read(
            List.of(
                "--device=eth0",
                "-D",
                "--enable-ipv6=false",
                "--labels",
                "orch:app,orch:team",
                "--labels=any:tier",
                "-tdisabled",
                "--api-rate-limit",
                "endpoint=10,policy=2",
                "--conntrack-garbage-collector-interval=1m30s"),
            Map.of());
    assertEquals("eth0", values.text("device"));
    assertTrue(values.bool("debug"));
    assertFalse(values.bool("enable-ipv6"));
    assertEquals(List.of("orch:app", "orch:team", "any:tier"), values.texts("labels"));
    assertEquals("disabled", values.text("tunnel"));
    assertEquals(Map.of("endpoint", "10", "policy", "2"), values.pairs("api-rate-limit"));
    assertEquals(90, values.number("conntrack-garbage-collector-interval"));
  }

  @Test
  void shouldReadListsAndMappingsOfTheFile() throws IOException {
    final Path file =
        file("labels: [orch:app, any:tier]\napi-rate-limit: {policy: 5}\nenable-ipv4: false\n");
    final OptionValues values = OptionValues.read(List.of("--config", file.toString()), Map.of());
    assertEquals(List.of("orch:app", "any:tier"), values.texts("labels"));
    assertEquals(Map.of("policy", "5"), values.pairs("api-rate-limit"));
    assertFalse(values.bool("enable-ipv4"));
  }

  @Test
  void shouldReadTheStandardFileInTheHomeFolder() throws IOException {
    Files.writeString(folder.resolve("agent.yaml"), "mtu: 1400\n");
    final OptionValues values = OptionValues.read(List.of(), Map.of("HOME", folder.toString()));
    assertEquals(1400, values.number("mtu"));
  }

  @Test
  void shouldNameWhatIsUnknownOrBad() throws IOException {
    refuses("--no-such: unknown option", "--no-such=1");
    refuses("-x: unknown option", "-x");
    refuses("eth0: unexpected argument", "eth0");
    refuses("--device: missing value", "--device");
    refuses("--mtu: 'big': not a number", "--mtu", "big");
    refuses("--mtu: '65536': not between 0 and 65535", "--mtu=65536");
    refuses("--enable-ipv4: 'perhaps': not true or false", "--enable-ipv4=perhaps");
    refuses("--prefilter-mode: 'fast': not one of native, generic", "--prefilter-mode", "fast");
    refuses("--kvstore-opt: not in the form key=value", "--kvstore-opt", "secret");
    refuses(
        "--conntrack-garbage-collector-interval: '5x': neither seconds",
        "--conntrack-garbage-collector-interval",
        "5x");
    refuses("--config /no/such/file: cannot be read", "--config", "/no/such/file");
    refuses("--device: not a string", "--config", file("device: [a, b]\n").toString());
  }

  @Test
  void shouldNameTheLineOfAFileAndNeverItsText() throws IOException {
    refusesFile("line 1: unknown option", "secret: red\n");
    refusesFile("line 2: unknown option", "mtu: 1400\nsecret:\n");
    refusesFile("not YAML", "mtu: 1400\n? [secret, b]\n: 1\n");
    refusesFile("line 3: not YAML", "device: eth0\nlabels: [secret\nsecret: [\n");
    refusesFile("line 1: not YAML", "@secret\n");
    refusesFile("line 2: not YAML", "root:*:19000:\nsecret: *secret\n");
    refusesFile("not a mapping from options to values", "secret:x:0:0\nsecret:*:1\n");
    refusesFile("line 2: --mtu: duplicate option", "mtu: 1400\nmtu: 1500\n");
    refusesFile("line 1: nested too deeply", "secret: " + "[".repeat(100_000));
    refusesFile("cannot be read: larger than 1048576 bytes", "#".repeat(1 << 20) + "\n");
    final Path bytes = Files.createTempFile(folder, "agent", ".yaml");
    Files.write(bytes, new byte[] {'a', ':', (byte) 0xff});
    refuses(
        "--config " + bytes + ": cannot be read: it is not UTF-8 text",
        "--config",
        bytes.toString());
  }

  @Test
  void shouldReadOnlyARegularFile() throws Exception {
    refuses(
        "--config " + folder + ": cannot be read: not a regular file",
        "--config",
        folder.toString());
    final Path pipe = folder.resolve("pipe");
    assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
    refuses(
        "--config " + pipe + ": cannot be read: not a regular file", "--config", pipe.toString());
    refuses(
        "--config /no/such/file: cannot be read: it does not exist", "--config", "/no/such/file");
  }

  @Test
  void shouldTakeTheTextOfAValueAsItIsWritten() throws IOException {
    final Path file = file("cluster-name: 0x10\ndevice: ~\nipv4-node: 'a b'\nlabels:\n");
    final OptionValues values = OptionValues.read(List.of("--config", file.toString()), Map.of());
    assertEquals("0x10", values.text("cluster-name"));
    assertEquals("a b", values.text("ipv4-node"));
    assertEquals(List.of(), values.texts("labels"));
  }

  private void refusesFile(String why, String text) throws IOException {
    final Path file = file(text);
    final OptionException refusal =
        assertThrows(
            OptionException.class,
            () -> OptionValues.read(List.of("--config", file.toString()), Map.of()));
    assertTrue(
        refusal.getMessage().startsWith("--config " + file + ": " + why), refusal.getMessage());
    assertFalse(refusal.getMessage().contains("secret"), refusal.getMessage());
  }

  @Test
  void shouldReportVariablesThatLookLikeOptions() {
    final OptionValues values = OptionValues.read(List.of(), Map.of("AGENT_DEVIEC", "eth0"));
    assertEquals(List.of("AGENT_DEVIEC"), values.unknownVariables());
  }

  private static void refuses(String start, String... arguments) {
    final OptionException refusal =
        assertThrows(OptionException.class, () -> OptionValues.read(List.of(arguments), Map.of()));
    assertTrue(refusal.getMessage().startsWith(start), refusal.getMessage());
  }

  private Path file(String text) throws IOException {
    final Path file = Files.createTempFile(folder, "agent", ".yaml");
    Files.writeString(file, text);
    return file;
  }

  @Test
  void shouldReadTheFileThatTheCommandLineNamesBeforeThatOfTheEnvironment() throws IOException {
    final Path named = Files.writeString(folder.resolve("named.yaml"), "device: named\n");
    final Path other = Files.writeString(folder.resolve("other.yaml"), "device: other\n");
    final OptionValues values =
        OptionValues.read(List.of("--config=" + named), Map.of("AGENT_CONFIG", other.toString()));
    assertEquals("named", values.text("device"));
    assertEquals(named.toString(), values.configFile());
    assertEquals(
        "other",
        OptionValues.read(List.of(), Map.of("AGENT_CONFIG", other.toString())).text("device"));
  }
}
