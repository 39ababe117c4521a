package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.PrefilterStore;
import agent.domain.node.HostName;
import agent.domain.node.NodeContexts;
import agent.identity.LabelSet;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionValues;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.server.ApiContext;
import agent.server.monitor.AgentEvents;
import agent.types.Prefix;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Values that no part can be configured with: the message begins with the option. */
class SettingsTest {
  private static final NodeAddressing ADDRESSING =
      new NodeAddressing(
          FamilyAddressing.of(null, Prefix.parse("10.5.0.0/24")), FamilyAddressing.DISABLED);

  private static Settings settings(String... arguments) {
    return new Settings(OptionValues.read(List.of(arguments), Map.of()));
  }

  private static void assertRefused(String message, Consumer<Settings> part, String argument) {
    assertEquals(
        message,
        assertThrows(OptionException.class, () -> part.accept(settings(argument))).getMessage());
  }

  private static ApiContext api(Settings settings) {
    return settings.api(new AgentEvents());
  }

  @Test
  void shouldRefuseAnEmptyDirectory() {
    for (final String text : List.of("", " ")) {
      final String end = ": '" + text + "': not a directory name";
      assertRefused("--state-dir" + end, Settings::stateDirectory, "--state-dir=" + text);
      assertRefused("--bpf-root" + end, Settings::bpfRoot, "--bpf-root=" + text);
      assertRefused("--bpf-root" + end, Settings::shown, "--bpf-root=" + text);
    }
    assertRefused(
        "--state-dir: Nul character not allowed", Settings::stateDirectory, "--state-dir=a\0");
  }

  @Test
  void shouldRefuseARelativePath() {
    assertEquals(Path.of("/b"), settings("--state-dir=/a/../b").stateDirectory());
    assertEquals(Path.of("/b/agent.sock"), settings("--state-dir=/a/../b").socketPath());
    for (final String option :
        List.of(
            "state-dir",
            "bpf-root",
            "cgroup-root",
            "lib-dir",
            "socket-path",
            "access-log",
            "proxy-engine-log",
            "label-prefix-file",
            "tofqdns-pre-cache")) {
      for (final String path : List.of("a", "./a", "../a", "~/a")) {
        assertRefused(
            "--" + option + ": '" + path + "' is not an absolute path",
            OptionsCheck::check,
            "--" + option + "=" + path);
      }
    }
  }

  @Test
  void shouldRefuseASocketThatIsNoFile() {
    for (final String text : List.of("", " ", "/", "/..")) {
      assertRefused(
          "--socket-path: '" + text + "': not a file name",
          Settings::socketPath,
          "--socket-path=" + text);
    }
    assertRefused(
        "--socket-path: Nul character not allowed", Settings::socketPath, "--socket-path=\0");
    final String tooLong = "/" + "x".repeat(90);
    assertRefused(
        "--socket-path: longer than 90 bytes: " + tooLong,
        SettingsTest::api,
        "--socket-path=" + tooLong);
  }

  @Test
  void shouldRefuseAClusterNameThatIsNoPartOfAnIdentifier() {
    for (final String name : List.of("", " ", "a:b", ":", ":a")) {
      final String message = "--cluster-name: '" + name + "': must be a name without ':'";
      assertRefused(message, Settings::clusterName, "--cluster-name=" + name);
      assertRefused(message, Settings::shown, "--cluster-name=" + name);
    }
  }

  @Test
  void shouldRefuseATypeOfEventsThatThereIsNot() {
    final String message =
        "--flowobs-monitor-events: 'drops' is not one of drop, verdict, trace, l7";
    assertRefused(message, Settings::flows, "--flowobs-monitor-events=trace,drops");
    assertRefused(message, Settings::shown, "--flowobs-monitor-events=drops");
    assertEquals(Set.of(), settings("--flowobs-monitor-events=").flows().always());
    assertEquals(Set.of(), settings("--flowobs-monitor-events=l7").flows().always());
    final String none = "--flowobs-event-buffer-capacity=0";
    assertFalse(settings("--flowobs-monitor-events=l7", none).events().hearsRequests());
    assertEquals(Set.of(), settings("--flowobs-event-buffer-capacity=0").flows().always());
  }

