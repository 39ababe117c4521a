package agent.launcher.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.logging.log4j.Level;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SyslogAppenderTest {
  @TempDir private Path folder;

  @Test
  void shouldNameTheOptionWhereNoLogDaemonListens() {
    final LogOptions options =
        LogOptions.of(
            false,
            List.of(),
            List.of("syslog"),
            Map.of("syslog.socket", folder.resolve("none").toString()));
    final IllegalArgumentException failure =
        assertThrows(IllegalArgumentException.class, () -> AgentLog.start(options));
    assertTrue(
        failure.getMessage().startsWith("log-driver: syslog: " + folder.resolve("none")),
        failure.getMessage());
  }

  @Test
  void shouldHaveTheSeveritiesOfSyslog() {
    final List<Level> levels =
        List.of(Level.FATAL, Level.ERROR, Level.WARN, Level.INFO, Level.DEBUG, Level.TRACE);
    assertEquals(List.of(2, 3, 4, 6, 7, 7), levels.stream().map(SyslogAppender::severity).toList());
  }
}
