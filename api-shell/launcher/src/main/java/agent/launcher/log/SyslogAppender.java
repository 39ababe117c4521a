package agent.launcher.log;

import agent.bindings.BindingsException;
import agent.bindings.net.UnixDatagrams;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.Locale;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;

/**
 * Sends log messages to the log daemon of the node, in the form that its local socket takes (RFC
 * 3164 without the host name). It never waits: a message that the daemon does not take is lost and
 * counted in the next one, and standard error has it.
 */
final class SyslogAppender extends AbstractAppender {
  static final String NAME = "syslog";

  private static final int LONGEST_BYTES = 8 * 1024;
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("MMM ppd HH:mm:ss", Locale.ENGLISH);

  private static final int CRITICAL = 2;
  private static final int ERROR = 3;
  private static final int WARNING = 4;
  private static final int INFORMATIONAL = 6;
  private static final int DEBUG = 7;

  private final LogOptions.Syslog options;
  private final ZoneId zone = ZoneId.systemDefault();
  private final long pid = ProcessHandle.current().pid();
  private UnixDatagrams socket;
  private long lost;

  private SyslogAppender(LogOptions.Syslog options, UnixDatagrams socket) {
    super(NAME, null, null, true, Property.EMPTY_ARRAY);
    this.options = options;
    this.socket = socket;
  }

  /**
   * Connects to the log daemon.
   *
   * @throws IllegalArgumentException naming the option where it cannot be reached
   */
  static SyslogAppender connect(LogOptions.Syslog options) {
    try {
      return new SyslogAppender(options, UnixDatagrams.to(options.socket()));
    } catch (BindingsException failure) {
      throw new IllegalArgumentException("log-driver: syslog: " + failure.getMessage(), failure);
    }
  }

  Level level() {
    return options.level();
  }

  @Override
  public synchronized void append(LogEvent event) {
    if (lost > 0
        && !send(
            line(
                event.getInstant().getEpochMillisecond(), WARNING, lost + " messages were lost"))) {
      lost++;
      return;
    }
    lost = 0;
    final String logger = event.getLoggerName();
    final String message =
        logger.substring(logger.lastIndexOf('.') + 1)
            + ": "
            + event.getMessage().getFormattedMessage();
    if (!send(
        line(event.getInstant().getEpochMillisecond(), severity(event.getLevel()), message))) {
      lost++;
    }
  }

  /** Sends one datagram; a daemon that was started again has another socket of the same name. */
  private boolean send(byte[] line) {
    if (socket != null && socket.send(line) == 0) {
      return true;
    }
    closeSocket();
    try {
      socket = UnixDatagrams.to(options.socket());
      return socket.send(line) == 0;
    } catch (BindingsException failure) {
      error("syslog: " + failure.getMessage());
      return false;
    }
  }

  /** Returns one line; characters that would end it or hide it are replaced. */
  byte[] line(long timeMs, int severity, String message) {
    final String text =
        "<%d>%s %s[%d]: %s"
            .formatted(
                options.facility() * 8 + severity,
                TIME.format(Instant.ofEpochMilli(timeMs).atZone(zone)),
                options.tag(),
                pid,
                message.replaceAll("\\p{Cntrl}", " "));
    final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return bytes.length <= LONGEST_BYTES ? bytes : Arrays.copyOf(bytes, LONGEST_BYTES);
  }

  static int severity(Level level) {
    return switch (level.getStandardLevel()) {
      case FATAL -> CRITICAL;
      case ERROR -> ERROR;
      case WARN -> WARNING;
      case INFO -> INFORMATIONAL;
      default -> DEBUG;
    };
  }

  private void closeSocket() {
    if (socket != null) {
      socket.close();
      socket = null;
    }
  }

  @Override
  public synchronized void stop() {
    super.stop();
    closeSocket();
  }
}
