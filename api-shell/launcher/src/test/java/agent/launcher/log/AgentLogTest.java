package agent.launcher.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.ConsoleAppender;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.message.SimpleMessage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The lines of the log, its levels, and the file of the proxies. */
@Timeout(60)
class AgentLogTest {
  private static final List<String> LIBRARIES =
      List.of(
          "io.undertow.request",
          "org.xnio.nio",
          "org.jboss.logging",
          "net.openhft.chronicle",
          "io.netty.handler.codec.http2",
          "one.that.is.added");

  @TempDir private Path folder;

  /** Logs as a class of this name does. */
  private static void log(Level level, String name, String message) {
    final LoggerConfig logger =
        LoggerContext.getContext(false).getConfiguration().getLoggerConfig(name);
    if (level.isMoreSpecificThan(logger.getLevel())) {
      logger.log(
          Log4jLogEvent.newBuilder()
              .setLoggerName(name)
              .setLevel(level)
              .setThreadName("l7-http-0")
              .setTimeMillis(1_795_320_306_007L)
              .setMessage(new SimpleMessage(message))
              .build());
    }
  }

  private static LogOptions options(boolean debug, String... groups) {
    return LogOptions.of(debug, List.of(groups), List.of(), Map.of());
  }

  /** A process that prepares the log and uses it. */
  static final class Logging {
    public static void main(String[] arguments) {
      AgentLog.prepare();
      LogManager.getLogger(Logging.class).error("before the start");
      AgentLog.start(LogOptions.of(false, List.of(), List.of(), Map.of()));
      LogManager.getLogger(Logging.class).info("after it");
    }
  }

  @Test
  void shouldNotLoadPluginsOfLog4j() throws IOException {
    final Commands.Outcome outcome =
        Commands.attempt(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xlog:class+load:file=" + folder.resolve("loaded"),
            "-cp",
            System.getProperty("java.class.path"),
            Logging.class.getName());
    final List<String> lines = outcome.output().lines().toList();
    assertEquals(2, lines.size(), outcome.output()); // nor does Log4j complain
    assertTrue(lines.getFirst().endsWith(" ERROR Logging: before the start"), outcome.output());
    assertTrue(lines.getLast().endsWith(" INFO  Logging: after it"), outcome.output());
    final String loaded = Files.readString(folder.resolve("loaded"));
    assertTrue(loaded.contains(" org.apache.logging.log4j.core.appender.ConsoleAppender "));
    assertFalse(loaded.contains(" org.apache.logging.log4j.core.appender.FileAppender "));
  }

  private static Configuration configuration(boolean debug) {
    final Configuration configuration = AgentLog.configuration(options(debug));
    configuration.initialize();
    return configuration;
  }

  /** Returns what is written where a thread logs a failure, at a fixed time. */
  private static String line(Configuration configuration) {
    return line(configuration, "the disk is full");
  }

  private static String line(Configuration configuration, String message) {
    final LogEvent event =
        Log4jLogEvent.newBuilder()
            .setLoggerName("agent.launcher.Daemon")
            .setLevel(Level.WARN)
            .setThreadName("ep-conductor")
            .setTimeMillis(1_795_320_306_007L)
            .setMessage(new SimpleMessage(message))
            .setThrown(new IllegalStateException("traced"))
            .build();
    return new String(
        configuration.getAppender("console").getLayout().toByteArray(event),
        java.nio.charset.StandardCharsets.UTF_8);
  }

  @Test
  void shouldWriteOneLineForAMessageAndItsCause() {
    assertEquals(
        "2026-11-22T04:05:06.007Z WARN  Daemon: the disk is full:"
            + " java.lang.IllegalStateException: traced\n",
        line(configuration(false)));
  }

