package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How the part of the heap for new objects grows, in JVMs of their own. */
class YoungGenerationTest {
  private static final long MIB = 1 << 20;

  /** Prints the sizes in MiB of the old generation and of eden, before and after. */
  public static final class Program {
    private Program() {}

    public static void main(String[] args) {
      final List<byte[]> kept = new ArrayList<>();
      for (int i = 0; i < Integer.parseInt(args[0]); i++) {
        kept.add(new byte[(int) MIB]);
      }
      System.gc();
      System.gc(); // the first one may leave more than was asked for
      print();
      YoungGeneration.enlarge();
      print();
      System.out.println(kept.size());
    }

    private static void print() {
      for (final MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
        if (pool.getName().contains("Eden") || pool.getName().contains("Tenured")) {
          System.out.println(pool.getUsage().getCommitted() / MIB);
        }
      }
    }
  }

  private static List<Integer> run(String collector, int kept)
      throws IOException, InterruptedException {
    final Process program =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                collector,
                "-Xms24m",
                "-Xmx384m",
                "-XX:MinHeapFreeRatio=15",
                "-XX:MaxHeapFreeRatio=30",
                "-cp",
                System.getProperty("java.class.path"),
                Program.class.getName(),
                Integer.toString(kept))
            .redirectErrorStream(true)
            .start();
    final String output =
        new String(program.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, program.waitFor(), output);
    return output.lines().map(Integer::valueOf).toList();
  }

  @Test
  void shouldBeHalfOfTheWantedOldGeneration() throws IOException, InterruptedException {
    final List<Integer> sizes = run("-XX:+UseSerialGC", 10);
    assertTrue(sizes.get(1) < 8, "eden before: " + sizes);
    assertTrue(sizes.get(2) >= 38 && sizes.get(2) <= 44, "old generation after: " + sizes);
    assertTrue(sizes.get(3) >= 15 && sizes.get(3) < 20, "eden after: " + sizes);
  }

  @Test
  void shouldStayWhereTheHeapIsLargeAlready() throws IOException, InterruptedException {
    final List<Integer> sizes = run("-XX:+UseSerialGC", 60);
    assertEquals(sizes.get(0), sizes.get(2), "old generation: " + sizes);
    assertEquals(sizes.get(1), sizes.get(3), "eden: " + sizes);
  }

  @Test
  void shouldLeaveAnotherCollectorAlone() throws IOException, InterruptedException {
    assertEquals(10, run("-XX:+UseParallelGC", 10).getLast());
  }

  @Test
  void shouldWantNoMoreFreeThanTheRest() {
    assertEquals(50, YoungGeneration.freePercent(YoungGeneration.OLD_BYTES / 2));
    assertEquals(80, YoungGeneration.freePercent(0));
    assertEquals(0, YoungGeneration.freePercent(2 * YoungGeneration.OLD_BYTES));
  }
}
