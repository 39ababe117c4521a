package agent.launcher.log;

import agent.contract.WireFormat;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.layout.AbstractStringLayout;

/**
 * The lines of the log: time in UTC with milliseconds, level, class and message; where details are
 * asked for, the thread and the trace of an exception, too. Without them, an exception that the
 * message does not name follows it.
 */
final class LineLayout extends AbstractStringLayout {
  private static final int LEVEL_WIDTH = 5;

  private final boolean isDetailed;

  LineLayout(boolean isDetailed) {
    super(StandardCharsets.UTF_8);
    this.isDetailed = isDetailed;
  }

  @Override
  public String toSerializable(LogEvent event) {
    final StringBuilder line = new StringBuilder(160);
    line.append(WireFormat.timestamp(event.getInstant().getEpochMillisecond()));
    final String level = event.getLevel().name();
    line.append(' ').append(level).repeat(' ', 1 + Math.max(0, LEVEL_WIDTH - level.length()));
    if (isDetailed) {
      line.append('[').append(event.getThreadName()).append("] ");
    }
    final String logger = event.getLoggerName();
    line.append(logger, logger.lastIndexOf('.') + 1, logger.length()).append(": ");
    final String message = event.getMessage().getFormattedMessage();
    line.append(message);
    appendCause(line, message, event.getThrown());
    return line.toString();
  }

  private void appendCause(StringBuilder line, String message, Throwable cause) {
    if (!isDetailed && cause != null && !message.contains(String.valueOf(cause.getMessage()))) {
      line.append(": ").append(cause);
    }
    line.append('\n');
    if (isDetailed && cause != null) {
      final StringWriter trace = new StringWriter();
      cause.printStackTrace(new PrintWriter(trace, true));
      line.append(trace);
    }
  }
}
