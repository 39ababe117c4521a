package agent.testkit;

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
public final class RecordedLog extends AbstractAppender implements AutoCloseable {
  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final LoggerContext context = (LoggerContext) LogManager.getContext(false);
  private final String source;

  private RecordedLog(Class<?> source) {
    super("recorded", null, null, true, Property.EMPTY_ARRAY);
    this.source = source.getName();
    start();
    Configurator.setLevel(this.source, Level.INFO);
    context.getConfiguration().getRootLogger().addAppender(this, Level.INFO, null);
    context.updateLoggers();
  }

  /** Begins to record. */
  public static RecordedLog of(Class<?> source) {
    return new RecordedLog(source);
  }

  @Override
  public void append(LogEvent event) {
    if (event.getLoggerName().equals(source)) {
      lines.add(event.getLevel() + " " + event.getMessage().getFormattedMessage());
    }
  }

  /** Returns what was logged since the last call. */
  public List<String> take() {
    final List<String> taken = List.copyOf(lines);
    lines.clear();
    return taken;
  }

  @Override
  public void close() {
    context.getConfiguration().getRootLogger().removeAppender(getName());
    stop();
  }
}
