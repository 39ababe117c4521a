package agent.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The counters of a namespace's network stack and devices at one moment, named as in {@code
 * /proc/net}: {@code Tcp:RetransSegs}, {@code TcpExt:ListenDrops}, {@code eth0:received}.
 */
public final class NetworkCounters {
  private static final Path DIRECTORY = Path.of("/proc/thread-self/net");

  private final Map<String, Long> values;

  private NetworkCounters(Map<String, Long> values) {
    this.values = values;
  }

  /** Reads all counters. */
  public static NetworkCounters of(NetworkNamespace namespace) {
    try {
      return new NetworkCounters(namespace.run(NetworkCounters::read));
    } catch (Exception failure) {
      throw new IllegalStateException("counters of " + namespace.name(), failure);
    }
  }

  /** Returns a counter that has to exist. */
  public long value(String name) {
    return values.get(name);
  }

  /** Returns the counters that differ from those before, with the differences. */
  Map<String, Long> since(NetworkCounters before) {
    final Map<String, Long> changed = new TreeMap<>();
    values.forEach(
        (name, value) -> {
          final long more = value - before.values.getOrDefault(name, 0L);
          if (more != 0) {
            changed.put(name, more);
          }
        });
    return changed;
  }

  private static Map<String, Long> read() throws IOException {
    final Map<String, Long> counters = new TreeMap<>();
    for (final String file : List.of("snmp", "netstat")) {
      readProtocols(counters, Files.readAllLines(DIRECTORY.resolve(file)));
    }
    readDevices(counters, Files.readAllLines(DIRECTORY.resolve("dev")));
    return counters;
  }

  /** A line with the names of columns, and one with their values. */
  private static void readProtocols(Map<String, Long> counters, List<String> lines) {
    for (int i = 0; i + 1 < lines.size(); i += 2) {
      final String[] names = lines.get(i).split(" ");
      final String[] values = lines.get(i + 1).split(" ");
      for (int column = 1; column < names.length; column++) {
        counters.put(names[0] + names[column], Long.parseLong(values[column]));
      }
    }
  }

  /** Two lines of headings, and a line for each device. */
  private static void readDevices(Map<String, Long> counters, List<String> lines) {
    for (final String line : lines.subList(2, lines.size())) {
      final String[] words = line.strip().split("\\s+");
      counters.put(words[0] + "received", Long.parseLong(words[2]));
      counters.put(words[0] + "receive-dropped", Long.parseLong(words[4]));
      counters.put(words[0] + "sent", Long.parseLong(words[10]));
      counters.put(words[0] + "send-dropped", Long.parseLong(words[12]));
    }
  }
}
