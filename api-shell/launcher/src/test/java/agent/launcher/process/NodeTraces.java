package agent.launcher.process;

import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** What of a node an agent changes, whose files are in a folder of the test. */
public final class NodeTraces {
  private static final String SYSCTLS =
      "grep -r . /proc/sys/net/ipv4/conf /proc/sys/net/ipv6/conf /proc/sys/net/ipv4/ip_forward"
          + " /proc/sys/net/ipv4/neigh /proc/sys/net/ipv6/neigh | sort";

  private NodeTraces() {}

  /** Returns all that there is now. */
  public static List<String> of(NetworkNamespace node, Path folder) throws IOException {
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

  /** Returns the options of an agent whose files are in the folder, and one more. */
  public static List<String> options(Path folder, String name, String value) {
    final Map<String, String> options = new TreeMap<>();
    options.put("state-dir", folder.resolve("state").toString());
    options.put("lib-dir", folder.resolve("lib").toString());
    options.put("bpf-root", folder.resolve("bpf").toString());
    options.put(name, value);
    return options.entrySet().stream()
        .map(option -> "--" + option.getKey() + "=" + option.getValue())
        .toList();
  }
}
