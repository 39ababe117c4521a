package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SystemLoadTest {
  @TempDir private Path proc;

  private final List<String> log = new ArrayList<>();

  private SystemLoad load() throws IOException {
    Files.writeString(proc.resolve("loadavg"), "0.25 1.50 2.75 3/400 1234\n");
    Files.writeString(
        proc.resolve("meminfo"),
        "MemTotal:        8192000 kB\nMemFree: 1 kB\nMemAvailable:    2048000 kB\n");
    Files.createDirectories(proc.resolve("self"));
    Files.writeString(proc.resolve("self/status"), "Name:\tx\nVmRSS:\t  102400 kB\nThreads:\t17\n");
    return new SystemLoad(proc, log::add);
  }

  @Test
  void shouldLogOneLineAtOnceAndThenEachTimeWhileItIsOn() throws IOException {
    final SystemLoad load = load();
    load.log();
    assertEquals(List.of(), log, "off");
    load.enable(true);
    load.enable(true);
    load.log();
    load.enable(false);
    load.log();
    final String line =
        "system load 0.25 1.50 2.75, memory 2000 MiB available of 8000 MiB; the agent has 100 MiB,"
            + " 17 threads";
    assertEquals(List.of(line, line), log);
  }

  @Test
  void shouldSayWhatCannotBeRead() throws IOException {
    final SystemLoad load = load();
    Files.delete(proc.resolve("loadavg"));
    load.enable(true);
    assertTrue(log.getFirst().endsWith("/loadavg: it does not exist"), log.toString());
  }
}
