package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A capture of the packets of an interface by dumpcap, and what tshark reads in such a file. */
final class Capture implements AutoCloseable {
  private final Process dumpcap;

  private Capture(Process dumpcap) {
    this.dumpcap = dumpcap;
  }

  /** Captures the packets of an interface of the node from now on. */
  static Capture start(TestNode node, String networkInterface, Path file) throws Exception {
    final Process process =
        new ProcessBuilder(
                node.namespace().inside("dumpcap", "-q", "-i", networkInterface, "-w", "" + file))
            .redirectErrorStream(true)
            .redirectOutput(Path.of(file + ".log").toFile())
            .start();
    awaitHeader(file);
    return new Capture(process);
  }

  /** A file has its header when its writer receives packets. */
  static void awaitHeader(Path file) throws Exception {
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!Files.exists(file) || Files.size(file) == 0) {
      assertTrue(System.nanoTime() < endNs, file + " is written in time");
      Thread.sleep(20);
    }
  }

  /** Waits until the file of a running capture has so many packets that match a display filter. */
  static void await(Path file, String filter, int packets) throws Exception {
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (count(file, filter) < packets) {
      assertTrue(System.nanoTime() < endNs, file + " has " + packets + " packets in time");
      Thread.sleep(50);
    }
  }

  private static long count(Path file, String filter) {
    return Commands.attempt(
            "tshark", "-n", "-r", "" + file, "-Y", filter, "-T", "fields", "-e", "frame.len")
        .output()
        .lines()
        .filter(line -> line.matches("\\d+")) // the last packet may be written in part
        .count();
  }

  /** Returns the fields of each packet that matches a display filter of Wireshark, sorted. */
  static List<String> packets(Path file, String filter, String fields) {
    final List<String> line = new ArrayList<>(List.of("tshark", "-n", "-r", "" + file));
    line.addAll(List.of("-Y", filter, "-T", "fields", "-E", "separator=|"));
    for (final String field : fields.split(" ")) {
      line.addAll(List.of("-e", field));
    }
    return Commands.run(line.toArray(String[]::new))
        .lines()
        .filter(text -> !text.startsWith("Running as user"))
        .sorted()
        .toList();
  }

  boolean isRunning() {
    return dumpcap.isAlive();
  }

  /** Ends the capture; the file has all packets. */
  @Override
  public void close() throws IOException {
    dumpcap.destroy();
    try {
      assertTrue(dumpcap.waitFor(10, TimeUnit.SECONDS), "dumpcap ends");
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
