package agent.launcher;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;

/** What one class logs at INFO and above while this is open: {@code LEVEL message}. */
public final class LoggedLines extends AbstractAppender implements AutoCloseable {
  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final LoggerContext context = (LoggerContext) LogManager.getContext(false);
  private final Class<?> source;

  private LoggedLines(Class<?> source) {
    super("lines", null, null, true, Property.EMPTY_ARRAY);
    this.source = source;
  }

  /** Begins to record. */
  public static LoggedLines of(Class<?> source) {
    final LoggedLines recorded = new LoggedLines(source);
    recorded.start();
    Configurator.setLevel(source, Level.INFO);
    recorded.context.getConfiguration().getRootLogger().addAppender(recorded, Level.INFO, null);
    recorded.context.updateLoggers();
    return recorded;
  }

  /** Returns what was logged, the first line first. */
  public List<String> lines() {
    return List.copyOf(lines);
  }

  @Override
  public void append(LogEvent event) {
    if (event.getLoggerName().equals(source.getName())) {
      lines.add(event.getLevel() + " " + event.getMessage().getFormattedMessage());
    }
  }

  @Override
  public void close() {
    context.getConfiguration().getRootLogger().removeAppender(getName());
    stop();
  }
}
