package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.config.Property;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a proxy process may have the agent log, and as whom. */
class ForwardedLogTest {
  private static final String LIBRARIES = "proxy process";
  private static final int MOST_NAMES = 256;
  private static final int LONGEST_TEXT = 4_096;
  private static final int MOST_ERROR_BYTES = 64 * 1024;

  /** Loggers of this test alone: the level of others is not changed. */
  private static final List<String> LOGGERS =
      List.of(
          "agent.l7proxy",
          "agent.l7proxyx",
          "agent.dns.proxy",
          "agent.datapath.spec.ProxyPorts",
          LIBRARIES,
          ForwardedLog.class.getName());

  private final LoggerContext context = LoggerContext.getContext(false);
  private final List<String> lines = new ArrayList<>();
  private final ForwardedLog log = new ForwardedLog();

  @BeforeEach
  void hear() {
    final AbstractAppender appender =
        new AbstractAppender("forwarded", null, null, true, Property.EMPTY_ARRAY) {
          @Override
          @SuppressWarnings("deprecation") // no other method has the pattern
          public void append(LogEvent event) {
            lines.add(
                "%s %s [%s] %s"
                    .formatted(
                        event.getLevel(),
                        event.getLoggerName(),
                        event.getMessage().getFormat(),
                        event.getMessage().getFormattedMessage()));
          }
        };
    appender.start();
    for (final String name : LOGGERS) {
      final LoggerConfig logger = new LoggerConfig(name, Level.ALL, false);
      logger.addAppender(appender, Level.ALL, null);
      context.getConfiguration().addLogger(name, logger);
    }
    context.updateLoggers();
  }

  @AfterEach
  void forget() {
    LOGGERS.forEach(context.getConfiguration()::removeLogger);
    context.updateLoggers();
  }

  private String log(String level, String logger, String format, String text) throws IOException {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    final DataOutputStream out = new DataOutputStream(bytes);
    for (final String part : List.of(level, logger, format, text)) {
      Wire.writeText(out, part);
    }
    log.message(new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
    return lines.getLast();
  }

  @Test
  void shouldLogAsTheClassesOfTheProxies() throws IOException {
    for (final String name :
        List.of(
            "agent.l7proxy.Upstream",
            "agent.dns.proxy.Exchanges",
            "agent.datapath.spec.ProxyPorts")) {
      assertEquals("WARN " + name + " [{} ends] it ends", log("WARN", name, "{} ends", "it ends"));
    }
    assertEquals("DEBUG agent.l7proxy.A [] x y", log("DEBUG", "agent.l7proxy.A", "", "x\ny"));
    assertEquals("INFO agent.l7proxy.A [] x", log("LOUD", "agent.l7proxy.A", "", "x"));
  }

  @Test
  void shouldLogAsNoOtherClass() throws IOException {
    for (final String name :
        List.of(
            "agent.launcher.Daemon",
            "agent.server.ApiDispatcher",
            "agent.l7proxyx.A",
            "agent.dns.Names",
            "agent.datapath.spec.FlowRing",
            "")) {
      assertEquals(
          "INFO " + LIBRARIES + " [] " + name + ": done", log("INFO", name, "{} done", "done"));
    }
    final String cut = log("INFO", "x".repeat(LONGEST_TEXT + 1), "", "done");
    assertTrue(cut.endsWith(" " + "x".repeat(LONGEST_TEXT) + ": done"), cut);
  }

  @Test
  void shouldBoundTheLoggersAndPatternsThatAreInvented() throws IOException {
    for (int i = 0; i < MOST_NAMES; i++) {
      final String name = "agent.l7proxy.A" + i;
      assertTrue(log("INFO", name, "{} " + i, "x").startsWith("INFO " + name + " [{} " + i + "]"));
    }
    assertTrue(log("INFO", "agent.l7proxy.B", "", "x").startsWith("INFO " + LIBRARIES));
    assertEquals("INFO agent.l7proxy.A0 [] x", log("INFO", "agent.l7proxy.A0", "{} other", "x"));
    assertEquals("INFO agent.l7proxy.A0 [{} 5] x", log("INFO", "agent.l7proxy.A0", "{} 5", "x"));
  }

  @Test
  void shouldCutWhatIsLong() throws IOException {
    final String longest = "x".repeat(LONGEST_TEXT);
    assertEquals(
        "INFO agent.l7proxy.A [] " + longest, log("INFO", "agent.l7proxy.A", "", longest + "y"));
    assertEquals("INFO agent.l7proxy.A [] x", log("INFO", "agent.l7proxy.A", longest + "y", "x"));
    assertTrue(
        log("INFO", "agent.l7proxy." + longest, "", "x").startsWith("INFO " + LIBRARIES + " [] "));
  }

  /** A process that wrote without an end would stop at a full pipe. */
  @Test
  void shouldLogTheBeginningOfTheErrorsAndReadThemAll() throws IOException {
    final byte[] line = ("x".repeat(127) + "\n").getBytes();
    final ByteArrayOutputStream output = new ByteArrayOutputStream();
    for (int i = 0; i < 2 * MOST_ERROR_BYTES / line.length; i++) {
      output.writeBytes(line);
    }
    final ByteArrayInputStream in = new ByteArrayInputStream(output.toByteArray());
    ForwardedLog.errors(in);
    assertEquals(0, in.available());
    assertEquals(MOST_ERROR_BYTES / line.length, lines.size());
    assertEquals(
        "WARN " + ForwardedLog.class.getName() + " [] proxy process: " + "x".repeat(127),
        lines.getLast());
  }
}
