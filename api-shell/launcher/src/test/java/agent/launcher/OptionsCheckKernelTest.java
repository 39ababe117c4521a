package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.launcher.options.AgentOption;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionTable;
import agent.launcher.options.OptionType;
import agent.launcher.options.OptionValues;
import agent.launcher.process.NodeTraces;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A bad value of any option is refused by its name before anything on the node has changed. */
@KernelTest
class OptionsCheckKernelTest {
  @TempDir private Path folder;
  private NetworkNamespace node;
  private final Map<String, String> bad = new TreeMap<>();

  @BeforeEach
  void open() throws IOException {
    node = NetworkNamespace.create("bad");
    final Path full = Files.createDirectories(folder.resolve("full/below")).getParent();
    final Path file = Files.writeString(folder.resolve("file"), "not json");
    bad.put("config", folder.resolve("missing.yaml").toString());
    bad.put("state-dir", "state");
    bad.put("lib-dir", "lib");
    bad.put("agent-labels", "=");
    bad.put("debug-verbose", "nothing");
    bad.put("socket-path", "/");
    bad.put("socket-group", "nosuchgroup");
    bad.put("api-rate-limit", "nothing=1/s");
    bad.put("bpf-root", full.toString());
    bad.put("cgroup-root", full.toString());
    bad.put("mtu", "60");
    bad.put("lb", "nosuch0");
    bad.put("device", "nosuch0");
    bad.put("ipv4-node", "192.0.2.1");
    bad.put("ipv6-node", "192.0.2.1");
    bad.put("ipv4-range", "10.0.0.0/31");
    bad.put("ipv6-range", "fd00::/64");
    bad.put("ipv6-cluster-alloc-cidr", "fd00::/96");
    bad.put("ipv4-native-routing-cidr", "fd00::/64");
    bad.put("ipv6-native-routing-cidr", "10.0.0.0/8");
    bad.put("nat46-range", "fd00::/64");
    bad.put("host-routing", "sometimes");
    bad.put("monitor-aggregation", "extreme");
    bad.put("enable-policy", "sometimes");
    bad.put("allow-localhost", "sometimes");
    bad.put("labels", "=");
    bad.put("label-prefix-file", file.toString());
    bad.put("fixed-identity-mapping", "1=a");
    bad.put("prefilter-device", "nosuch0");
    bad.put("prefilter-mode", "fast");
    bad.put("tofqdns-pre-cache", file.toString());
    bad.put("tofqdns-dns-reject-response-code", "silence");
    bad.put("access-log", full.toString());
    bad.put("proxy-engine-log", full.toString());
    bad.put("cluster-name", "a:b");
    bad.put("service-algorithm", "first");
    bad.put("flowobs-monitor-events", "everything");
    bad.put("log-driver", "paper");
    bad.put("log-opt", "a=b");
    bad.put("prometheus-serve-addr", "nowhere");
    bad.put("bpf-ct-global-tcp-max", "33554432");
    bad.put("bpf-ct-global-any-max", "33554432");
  }

  @AfterEach
  void close() {
    node.close();
  }

  private String refusal(String name, String value) throws Exception {
    final List<String> line = NodeTraces.options(folder, name, value);
    return node.run(
        () -> {
          try {
            OptionsCheck.check(new Settings(OptionValues.read(line, Map.of())));
            return "nothing is refused";
          } catch (OptionException refusal) {
            return refusal.getMessage();
          }
        });
  }

  /** The address is of another node, or another program has its port. */
  @Test
  void shouldRefuseAnAddressThatCannotBeBoundAndChangeNothing() throws Exception {
    node.exec("ip", "link", "set", "lo", "up");
    final List<String> before = NodeTraces.of(node, folder);
    final String option = "prometheus-serve-addr";
    for (final String other : List.of("203.0.113.5:9999", "[2001:db8::5]:9999")) {
      final String refusal = refusal(option, other);
      assertTrue(refusal.startsWith("--" + option + ": "), refusal);
    }
    assertEquals(before, NodeTraces.of(node, folder));
    for (final String taken : List.of("127.0.0.1", "::1")) {
      try (ServerSocketChannel _ =
          node.run(() -> ServerSocketChannel.open().bind(new InetSocketAddress(taken, 19_998)))) {
        final String host = taken.equals("::1") ? "[::1]" : taken;
        final String refusal = refusal(option, host + ":19998");
        assertTrue(refusal.startsWith("--" + option + ": "), refusal);
        assertEquals("nothing is refused", refusal(option, host + ":19999"));
      }
    }
    assertEquals(before, NodeTraces.of(node, folder));
  }

  @Test
  void shouldRefuseABadValueOfAnyOptionAndChangeNothing() throws Exception {
    final List<String> before = NodeTraces.of(node, folder);
    final List<String> faults = new ArrayList<>();
    for (final AgentOption option : OptionTable.all()) {
      final String name = option.name();
      final boolean isNumber =
          option.type() == OptionType.INT || option.type() == OptionType.DURATION;
      if (option.served() && option.type() != OptionType.BOOL) {
        final String value = bad.getOrDefault(name, isNumber ? "-1" : "");
        final String refusal = refusal(name, value);
        if (!refusal.contains(name)) {
          faults.add(name + "=" + value + ": " + refusal);
        }
      }
    }
    assertEquals(List.of(), faults);
    assertEquals(before, NodeTraces.of(node, folder));
    assertEquals("nothing is refused", refusal("debug", "false"));
    assertEquals(before, NodeTraces.of(node, folder));
  }
}