  @Test
  void shouldRefuseAnAccessLogThatIsNoPathBeforeAPolicyAsksForTheProxy() {
    assertRefused("--access-log: Nul character not allowed", Settings::shown, "--access-log=a\0");
  }

  @Test
  void shouldNameTheOptionWhoseValueAPartRefuses() {
    assertRefused(
        "--api-rate-limit: 'none' is not one of the operation classes"
            + " [read, endpoint, config, ipam, policy, prefilter, service]",
        SettingsTest::api,
        "--api-rate-limit=none=1");
    assertRefused(
        "--api-rate-limit: read: 'x' is not a rate such as 10/s or 90/m",
        SettingsTest::api,
        "--api-rate-limit=read=x");
    assertRefused(
        "--socket-group: group 'no-such-group' does not exist",
        SettingsTest::api,
        "--socket-group=no-such-group");
    final String labels =
        assertThrows(OptionException.class, () -> settings("--labels=!").labelFilter())
            .getMessage();
    assertTrue(labels.startsWith("--labels: "), labels);
  }

  @Test
  void shouldPutTheSocketOfEventsBesideThatOfTheApi() {
    assertEquals(
        Path.of("/run/x-monitor.sock"), settings("--socket-path=/run/x.sock").monitorPath());
  }

  @Test
  void shouldTakeAGroupThatExists() {
    assertEquals("root", settings("--socket-group=root").socketGroup());
  }

  @Test
  void shouldShowTheNameOfTheNodeWithThatOfItsCluster() {
    final Settings settings = settings("--cluster-name=blue");
    assertEquals("blue/" + HostName.read(), settings.shown().self());
  }

  /** IPv6 needs 1280 (RFC 8200), IPv4 68 (RFC 791); 0 is that of the node. */
  @Test
  void shouldRefuseAnMtuThatAFamilyMayNotHave() {
    assertEquals(1280, settings("--mtu=1280").mtu());
    assertEquals(0, settings("--mtu=0").mtu());
    assertRefused("--mtu: 1279 is less than 1280", Settings::mtu, "--mtu=1279");
    assertEquals(68, settings("--enable-ipv6=false", "--mtu=68").mtu());
    final Settings ipv4 = settings("--enable-ipv6=false", "--mtu=67");
    assertEquals(
        "--mtu: 67 is less than 68", assertThrows(OptionException.class, ipv4::mtu).getMessage());
  }

  @Test
  void shouldFilterLabelsByTheFileOfPrefixes(@TempDir Path folder) throws Exception {
    final Path file =
        Files.writeString(
            folder.resolve("prefixes"), "{version: 1, valid-prefixes: [{prefix: app}]}");
    final LabelSet labels = LabelSet.parse("labels", List.of("k8s:app=a", "k8s:zone=b"));
    assertEquals(
        LabelSet.parse("labels", List.of("k8s:app=a")),
        settings("--label-prefix-file=" + file).labelFilter().split(labels).identity());
    assertEquals(labels, settings().labelFilter().split(labels).identity());
  }

  /** The default group need not exist on every machine. */
  @Test
  void shouldStartWithoutTheDefaultGroup() {
    api(settings("--socket-path=/run/x.sock"));
  }

  @Test
  void shouldTellTheNameThatTheKernelHas() throws Exception {
    assertEquals(Files.readString(Path.of("/proc/sys/kernel/hostname")).strip(), HostName.read());
    assertFalse(HostName.read().isEmpty());
  }

  @Test
  void shouldHaveNoDeviceWhereNoneIsNamed() {
    for (final String name : List.of("", "undefined")) {
      assertEquals(
          Set.of("eth1"), settings("--device=" + name, "--prefilter-device=eth1").nodeDevices());
    }
    assertEquals(
        Set.of("eth0", "eth1"), settings("--device=eth0", "--prefilter-device=eth1").nodeDevices());
  }

  @Test
  void shouldServeOneFamilyAlone() {
    final DatapathContext ipv4 =
        settings()
            .datapath(
                new NodeContexts(ADDRESSING, Map.of(), Map.of()), true, PrefilterStore.inMemory());
    assertTrue(ipv4.enableIpv4());
    assertFalse(ipv4.enableIpv6());
  }
}