  @Test
  void shouldNotRepeatACauseThatTheMessageNames() {
    assertEquals(
        "2026-11-22T04:05:06.007Z WARN  Daemon: store: traced\n",
        line(configuration(false), "store: traced"));
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
  void shouldWriteWhatTheProxiesLogToTheirFileWithDetails() throws Exception {
    final Path file = folder.resolve("proxies.log");
    try {
      AgentLog.start(options(false).withProxyLog(Optional.of(file)));
      log(Level.DEBUG, "agent.l7proxy.Exchange", "a detail");
      log(Level.INFO, "agent.dns.proxy.DnsProxy", "a start");
      log(Level.ERROR, "agent.domain.proxy.NodeProxies", "a failure");
      log(Level.WARN, "agent.policy.PolicyEngine", "of others");
      final Path rotated = Files.move(file, folder.resolve("proxies.log.1"));
      AgentLog.reopen();
      awaitFile(file);
      AgentLog.start(options(false));
      log(Level.INFO, "agent.dns.proxy.DnsProxy", "without a file");
      final List<String> lines = new ArrayList<>(Files.readAllLines(rotated));
      lines.addAll(Files.readAllLines(file));
      assertEquals(
          List.of(
              "DEBUG Exchange: a detail",
              "INFO  DnsProxy: a start",
              "ERROR NodeProxies: a failure",
              "DEBUG X: after the rotation"),
          lines.stream().map(line -> line.substring(25)).distinct().toList());
      assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    } finally {
      AgentLog.start(options(false));
    }
  }

  private static void awaitFile(Path file) throws InterruptedException {
    while (!Files.exists(file)) {
      log(Level.DEBUG, "agent.l7proxy.X", "after the rotation");
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }

  @Test
  void shouldNameTheOptionWhoseFileCannotBeOpenedAndChangeNothing() throws Exception {
    final Path target = Files.writeString(folder.resolve("target"), "");
    final Path link = Files.createSymbolicLink(folder.resolve("link"), target);
    for (final Path file : List.of(link, folder.resolve("missing/proxies.log"))) {
      final LogOptions options = options(false).withProxyLog(Optional.of(file));
      final String message =
          assertThrows(IllegalArgumentException.class, () -> AgentLog.start(options)).getMessage();
      assertTrue(message.startsWith("proxy-engine-log: " + file + ": "), message);
    }
  }

  /** A workload that causes details without end fills neither the disk nor the file's queue. */
  @Test
  void shouldWriteDetailsOfABurstAndSayHowManyAreLeftOut() throws Exception {
    final Path file = folder.resolve("proxies.log");
    try {
      AgentLog.start(options(false).withProxyLog(Optional.of(file)));
      for (int i = 0; i < 50_000; i++) {
        log(Level.DEBUG, "agent.l7proxy.Exchange", "detail " + i);
      }
      log(Level.INFO, "agent.dns.proxy.DnsProxy", "after the burst");
    } finally {
      AgentLog.start(options(false));
    }
    final List<String> lines = Files.readAllLines(file);
    assertTrue(
        lines.size() >= ProxyLogAppender.BURST && lines.size() < 6 * ProxyLogAppender.BURST,
        "" + lines.size());
    assertTrue(lines.getLast().endsWith("INFO  DnsProxy: after the burst"), lines.getLast());
    final String leftOut = lines.get(lines.size() - 2);
    assertTrue(leftOut.endsWith(" messages about connections suppressed"), leftOut);
  }

  /** Whatever a peer sends: no message of a library or of the agent itself is without bound. */
  @Test
  void shouldPutABoundBeforeStandardErrorOfEveryLogger() {
    AgentLog.start(options(false).withProxyLog(Optional.of(folder.resolve("proxies.log"))));
    try {
      final Configuration configuration = LoggerContext.getContext(false).getConfiguration();
      assertTrue(configuration.getLoggers().containsKey("agent.l7proxy"));
      for (final LoggerConfig logger : configuration.getLoggers().values()) {
        assertFalse(logger.getAppenders().containsKey("console"), logger.getName());
        assertTrue(
            logger.isAdditive() || logger.getAppenders().containsKey("bounded"), logger.getName());
      }
      assertEquals(
          List.of("bounded"), List.copyOf(configuration.getRootLogger().getAppenders().keySet()));
      assertEquals("/dev/null", System.getProperty("java.util.logging.config.file"));
    } finally {
      AgentLog.start(options(false));
    }
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
