package agent.launcher.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.launcher.process.SyslogReceiver;
import agent.testkit.OtherThread;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.ErrorHandler;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.message.SimpleMessage;
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

  private static LogEvent event(Level level, String message) {
    return Log4jLogEvent.newBuilder()
        .setLoggerName("agent.launcher.Daemon")
        .setLevel(level)
        .setTimeMillis(1_795_320_306_007L)
        .setMessage(new SimpleMessage(message))
        .build();
  }

  private SyslogAppender connect(Path socket) {
    return SyslogAppender.connect(new LogOptions.Syslog(socket, Level.WARN, 21, "node-1"));
  }

  /** What is received behind the time, which is that of the zone of this node. */
  private static List<String> received(SyslogReceiver daemon, int count) throws Exception {
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (daemon.lines().lines().count() < count && System.nanoTime() < endNs) {
      Thread.sleep(10);
    }
    return daemon
        .lines()
        .lines()
        .map(line -> line.replaceFirst(">[A-Z][a-z]{2} [ 0-9]\\d \\d\\d:\\d\\d:06 ", ">"))
        .toList();
  }

  private static String head(int priority) {
    return "<" + priority + ">node-1[" + ProcessHandle.current().pid() + "]: ";
  }

  @Test
  void shouldSendEachMessageAsOneLineWithItsPriority() throws Exception {
    final Path socket = folder.resolve("log");
    try (SyslogReceiver daemon = SyslogReceiver.start(socket)) {
      final SyslogAppender appender = connect(socket);
      assertEquals(Level.WARN, appender.level());
      appender.append(event(Level.WARN, "the disk\n\tis full"));
      appender.append(event(Level.ERROR, "stopped"));
      assertEquals(
          List.of(
              head(21 * 8 + 4) + "Daemon: the disk  is full", head(21 * 8 + 3) + "Daemon: stopped"),
          received(daemon, 2));
      appender.stop();
    }
  }

  @Test
  void shouldTellHowManyMessagesWereLostOnceTheDaemonListensAgain() throws Exception {
    final Path socket = folder.resolve("log");
    final SyslogAppender appender;
    try (SyslogReceiver daemon = SyslogReceiver.start(socket)) {
      appender = connect(socket);
      appender.append(event(Level.INFO, "first"));
      assertEquals(1, received(daemon, 1).size());
    }
    appender.append(event(Level.INFO, "second"));
    appender.append(event(Level.INFO, "third"));
    Files.delete(socket);
    try (SyslogReceiver daemon = SyslogReceiver.start(socket)) {
      appender.append(event(Level.INFO, "fourth"));
      appender.append(event(Level.INFO, "fifth"));
      assertEquals(
          List.of(
              head(21 * 8 + 4) + "2 messages were lost",
              head(21 * 8 + 6) + "Daemon: fourth",
              head(21 * 8 + 6) + "Daemon: fifth"),
          received(daemon, 3));
    }
    appender.stop();
  }

  /** A daemon that is there and does not read has a full queue, also for another socket. */
  @Test
  void shouldCountWhatTheQueueOfTheDaemonHasNoRoomFor() throws Exception {
    final Path socket = folder.resolve("log");
    final int sent = 2000; // more than net.unix.max_dgram_qlen
    try (SyslogReceiver daemon = SyslogReceiver.start(socket)) {
      final SyslogAppender appender = connect(socket);
      daemon.signal("STOP");
      for (int i = 0; i < sent; i++) {
        appender.append(event(Level.INFO, "waiting"));
      }
      daemon.signal("CONT");
      final String last = head(21 * 8 + 6) + "Daemon: last";
      final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
      while (!received(daemon, 1).contains(last) && System.nanoTime() < endNs) {
        appender.append(event(Level.INFO, "last"));
        Thread.sleep(10);
      }
      final List<String> lines = received(daemon, 1);
      final long waiting = lines.stream().filter(line -> line.endsWith("Daemon: waiting")).count();
      final long lost =
          lines.stream()
              .filter(line -> line.endsWith(" messages were lost"))
              .mapToLong(line -> Long.parseLong(line.replaceAll(".*: (\\d+) mess.*", "$1")))
              .sum(); // one line for each time the queue was full
      assertTrue(waiting > 0 && lost > 0, waiting + " received, " + lost + " lost");
      assertTrue(waiting + lost >= sent, waiting + " received, " + lost + " lost");
      appender.stop();
    }
  }

  @Test
  void shouldCloseEachSocketAndTellWhyItHasNone() throws Exception {
    final Path socket = folder.resolve("log");
    final List<String> errors = new ArrayList<>();
    final long before = openDescriptors();
    for (int i = 0; i < 20; i++) {
      final SyslogAppender appender;
      try (SyslogReceiver _ = SyslogReceiver.start(socket)) {
        appender = connect(socket);
        appender.setHandler(new Recorder(errors));
      }
      Files.delete(socket);
      appender.append(event(Level.INFO, "to no daemon"));
      try (SyslogReceiver _ = SyslogReceiver.start(socket)) {
        appender.append(event(Level.INFO, "to the next one"));
        appender.stop();
      }
      Files.delete(socket);
    }
    assertEquals(20, errors.size(), () -> String.join("\n", errors));
    assertTrue(errors.getFirst().startsWith("syslog: " + socket + ": connect"), errors.getFirst());
    final long left = openDescriptors() - before;
    assertTrue(left < 10, left + " descriptors of 40 sockets are left");
  }

  private static long openDescriptors() throws IOException {
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return open.count();
    }
  }

  private record Recorder(List<String> errors) implements ErrorHandler {
    @Override
    public void error(String message) {
      errors.add(message);
    }

    @Override
    public void error(String message, Throwable failure) {
      errors.add(message);
    }

    @Override
    public void error(String message, LogEvent event, Throwable failure) {
      errors.add(message);
    }
  }

  @Test
  void shouldCutALineThatIsTooLong() throws Exception {
    final Path socket = folder.resolve("log");
    try (SyslogReceiver _ = SyslogReceiver.start(socket)) {
      final SyslogAppender appender = connect(socket);
      final int head = appender.line(0, 6, "").length;
      assertEquals(head + 7, appender.line(0, 6, "message").length);
      assertEquals(8192, appender.line(0, 6, "x".repeat(8192 - head)).length);
      assertEquals(8192, appender.line(0, 6, "x".repeat(8193 - head)).length);
      appender.stop();
    }
  }

  @Test
  void shouldHaveTheSeveritiesOfSyslog() {
    final List<Level> levels =
        List.of(Level.FATAL, Level.ERROR, Level.WARN, Level.INFO, Level.DEBUG, Level.TRACE);
    assertEquals(List.of(2, 3, 4, 6, 7, 7), levels.stream().map(SyslogAppender::severity).toList());
  }

  /** Otherwise a socket could be closed while another thread sends. */
  @Test
  void shouldSendOneMessageAfterTheOther() throws Exception {
    final Path socket = folder.resolve("log");
    try (SyslogReceiver daemon = SyslogReceiver.start(socket)) {
      final SyslogAppender appender = connect(socket);
      final List<OtherThread<Void>> others = new ArrayList<>();
      final List<Boolean> waiting = new ArrayList<>();
      appender.append(
          Log4jLogEvent.newBuilder()
              .setLoggerName("agent.launcher.Daemon")
              .setLevel(Level.WARN)
              .setTimeMillis(1_795_320_306_007L)
              .setMessage(
                  new SimpleMessage("first") {
                    private static final long serialVersionUID = 1;

                    @Override
                    public String getFormattedMessage() {
                      if (others.isEmpty()) {
                        others.add(
                            OtherThread.run(() -> appender.append(event(Level.WARN, "next"))));
                        waiting.add(others.getFirst().waits());
                      }
                      return super.getFormattedMessage();
                    }
                  })
              .build());
      others.getFirst().result();
      assertEquals(List.of(true), waiting);
      assertEquals(
          List.of(head(21 * 8 + 4) + "Daemon: first", head(21 * 8 + 4) + "Daemon: next"),
          received(daemon, 2));
      appender.stop();
    }
  }
}
