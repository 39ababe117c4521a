package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A bad value of an option ends the start with 2 before anything on the node has changed. */
@KernelTest
class AgentBadOptionsKernelTest {
  private static final String SYSCTLS =
      "grep -r . /proc/sys/net/ipv4/conf /proc/sys/net/ipv6/conf /proc/sys/net/ipv4/ip_forward"
          + " /proc/sys/net/ipv4/neigh /proc/sys/net/ipv6/neigh | sort";

  @TempDir private Path folder;
  private NetworkNamespace node;
  private final Map<String, String> bad = new TreeMap<>();

  @BeforeEach
  void open() throws IOException {
    node = NetworkNamespace.create("bad");
    final Path full = Files.createDirectories(folder.resolve("full/below")).getParent();
    bad.put("cgroup-root", full.toString());
    bad.put("access-log", full.toString());
    bad.put("bpf-ct-global-tcp-max", "33554432");
  }

  @AfterEach
  void close() {
    node.close();
  }

  /** Returns what of the node an agent changes. */
  private List<String> everything() throws IOException {
    final List<String> all = new ArrayList<>();
    all.add(node.exec("ip", "address"));
    all.add(node.exec("ip", "route", "show", "table", "all"));
    all.add(node.exec("ip", "-6", "route", "show", "table", "all"));
    all.add(node.exec("ip", "rule"));
    all.add(node.exec("sh", "-c", SYSCTLS));
    all.add(node.exec("nft", "list", "ruleset"));
    try (Stream<Path> files = Files.walk(folder)) {
      files.map(Path::toString).sorted().forEach(all::add);
    }
    Files.readAllLines(Path.of("/proc/self/mountinfo")).stream()
        .filter(line -> line.contains(folder.toString()))
        .forEach(all::add);
    return all;
  }

  private AgentProcess.Ended run(String name, String value) throws Exception {
    final Map<String, String> options = new TreeMap<>();
    options.put("state-dir", folder.resolve("state").toString());
    options.put("lib-dir", folder.resolve("lib").toString());
    options.put("bpf-root", folder.resolve("bpf").toString());
    options.put(name, value);
    return AgentProcess.run(
        node,
        "",
        options.entrySet().stream()
            .map(option -> "--" + option.getKey() + "=" + option.getValue())
            .toArray(String[]::new));
  }

  @Test
  void shouldEndWithTwoAndChangeNothing() throws Exception {
    final List<String> before = everything();
    for (final Map.Entry<String, String> option : bad.entrySet()) {
      final AgentProcess.Ended ended = run(option.getKey(), option.getValue());
      assertEquals(2, ended.status(), ended.output());
      assertTrue(ended.output().contains(option.getKey()), ended.output());
      assertEquals(before, everything());
    }
  }
}
