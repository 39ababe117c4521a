package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A bad value of an option ends the start with 2 before anything on the node has changed. */
@KernelTest
class AgentBadOptionsKernelTest {
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

  private AgentProcess.Ended run(String name, String value) throws Exception {
    return AgentProcess.run(
        node, "", NodeTraces.options(folder, name, value).toArray(String[]::new));
  }

  @Test
  void shouldEndWithTwoAndChangeNothing() throws Exception {
    final List<String> before = NodeTraces.of(node, folder);
    for (final Map.Entry<String, String> option : bad.entrySet()) {
      final AgentProcess.Ended ended = run(option.getKey(), option.getValue());
      assertEquals(2, ended.status(), ended.output());
      assertTrue(ended.output().contains(option.getKey()), ended.output());
      assertEquals(before, NodeTraces.of(node, folder));
    }
  }
}
