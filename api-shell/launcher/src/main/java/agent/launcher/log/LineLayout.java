package agent.launcher.log;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.layout.AbstractStringLayout;

/**
 * The lines of the log: time in UTC with milliseconds, level, class and message; where details are
 * asked for, the thread and the trace of an exception, too.
 */
final class LineLayout extends AbstractStringLayout {
  private static final int LEVEL_WIDTH = 5;
  private static final int MILLIS_PER_SEC = 1_000;
  private static final int NANOS_PER_MILLI = 1_000_000;

  private final boolean isDetailed;

  LineLayout(boolean isDetailed) {
    super(StandardCharsets.UTF_8);
    this.isDetailed = isDetailed;
  }

  @Override
  public String toSerializable(LogEvent event) {
    final StringBuilder line = new StringBuilder(160);
    appendTime(line, event.getInstant().getEpochMillisecond());
    final String level = event.getLevel().name();
    line.append(' ').append(level).repeat(' ', 1 + Math.max(0, LEVEL_WIDTH - level.length()));
    if (isDetailed) {
      line.append('[').append(event.getThreadName()).append("] ");
    }
    final String logger = event.getLoggerName();
    line.append(logger, logger.lastIndexOf('.') + 1, logger.length()).append(": ");
    line.append(event.getMessage().getFormattedMessage()).append('\n');
    if (isDetailed && event.getThrown() != null) {
      final StringWriter trace = new StringWriter();
      event.getThrown().printStackTrace(new PrintWriter(trace, true));
      line.append(trace);
    }
    return line.toString();
  }

  private static void appendTime(StringBuilder line, long epochMs) {
    final int milli = (int) Math.floorMod(epochMs, (long) MILLIS_PER_SEC);
    final LocalDateTime time =
        LocalDateTime.ofEpochSecond(
            Math.floorDiv(epochMs, (long) MILLIS_PER_SEC), milli * NANOS_PER_MILLI, ZoneOffset.UTC);
    append(line, time.getYear(), 1_000);
    append(line.append('-'), time.getMonthValue(), 10);
    append(line.append('-'), time.getDayOfMonth(), 10);
    append(line.append('T'), time.getHour(), 10);
    append(line.append(':'), time.getMinute(), 10);
    append(line.append(':'), time.getSecond(), 10);
    append(line.append('.'), milli, 100);
    line.append('Z');
  }

  /** Appends a number with leading zeros, whose first digit counts as much as the last argument. */
  private static void append(StringBuilder line, int number, int first) {
    for (int unit = first; unit > 0; unit /= 10) {
      line.append((char) ('0' + number / unit % 10));
    }
  }
}
