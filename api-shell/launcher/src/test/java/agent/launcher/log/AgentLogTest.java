package agent.launcher.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.List;
import java.util.Map;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.ConsoleAppender;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.message.SimpleMessage;
import org.junit.jupiter.api.Test;

/** The lines of the log and its levels; nothing is logged here. */
class AgentLogTest {
  private static final List<String> LIBRARIES =
      List.of("io.undertow.request", "org.xnio.nio", "org.jboss.logging", "net.openhft.chronicle");

  private static LogOptions options(boolean debug, String... groups) {
    return LogOptions.of(debug, List.of(groups), List.of(), Map.of());
  }

  private static Configuration configuration(boolean debug) {
    final Configuration configuration = AgentLog.configuration(options(debug));
    configuration.initialize();
    return configuration;
  }

  /** Returns what is written where a thread logs a failure, at a fixed time. */
  private static String line(Configuration configuration) {
    final LogEvent event =
        Log4jLogEvent.newBuilder()
            .setLoggerName("agent.launcher.Daemon")
            .setLevel(Level.WARN)
            .setThreadName("ep-conductor")
            .setTimeMillis(1_795_320_306_007L)
            .setMessage(new SimpleMessage("the disk is full"))
            .setThrown(new IllegalStateException("traced"))
            .build();
    return new String(
        configuration.getAppender("console").getLayout().toByteArray(event),
        java.nio.charset.StandardCharsets.UTF_8);
  }

  @Test
  void shouldWriteOneLineForAMessage() {
    assertEquals(
        "2026-11-22T04:05:06.007Z WARN  Daemon: the disk is full\n", line(configuration(false)));
  }

  @Test
  void shouldWriteThreadAndStackTraceAtDebugLevel() {
    final List<String> lines = line(configuration(true)).lines().toList();
    assertEquals(
        "2026-11-22T04:05:06.007Z WARN  [ep-conductor] Daemon: the disk is full", lines.get(0));
    assertEquals("java.lang.IllegalStateException: traced", lines.get(1));
  }

  @Test
  void shouldLogFromInfoOnOrFromDebugAndOfLibrariesOnlyWarnings() {
    for (final boolean debug : new boolean[] {false, true}) {
      final Configuration configuration = configuration(debug);
      assertEquals(
          debug ? Level.DEBUG : Level.INFO,
          configuration.getLoggerConfig("agent.launcher.Daemon").getLevel());
      for (final String library : LIBRARIES) {
        assertEquals(Level.WARN, configuration.getLoggerConfig(library).getLevel(), library);
      }
    }
  }

  @Test
  void shouldLogEverythingOfTheGroupsThatAreNamed() {
    final Configuration configuration = AgentLog.configuration(options(false, "policy", "api"));
    configuration.initialize();
    assertEquals(Level.TRACE, configuration.getLoggerConfig("agent.policy.X").getLevel());
    assertEquals(Level.TRACE, configuration.getLoggerConfig("agent.server.X").getLevel());
    assertEquals(Level.INFO, configuration.getLoggerConfig("agent.endpoint.X").getLevel());
    assertEquals(
        "2026-11-22T04:05:06.007Z WARN  [ep-conductor] Daemon: the disk is full",
        line(configuration).lines().findFirst().orElseThrow());
  }

  @Test
  void shouldWriteToStandardErrorAndStayOpenDuringTheShutdown() {
    final Configuration configuration = configuration(false);
    final ConsoleAppender console = configuration.getAppender("console");
    assertEquals(ConsoleAppender.Target.SYSTEM_ERR, console.getTarget());
    assertEquals(
        List.of("console"), List.copyOf(configuration.getRootLogger().getAppenders().keySet()));
    assertFalse(configuration.isShutdownHookEnabled());
    assertEquals("localhost", configuration.getProperties().get("hostName"));
  }
}
